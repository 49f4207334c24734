# SPDX-License-Identifier: MIT
"""Compilation of the device code of a file with host code, by NVRTC, without a host compiler."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from pathlib import Path

from wmma_emu.errors import CompilationError
from wmma_emu.ptx.cuda.host_code import DeviceCode, device_code_of, without_host_functions
from wmma_emu.ptx.cuda.host_headers import PRELUDE, headers_for, is_host_header
from wmma_emu.ptx.cuda.include_files import Included, Inclusions, inclusions_of, searched_folders
from wmma_emu.ptx.cuda.messages import messages_of, missing_header
from wmma_emu.ptx.cuda.nvrtc import C_HEADERS, compile_in_subprocess
from wmma_emu.ptx.cuda.options import predefined, tested_differences
from wmma_emu.ptx.cuda.packages import include_folders
from wmma_emu.ptx.cuda.request import CompiledSource, Request, bytes_of

_SHOWN = 6
_LARGEST = 1 << 19
"""The maximum number of characters of headers from which host code is removed at once."""

_ROUNDS = 6
_IS_OF_THE_HOST = "considered a host function"
_DEFINED = (
    "-DCCCL_DISABLE_NVRTC_COMPATIBILITY_CHECK", "-D__CUDACC_EXTENDED_LAMBDA__", "-D__CUDACC_RELAXED_CONSTEXPR__",
)  # fmt: skip
"""Macros that only nvcc defines; NVRTC accepts device lambdas, and treats constexpr functions as device functions."""

_HOST_MEMBER = re.compile(r"^\.extern \.func .*?\b(_ZN\w*(?:[CD][012]|aS)I?\w*E\w*)", re.MULTILINE)
"""A special member function that is declared but not defined, and called."""

_LIBRARIES = ("thrust/", "cub/")
"""Headers of libraries for host and device, which are omitted if the device code does not name them."""


_WHOLE_DEVICE = re.compile(r"cub/(?:device/|util_allocator).*")
"""CUB's device-wide functions, which the host calls and NVRTC rejects."""

_ALL_OF_CUB = "cub/cub.cuh"
_INCLUDES_WHOLE_DEVICE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<cub/(?:device/|util_allocator).*", re.MULTILINE)


def has_host_code(request: Request) -> bool:
    """Return whether a source contains anything that only a host compiler accepts."""
    found = _inclusions(request)
    missing = [x for x in found.missing if x.encode() not in C_HEADERS]
    has_libraries = any(x.startswith(_LIBRARIES) or x in ("cuda.h", "cuda_runtime.h") for x in found.provided)
    return bool(missing) or bool(_device_code(request, _small(found)).left_out) or has_libraries


def compile_device_part(request: Request) -> CompiledSource:
    """Remove the host code, and compile the rest.

    The user's headers are treated like the source; if they are large, only those that the compiler rejects.
    """
    found = _inclusions(request)
    wrong: dict[str, set[int]] = {}
    for _ in range(_ROUNDS):
        try:
            return _compile(request, found, wrong)
        except CompilationError as error:
            last, before = error, sum(map(len, wrong.values()))
            for message in messages_of(error.log):
                if message.is_error and _IS_OF_THE_HOST in message.text:
                    wrong.setdefault(message.file, set()).add(message.line)
            if sum(map(len, wrong.values())) == before:
                break
    raise last


def _small(found: Inclusions) -> tuple[Included, ...]:
    """Return the headers from which host code is removed at once: all of them, unless they are too large."""
    return found.files if sum(len(x.text) for x in found.files) <= _LARGEST else ()


