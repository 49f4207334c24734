# SPDX-License-Identifier: MIT
"""From CUDA C++ to PTX: NVIDIA's runtime compiler, which needs neither a GPU nor a driver."""

import ctypes
import importlib.util
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from wmma_emu.errors import ArgumentError, ArgumentValueError, BackendUnavailableError, CompilationError, shorten
from wmma_emu.instructions import Arch, arch_of

__all__ = ["CompiledSource", "compile_cuda", "virtual_architecture"]

_INSTALL = (
    "pip install 'wmma-emu[nvrtc]' (from a clone: pip install '.[nvrtc]'), or compile with nvcc -ptx and pass the text "
    "to wmma_emu.ptx.Module"
)

_STDINT = b"""#pragma once
typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t; typedef %(wide)s int64_t; typedef unsigned %(wide)s uint64_t;
typedef unsigned %(wide)s uintptr_t; typedef %(wide)s intptr_t;
namespace std { using ::int8_t; using ::uint8_t; using ::int16_t; using ::uint16_t; using ::int32_t; using ::uint32_t;
using ::int64_t; using ::uint64_t; using ::uintptr_t; using ::intptr_t; }
""" % {b"wide": b"long long" if sys.platform == "win32" else b"long"}

_EMPTY = b"#pragma once\n"
_STDIO = _EMPTY + b"namespace std { using ::printf; }\n"

_HEADERS = {
    b"stdint.h": _STDINT, b"cstdint": _STDINT,
    b"stdio.h": _EMPTY, b"cstdio": _STDIO, b"assert.h": _EMPTY, b"cassert": _EMPTY,
}  # fmt: skip
"""Headers of the C library that kernels include, and the compiler does not bring: it knows printf and assert itself."""


class CompiledSource(NamedTuple):
    """The PTX of a source, and what the names that were asked for are called in it."""

    ptx: str
    names: dict[str, str]


def compile_cuda(
    source: str,
    arch: str | Arch,
    *,
    name: str = "kernel.cu",
    options: Sequence[str] = (),
    include: Sequence[str | Path] = (),
    instantiate: Sequence[str] = (),
) -> CompiledSource:
    """Compile CUDA C++ to PTX.

    Parameters
    ----------
    source : str
        Kernels alone: no code of the host.
    arch : str or Arch
        ``"sm_90"`` compiles for compute_90, ``"sm_90a"`` for compute_90a.
    name : str
        What the compiler's messages and the findings call the source.
    options : sequence of str
        Further options, such as ``"-DTILE=64"``.
    include : sequence of paths
        Folders of headers, before those of CUDA.
    instantiate : sequence of str
        Templates to make: ``"scale<float, 4>"``.

    Raises
    ------
    CompilationError
        With the compiler's messages.
    BackendUnavailableError
        If the compiler is not installed.
    ArgumentError
        For what is no source, and for options that are no strings.
    """
    _require_texts(source, name, options=options, instantiate=instantiate, include=include)
    library = _library()
    target = virtual_architecture(arch)
    _require_target(library, target, arch)
    given = [f"--gpu-architecture={target}", "--generate-line-info", *options]
    given += [] if any(x.lstrip("-").startswith("std=") for x in options) else ["--std=c++17"]
    given += [f"--include-path={folder}" for folder in (*include, *_include_folders())]
    return _Program(library, source, name).compile(given, instantiate)


def _require_texts(source: object, name: object, **lists: object) -> None:
    """Refuse what is no text, and characters at which the compiler would stop to read, or that have no encoding."""
    if not isinstance(source, str):
        raise ArgumentError(
            f"a CUDA source is a str, not {type(source).__name__} {shorten(source)}; Module.from_file reads files"
        )
    texts = [("the source", source), ("name", name)]
    for what, words in lists.items():
        if not isinstance(words, list | tuple):
            raise ArgumentError(f"{what} is a list or a tuple, {what}=[...], not {shorten(words)}")
        texts += [(what, str(x) if what == "include" else x) for x in words]
    for what, text in texts:
        if not isinstance(text, str):
            raise ArgumentError(f"{what} has {shorten(text)}, which is no str")
        if "\0" in text or any("\ud800" <= x <= "\udfff" for x in text):
            raise ArgumentValueError(f"{what} has a NUL, or half of a surrogate pair, which is no character")


def virtual_architecture(arch: str | Arch) -> str:
    """Name what to compile for: features of one chip alone only where the chip's name asks for them.

    Examples
    --------
    >>> virtual_architecture("sm_90"), virtual_architecture("sm_90a"), virtual_architecture("A100")
    ('compute_90', 'compute_90a', 'compute_80')
    """
    row = arch_of(arch)
    asked = re.fullmatch(r"(?:sm|compute)_?\d+([af]?)", str(arch).strip().lower())
    return f"compute_{row.number}{asked[1] if asked else ''}"


