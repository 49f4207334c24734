# SPDX-License-Identifier: MIT
"""Compilation of CUDA C++ to PTX: the choice of a compiler, and the error if there is none."""

import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from wmma_emu.documentation import how_to_install
from wmma_emu.errors import BackendUnavailableError, CompilationError, OptionError, WmmaEmuError, shorten
from wmma_emu.instructions import Arch
from wmma_emu.ptx.cuda.cache import key_of, load, store
from wmma_emu.ptx.cuda.device_part import compile_device_part, has_host_code
from wmma_emu.ptx.cuda.messages import missing_header
from wmma_emu.ptx.cuda.nvcc import find_nvcc
from wmma_emu.ptx.cuda.nvrtc import compile_by_nvrtc
from wmma_emu.ptx.cuda.options import folders_in, needs_nvrtc
from wmma_emu.ptx.cuda.request import CompiledSource, Request, require_texts, virtual_architecture
from wmma_emu.ptx.names.references import with_references

COMPILERS = ("auto", "nvrtc", "nvcc", "device part")

_COMPILE_ELSEWHERE = (
    "nvcc -ptx -arch=compute_90 -lineinfo kernel.cu makes kernel.ptx with CUDA (on Linux, in a container, in CI), and "
    'wmma_emu.ptx.Module.from_file("kernel.ptx") runs it everywhere'
)
_HAS_NVRTC = ("linux", "win32")


def compile_cuda(
    source: str,
    arch: str | Arch,
    *,
    name: str = "kernel.cu",
    options: Sequence[str] = (),
    include: Sequence[str | Path] = (),
    instantiate: Sequence[str] = (),
    compiler: str = "auto",
) -> CompiledSource:
    """Compile CUDA C++ to PTX, as described in `Module.from_cuda`; compilations are cached.

    NVRTC accepts only device code, nvcc also host code; "device part" is NVRTC after removing the host code. "auto"
    tries NVRTC first; if it rejects host code, it uses nvcc, or NVRTC for the device code. Folders of ``include`` come
    before CUDA's.
    """
    require_texts(source, name, options=options, instantiate=instantiate, include=include)
    if not isinstance(compiler, str) or compiler not in COMPILERS:
        raise OptionError(f"compiler={shorten(compiler)} is not one of {', '.join(map(repr, COMPILERS))}")
    folders = (*folders_in(options), *map(str, include))
    request = Request(source, virtual_architecture(arch), name, tuple(options), folders, tuple(instantiate))
    key = key_of(request, compiler)
    found = load(key)
    if found is None:
        found = _COMPILE[compiler](request)
        store(key, found)
    return found


def _by_nvcc(request: Request) -> CompiledSource:
    return find_nvcc().compile(request)


def _automatic(request: Request) -> CompiledSource:
    """Try one compiler after the other; the error is the error of the compiler that got furthest."""
    try:
        return compile_by_nvrtc(request)
    except BackendUnavailableError as missing:
        try:
            return _by_nvcc(request)
        except BackendUnavailableError as error:
            raise BackendUnavailableError(
                f"CUDA C++ is compiled by NVRTC or nvcc: {missing}, and {error}; {_how_to_install()}"
            ) from None
    except CompilationError as error:
        if not error.log or needs_nvrtc(request.options) or not has_host_code(request):
            raise
    nvcc_error = None
    try:
        return _by_nvcc(request)
    except BackendUnavailableError:
        pass
    except CompilationError as error:
        nvcc_error = error
    try:
        return compile_device_part(request)
    except CompilationError:
        # nvcc did not reach the device code if a header was missing, or its host compiler is unsuitable.
        if nvcc_error is None or missing_header(nvcc_error.log) or "unsupported" in nvcc_error.log:
            raise
    raise nvcc_error


def _how_to_install() -> str:
    system = sys.platform
    if system.startswith(_HAS_NVRTC):
        return f"{how_to_install('nvrtc')}. Or elsewhere: {_COMPILE_ELSEWHERE}"
    name = {"darwin": "macOS"}.get(system, platform.system() or system)
    return f"NVIDIA has no compiler for {name}. {_COMPILE_ELSEWHERE}"


_COMPILE: dict[str, Callable[[Request], CompiledSource]] = {
    "auto": _automatic,
    "nvrtc": compile_by_nvrtc,
    "nvcc": _by_nvcc,
    "device part": compile_device_part,
}


_LONGEST = 3.0
"""The compilation time in seconds up to which a source is compiled again for its names, without optimisation."""

_DEBUG = ("--device-debug", "-G")


class DebugCompilation(NamedTuple):
    """A source, the options of its compilation, and its compilation time."""

    source: str
    arch: str | Arch
    name: str
    options: tuple[str, ...]
    include: tuple[str | Path, ...]
    instantiate: tuple[str, ...]
    seconds: float
    compiler: str = "auto"

    def text(self) -> str:
        """Return PTX with debug information, which is not executed; "" if that takes long, or does not compile."""
        if self.seconds > _LONGEST:
            return ""
        options = (*self.options, *(() if set(_DEBUG) & set(self.options) else _DEBUG[:1]))
        # If the source does not compile with the inserted references, the original source is compiled.
        for source in dict.fromkeys((with_references(self.source), self.source)):
            try:
                return compile_cuda(
                    source, self.arch, name=self.name, options=options, include=self.include,
                    instantiate=self.instantiate, compiler=self.compiler,
                ).ptx  # fmt: skip
            except (WmmaEmuError, OSError, UnicodeError):
                continue
        return ""
