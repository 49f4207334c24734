# SPDX-License-Identifier: MIT
"""NVIDIA's runtime compiler, which needs neither a GPU nor a driver, and accepts only device code."""

import ctypes
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from time import thread_time
from typing import Any

from wmma_emu.errors import BackendUnavailableError, CompilationError, shorten
from wmma_emu.ptx.cuda.messages import errors_of, warnings_of
from wmma_emu.ptx.cuda.options import has_standard, of_nvrtc
from wmma_emu.ptx.cuda.packages import include_folders, nvidia_folders
from wmma_emu.ptx.cuda.request import CompiledSource, Request, bytes_of, octal, readable

_STDINT = b"""#pragma once
typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t; typedef %(wide)s int64_t; typedef unsigned %(wide)s uint64_t;
typedef unsigned %(wide)s uintptr_t; typedef %(wide)s intptr_t;
namespace std { using ::int8_t; using ::uint8_t; using ::int16_t; using ::uint16_t; using ::int32_t; using ::uint32_t;
using ::int64_t; using ::uint64_t; using ::uintptr_t; using ::intptr_t; }
""" % {b"wide": b"long long" if sys.platform == "win32" else b"long"}

_EMPTY = b"#pragma once\n"
_STDIO = _EMPTY + b"namespace std { using ::printf; }\n"

C_HEADERS = {
    b"stdint.h": _STDINT, b"cstdint": _STDINT,
    b"stdio.h": _EMPTY, b"cstdio": _STDIO, b"assert.h": _EMPTY, b"cassert": _EMPTY,
}  # fmt: skip
"""Headers of the C library that kernels include, but NVRTC does not provide: printf and assert are built in."""


_SECONDS = 600
_CODING = "latin-1"
"""The encoding of headers in JSON, which preserves their bytes."""

_PROGRAM = "from wmma_emu.ptx.cuda.nvrtc import serve_request; serve_request()"


def compile_by_nvrtc(
    request: Request, headers: Mapping[bytes, bytes] | None = None, sources: Mapping[str, str] | None = None
) -> CompiledSource:
    """Compile device code; the ``log`` of a `CompilationError` contains all messages of the compiler.

    ``headers`` are additional headers by their names in ``#include``, and ``sources`` the code that messages quote, if
    it differs from the compiled code.
    """
    library = _library()
    _require_target(library, request.target)
    given = [f"--gpu-architecture={request.target}", "--generate-line-info", *of_nvrtc(request.options)]
    given += [] if has_standard(given) else ["--std=c++17"]
    given += [f"--include-path={folder}" for folder in (*request.include, *include_folders())]
    begun = thread_time()
    program = _Program(library, request, {**C_HEADERS, **_fixed_widths(), **(headers or {})}, sources)
    done = program.compile(given, request.instantiate)
    return done._replace(seconds=thread_time() - begun)


def compile_in_subprocess(
    request: Request, headers: Mapping[bytes, bytes], sources: Mapping[str, str]
) -> CompiledSource:
    """Compile in a separate process, because sources with blanked parts have crashed the compiler."""
    nvrtc_version()
    asked = json.dumps([request, {x.decode(_CODING): y.decode(_CODING) for x, y in headers.items()}, sources])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(x or os.getcwd() for x in sys.path)}
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _PROGRAM], input=asked, capture_output=True, text=True, encoding="utf-8",
            env=environment, timeout=_SECONDS, check=False,
        )  # fmt: skip
        said = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        raise CompilationError(
            f"{request.name} does not compile: NVRTC {nvrtc_version()} did not return a result", "NVRTC crashed"
        ) from None
    if "error" in said:
        raise CompilationError(said["error"], said["log"])
    return CompiledSource(**{**said, "notes": tuple(said["notes"])})


def serve_request() -> None:
    """Compile the request on standard input, and write the result to standard output."""
    asked, headers, sources = json.loads(sys.stdin.buffer.read().decode())
    request = Request(*asked[:3], *(tuple(x) for x in asked[3:]))
    try:
        done = compile_by_nvrtc(request, {x.encode(_CODING): y.encode(_CODING) for x, y in headers.items()}, sources)
        print(json.dumps(done._asdict()))
    except CompilationError as error:
        print(json.dumps({"error": str(error), "log": error.log}))


