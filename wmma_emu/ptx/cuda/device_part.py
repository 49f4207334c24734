# SPDX-License-Identifier: MIT
"""A file with code of the host, compiled without a compiler of the host: its device part, by NVRTC."""

from pathlib import Path

from wmma_emu.errors import CompilationError
from wmma_emu.ptx.cuda.host_code import DeviceCode, device_code_of
from wmma_emu.ptx.cuda.host_headers import PRELUDE, headers_for
from wmma_emu.ptx.cuda.include_files import Inclusions, inclusions_of
from wmma_emu.ptx.cuda.messages import messages_of
from wmma_emu.ptx.cuda.nvrtc import C_HEADERS, compile_by_nvrtc
from wmma_emu.ptx.cuda.packages import include_folders
from wmma_emu.ptx.cuda.request import CompiledSource, Request

__all__ = ["compile_device_part", "has_host_code"]

_SHOWN = 6


def has_host_code(request: Request) -> bool:
    """Whether a source has anything that only a compiler of the host takes."""
    found = _inclusions(request)
    missing = [x for x in found.missing if x.encode() not in C_HEADERS]
    return bool(missing) or bool(_device_code(request, found).left_out) or _has_libraries(found)


def _has_libraries(found: Inclusions) -> bool:
    return any(x.startswith(("thrust/", "cub/cub.cuh")) or x in ("cuda.h", "cuda_runtime.h") for x in found.provided)


def compile_device_part(request: Request) -> CompiledSource:
    """Leave out what is the host's, and compile the rest.

    Raises
    ------
    CompilationError
        With the compiler's errors, and which headers were not found.
    BackendUnavailableError
        If NVRTC is not installed.
    """
    found = _inclusions(request)
    code = _device_code(request, found)
    compilers = include_folders()
    unused = [x for x in found.provided if "/" in x and x.split("/")[0] not in code.words and x.startswith("thrust/")]
    headers = headers_for([*found.missing, *unused], code.words, code.namespaces, compilers)
    headers |= {x.name.encode(): code.texts[_key(x.path)].encode() for x in found.files}
    sources = {request.name: request.source, **{x.name: x.text for x in found.files}}
    options = (*request.options, f"--pre-include={PRELUDE}", "-DCCCL_DISABLE_NVRTC_COMPATIBILITY_CHECK")
    plain = request._replace(source=code.texts[""], options=options)
    launched = tuple(x for x in code.launches if x not in request.instantiate)
    try:
        done = _compiled(plain, launched, headers, sources)
    except CompilationError as error:
        raise CompilationError(_explained(str(error), error.log, code, found), error.log) from None
    ptx, paths = done.ptx, {}
    for x in found.files:
        ptx = ptx.replace(f'"{Path.cwd() / x.name}"', f'"{x.path}"').replace(f'"{x.name}"', f'"{x.path}"')
    notes = _notes(code, found, [x for x in launched if x not in done.names])
    return done._replace(ptx=ptx, paths=paths, compiler=f"{done.compiler}, without the code of the host", notes=notes)


def _compiled(
    plain: Request, launched: tuple[str, ...], headers: dict[bytes, bytes], sources: dict[str, str]
) -> CompiledSource:
    """Compile with the templates that the host launches, as far as they can be made."""
    for names in dict.fromkeys([launched, ()]):
        request = plain._replace(instantiate=(*plain.instantiate, *names))
        try:
            return compile_by_nvrtc(request, headers, sources)
        except CompilationError as error:
            if not names:
                raise
            wrong = {x.file for x in messages_of(error.log) if x.is_error}
            if error.log and not any("name expression" in x.lower() or x not in sources for x in wrong):
                fitting = tuple(x for x in launched if x not in error.log)
                if fitting and fitting != launched:
                    return _compiled(plain, fitting, headers, sources)
    raise AssertionError


def _inclusions(request: Request) -> Inclusions:
    return inclusions_of(request.source, [Path(x) for x in request.include], include_folders())


def _key(path: Path) -> str:
    return str(path)


def _device_code(request: Request, found: Inclusions) -> DeviceCode:
    return device_code_of({"": request.source, **{_key(x.path): x.text for x in found.files}})


def _explained(text: str, log: str, code: DeviceCode, found: Inclusions) -> str:
    """Add which functions of the host the device's code wants, and which headers are not there."""
    more = []
    for name, (_, line) in code.left_out.items():
        if f'identifier "{name}" is undefined' in log:
            more.append(f"{name} (line {line}) is a function of the host: __device__ makes it one of the device too")
    own = [x for x in found.missing if x.endswith((".cuh", ".h", ".hpp", ".hxx")) and x.encode() not in C_HEADERS]
    if own:
        listed = ", ".join(own[:_SHOWN]) + (f" and {len(own) - _SHOWN} more" if len(own) > _SHOWN else "")
        more.append(f"headers that were not found, and taken as empty: {listed}; include=[...] names their folders")
    return "\n".join([text, *more])


def _notes(code: DeviceCode, found: Inclusions, unmade: list[str]) -> tuple[str, ...]:
    notes = []
    if code.left_out:
        names = list(code.left_out)
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        notes.append(f"functions of the host that were left out: {', '.join(names[:_SHOWN])}{more}")
    missing = [x for x in found.missing if x.encode() not in C_HEADERS]
    if missing:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        notes.append(f"headers that were replaced: {', '.join(missing[:_SHOWN])}{more}")
    notes += [f"not made, though the host launches it: {x}" for x in unmade]
    return tuple(notes)