class _Program:
    """One source in the compiler."""

    def __init__(self, library: ctypes.CDLL, source: str, name: str) -> None:
        self._library, self._name = library, name
        self._handle = ctypes.c_void_p()
        self._text, self._called = source.encode(), name.encode()
        count = len(_HEADERS)
        texts = (ctypes.c_char_p * count)(*_HEADERS.values())
        names = (ctypes.c_char_p * count)(*_HEADERS)
        self._do(
            "CreateProgram", ctypes.byref(self._handle), self._text, self._called, count, texts, names, create=True
        )

    def compile(self, options: Sequence[str], instantiate: Sequence[str]) -> CompiledSource:
        try:
            for expression in instantiate:
                self._do("AddNameExpression", expression.encode())
            words = [x.encode() for x in options]
            status = self._library.nvrtcCompileProgram(self._handle, len(words), (ctypes.c_char_p * len(words))(*words))
            if status:
                log = self._text_of("ProgramLog").strip()
                raise CompilationError(f"{self._name} does not compile:\n{log or self._meaning(status)}")
            # The compiler completes a name by the folder in which it runs.
            ptx = self._text_of("PTX").replace(f'"{_octal(Path.cwd() / self._name)}"', f'"{self._name}"')
            return CompiledSource(ptx, {x: self._lowered(x) for x in instantiate})
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(self._handle))

    def _lowered(self, expression: str) -> str:
        found = ctypes.c_char_p()
        self._do("GetLoweredName", expression.encode(), ctypes.byref(found))
        return (found.value or b"").decode()

    def _text_of(self, what: str) -> str:
        size = ctypes.c_size_t()
        self._do(f"Get{what}Size", ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._do(f"Get{what}", buffer)
        return buffer.value.decode("utf-8", "replace")

    def _do(self, function: str, *arguments: Any, create: bool = False) -> None:
        first = () if create else (self._handle,)
        status = getattr(self._library, f"nvrtc{function}")(*first, *arguments)
        if status:
            raise CompilationError(f"{self._name}: the compiler refuses {function}: {self._meaning(status)}")

    def _meaning(self, status: int) -> str:
        function = self._library.nvrtcGetErrorString
        function.restype = ctypes.c_char_p
        return (function(status) or b"?").decode()


def _octal(path: Path) -> str:
    r"""Write a path as the compiler does: what is not ASCII as bytes of UTF-8, each an octal number."""
    return "".join(x if x.isascii() else "".join(f"\\{byte:03o}" for byte in x.encode()) for x in str(path))


def _require_target(library: ctypes.CDLL, target: str, arch: str | Arch) -> None:
    count = ctypes.c_int()
    if library.nvrtcGetNumSupportedArchs(ctypes.byref(count)) or not count.value:
        return
    numbers = (ctypes.c_int * count.value)()
    if library.nvrtcGetSupportedArchs(numbers):
        return
    oldest = min(numbers)
    if int(re.sub(r"\D", "", target)) < oldest:
        major, minor = ctypes.c_int(), ctypes.c_int()
        library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        raise CompilationError(
            f"the installed compiler, NVRTC {major.value}.{minor.value}, compiles for sm_{oldest} and later, not for "
            f"{arch}; pass PTX of an older compiler to wmma_emu.ptx.Module"
        )


@cache
def _library() -> ctypes.CDLL:
    """Load the newest compiler among the installed packages."""
    patterns = ("*/bin/nvrtc64_*_0.dll",) if sys.platform == "win32" else ("*/lib/libnvrtc.so.*",)
    found = [path for folder in _nvidia_folders() for pattern in patterns for path in folder.glob(pattern)]
    found = [path for path in found if "alt" not in path.name]
    if not found:
        raise BackendUnavailableError(f"CUDA C++ is compiled by NVRTC, which is not installed; {_INSTALL}")
    newest = max(found, key=lambda path: [int(x) for x in re.findall(r"\d+", path.name)])
    try:
        return ctypes.CDLL(str(newest))
    except OSError as error:
        raise BackendUnavailableError(f"NVRTC cannot be loaded: {shorten(error, str)}; {_INSTALL}") from error


def _include_folders() -> list[Path]:
    """Folders of CUDA's headers among the installed packages, those of the newest version first."""
    found = [path for folder in _nvidia_folders() for path in folder.glob("*/include")]
    found.sort(key=lambda path: path.parent.name, reverse=True)
    return [x for path in found for x in (path, path / "cccl") if x.is_dir()]


def _nvidia_folders() -> list[Path]:
    """Where packages of NVIDIA are installed."""
    spec = importlib.util.find_spec("nvidia")
    return [Path(x) for x in (spec.submodule_search_locations or ())] if spec is not None else []