@cache
def _fixed_widths() -> dict[bytes, bytes]:
    """Return CUDA's library header for ``int64_t``, with the type that nvcc uses for it."""
    if sys.platform == "win32":
        return {}
    name = "cuda/std/cstdint"
    path = next((x / name for x in include_folders() if (x / name).is_file()), None)
    return {} if path is None else {name.encode(): re.sub(rb"\blong long\b", b"long", path.read_bytes())}


@cache
def nvrtc_version() -> str:
    """Return the release of the installed NVRTC: ``"13.5"``."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


class _Program:
    def __init__(
        self, library: ctypes.CDLL, request: Request, headers: Mapping[bytes, bytes], sources: Mapping[str, str] | None
    ) -> None:
        self._library, self._name = library, request.name
        shown = {request.name: request.source} if sources is None else sources
        self._sources = {name: readable(text) for name, text in shown.items()}
        self._handle = ctypes.c_void_p()
        self._text, self._called = bytes_of(request.source), request.name.encode()
        count = len(headers)
        texts = (ctypes.c_char_p * count)(*headers.values())
        names = (ctypes.c_char_p * count)(*headers)
        self._do("CreateProgram", ctypes.byref(self._handle), self._text, self._called, count, texts, names)

    def compile(self, options: Sequence[str], instantiate: Sequence[str]) -> CompiledSource:
        try:
            for expression in instantiate:
                self._do("AddNameExpression", self._handle, expression.encode())
            words = [x.encode() for x in options]
            status = self._library.nvrtcCompileProgram(self._handle, len(words), (ctypes.c_char_p * len(words))(*words))
            if status:
                log = self._text_of("ProgramLog").strip()
                text = errors_of(log, self._sources) if log else self._meaning(status)
                raise CompilationError(f"{self._name} does not compile:\n{text}", log)
            # NVRTC prefixes the name with the current folder.
            ptx = self._text_of("PTX").replace(f'"{octal(Path.cwd() / self._name)}"', f'"{self._name}"')
            names = {x: self._lowered(x) for x in instantiate}
            warnings = warnings_of(self._text_of("ProgramLog"))
            return CompiledSource(ptx, names, f"NVRTC {nvrtc_version()}", warnings=warnings)
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(self._handle))

    def _lowered(self, expression: str) -> str:
        found = ctypes.c_char_p()
        self._do("GetLoweredName", self._handle, expression.encode(), ctypes.byref(found))
        return (found.value or b"").decode()

    def _text_of(self, what: str) -> str:
        size = ctypes.c_size_t()
        self._do(f"Get{what}Size", self._handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._do(f"Get{what}", self._handle, buffer)
        return buffer.value.decode("utf-8", "replace")

    def _do(self, function: str, *arguments: Any) -> None:
        status = getattr(self._library, f"nvrtc{function}")(*arguments)
        if status:
            raise CompilationError(f"{self._name}: NVRTC rejects {function}: {self._meaning(status)}")

    def _meaning(self, status: int) -> str:
        function = self._library.nvrtcGetErrorString
        function.restype = ctypes.c_char_p
        return (function(status) or b"?").decode()


def _require_target(library: ctypes.CDLL, target: str) -> None:
    count = ctypes.c_int()
    if library.nvrtcGetNumSupportedArchs(ctypes.byref(count)) or not count.value:
        return
    numbers = (ctypes.c_int * count.value)()
    if library.nvrtcGetSupportedArchs(numbers):
        return
    oldest = min(numbers)
    if int(re.sub(r"\D", "", target)) < oldest:
        raise CompilationError(
            f"the installed compiler, NVRTC {nvrtc_version()}, compiles for sm_{oldest} and later, not for "
            f"{target.replace('compute', 'sm')}; pass PTX of an older compiler to wmma_emu.ptx.Module"
        )


@cache
def _library() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(library_file()))
    except OSError as error:
        raise BackendUnavailableError(f"NVRTC cannot be loaded: {shorten(error, str)}") from error


def library_file() -> Path:
    """Find the newest NVRTC among the installed packages."""
    patterns = ("*/bin/nvrtc64_*_0.dll",) if sys.platform == "win32" else ("*/lib/libnvrtc.so.*",)
    found = [path for folder in nvidia_folders() for pattern in patterns for path in folder.glob(pattern)]
    found = [path for path in found if "alt" not in path.name]
    if not found:
        raise BackendUnavailableError("NVRTC is not installed")
    return max(found, key=lambda path: [int(x) for x in re.findall(r"\d+", path.name)])