def _compile(request: Request, found: Inclusions, wrong: Mapping[str, Collection[int]]) -> CompiledSource:
    chosen = _small(found)
    code = _device_code(request, chosen)
    if code.unparsed_kernels:
        file, line = code.unparsed_kernels[0]
        raise CompilationError(
            f"{request.name} is not compiled: its device code cannot be determined; "
            f"{file or request.name} has a kernel at line {line} whose declaration is not understood. "
            "nvcc accepts the file as it is (compiler='nvcc')"
        )
    opened = {x for names in code.namespaces for x in names} & {"cub"}  # thrust has no device code
    used = {*code.words, *opened}
    unused = [
        x for x in found.provided
        if x.startswith(_LIBRARIES) and (x.split("/")[0] not in used or _WHOLE_DEVICE.fullmatch(x))
    ]  # fmt: skip
    own = _own(found)
    replaced = [*(x for x in found.missing if x not in own), *found.deeper, *unused]
    headers = headers_for(replaced, code.words, code.namespaces, include_folders())
    for x in found.files:
        lines = {*wrong.get(x.name, ()), *wrong.get(str(x.path), ())}
        text = code.texts.get(str(x.path), x.text)
        if lines or str(x.path) in code.texts:
            headers[x.name.encode()] = bytes_of(without_host_functions(text, lines) if lines else text)
    if _ALL_OF_CUB in found.provided and _ALL_OF_CUB not in unused:
        path = next(x / _ALL_OF_CUB for x in include_folders() if (x / _ALL_OF_CUB).is_file())
        headers[_ALL_OF_CUB.encode()] = bytes_of(_INCLUDES_WHOLE_DEVICE.sub("", path.read_text(encoding="utf-8")))
    for file, folder in product(wrong, include_folders()):
        path = folder / file  # if the path is absolute, the folder has no effect
        if path.is_relative_to(folder) and path.is_file():
            text = path.read_text(encoding="utf-8", errors="surrogateescape")
            text = without_host_functions(text, range(1, text.count("\n") + 2))
            headers.setdefault(path.relative_to(folder).as_posix().encode(), bytes_of(text))
    sources = {request.name: request.source, **{x.name: x.text for x in found.files}}
    options = (*request.options, f"--pre-include={PRELUDE}", *_DEFINED, *predefined())
    plain = request._replace(source=code.texts[""], options=options)
    launched = tuple(x for x in code.launches if x not in request.instantiate)
    try:
        done = _compiled(plain, launched, headers, sources)
    except CompilationError as error:
        raise CompilationError(
            _explained_error(str(error), error.log, code, found, _folders(request)), error.log
        ) from None
    ptx = done.ptx
    called = _HOST_MEMBER.search(ptx)
    if called:
        raise CompilationError(
            f"{request.name} does not compile: a kernel calls a constructor, a destructor or an assignment that is a "
            f"host function ({called[1]} in the PTX): __device__ makes it a device function too",
            called[0],
        )
    for x in found.files:
        ptx = ptx.replace(f'"{Path.cwd() / x.name}"', f'"{x.path}"').replace(f'"{x.name}"', f'"{x.path}"')
    asked = {x.split("<")[0] for x in request.instantiate}
    unmade = [*(x for x in launched if x not in done.names), *(x for x in code.deduced if x.split("<")[0] not in asked)]
    notes = (*_notes(code, found, unmade), *tested_differences(sources.values()))
    return done._replace(ptx=ptx, compiler=f"{done.compiler}, without the host code", notes=notes)


def _compiled(
    plain: Request, launched: tuple[str, ...], headers: dict[bytes, bytes], sources: dict[str, str]
) -> CompiledSource:
    """Compile with those templates that the host launches and that can be instantiated."""
    for names in dict.fromkeys([launched, ()]):
        request = plain._replace(instantiate=(*plain.instantiate, *names))
        try:
            return compile_in_subprocess(request, headers, sources)
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
    return inclusions_of(request.source, _folders(request), include_folders())


def _folders(request: Request) -> list[Path]:
    return [Path(x) for x in (*request.include, *searched_folders())]


def _device_code(request: Request, chosen: Sequence[Included]) -> DeviceCode:
    pieces: dict[str, str] = {}
    while True:
        whole = [x for x in chosen if str(x.path) not in pieces]
        code = device_code_of({"": request.source, **{str(x.path): x.text for x in whole}}, pieces.values())
        found = {str(x.path): x.text for x in whole if x.name in code.within}
        if not found:
            return code
        pieces.update(found)


def _own(found: Inclusions) -> set[str]:
    """Return the user's headers that no folder contains: in quotation marks, and not of host libraries.

    A source that reaches such an ``#include`` does not compile, the same as with nvcc.
    """
    return {x for x in found.quoted if "." in x and not is_host_header(x) and x.encode() not in C_HEADERS}


def _explained_error(text: str, log: str, code: DeviceCode, found: Inclusions, folders: Sequence[Path]) -> str:
    more = []
    for name, (_, line) in code.left_out.items():
        if f'identifier "{name}" is undefined' in log:
            more.append(f"{name} (line {line}) is a host function: __device__ makes it a device function too")
    lost = missing_header(log)
    if lost:
        looked = f"is not in {', '.join(map(str, folders))}" if folders else "was not found, and no folders are given"
        return f"{text}\nthe header {lost} {looked}; include=[...] names folders of headers"
    own = [x for x in found.missing if x.endswith((".cuh", ".h", ".hpp", ".hxx")) and x.encode() not in C_HEADERS]
    if own:
        more.append(
            f"headers that were not found, and treated as empty: {_listed(own)}; include=[...] names their folders"
        )
    return "\n".join([text, *more])


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _notes(code: DeviceCode, found: Inclusions, unmade: list[str]) -> tuple[str, ...]:
    notes = []
    if code.left_out:
        notes.append(f"host functions that were removed: {_listed(list(code.left_out))}")
    own = _own(found)
    missing = [x for x in found.missing if x.encode() not in C_HEADERS and x not in own]
    if missing:
        notes.append(f"headers that were replaced: {_listed(missing)}")
    notes += [
        f"not instantiated, although the host launches it: {x}; use instantiate=['{x.split('<')[0]}<...>']"
        for x in unmade
    ]
    return tuple(notes)
