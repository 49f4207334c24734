# SPDX-License-Identifier: MIT
"""CUDA C++ that numba-cuda links, compiled to PTX by NVRTC; ``cuda.core`` asks a driver whether it can load the PTX."""

from typing import Any


def program_class(program: Any, object_code: Any, nvrtc: Any) -> type:
    """Return a class that replaces ``cuda.core.Program``; ``nvrtc`` is ``cuda.bindings.nvrtc``."""

    class Program:
        """A program whose PTX is made by calls of NVRTC; other kinds of code are made by the program of `cuda.core`."""

        def __init__(self, source: Any, kind: str, options: Any) -> None:
            self._program, self._options = program(source, kind, options=options), options

        def compile(self, kind: str, logs: Any = None) -> Any:
            if kind != "ptx":
                return self._program.compile(kind, logs=logs)
            handle, options = self._program.handle, self._options.as_bytes("nvrtc")
            (code,) = nvrtc.nvrtcCompileProgram(handle, len(options), options)
            log = _filled(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, handle)
            said = log.decode(errors="replace").strip("\0\n ")
            if code.name != "NVRTC_SUCCESS":
                raise RuntimeError(f"{code.name}: {said}")
            if said and logs is not None:
                logs.write(said)
            return object_code.from_ptx(_filled(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, handle))

    return Program


def _filled(size_of: Any, fill: Any, handle: Any) -> bytes:
    _, size = size_of(handle)
    buffer: bytes = b" " * size
    fill(handle, buffer)
    return buffer
