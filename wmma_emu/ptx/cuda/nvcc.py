# SPDX-License-Identifier: MIT
"""NVIDIA's compiler driver, which accepts files with host code, if a host compiler is installed."""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from wmma_emu.errors import BackendUnavailableError, CompilationError
from wmma_emu.ptx.cuda.messages import errors_of, warnings_of
from wmma_emu.ptx.cuda.options import has_standard, of_nvcc
from wmma_emu.ptx.cuda.packages import release_of, toolkit_folders
from wmma_emu.ptx.cuda.request import CompiledSource, Request, bytes_of, octal, readable

_SECONDS = 600
_TAG = "wmma_emu_made"
_TAGGED = re.compile(rf"^(?:\.\w+ )*\.global [^\n]*{_TAG}ILi(\d+)EXadL(\w+);\n", re.MULTILINE)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_HOSTS = ("cl.exe",) if sys.platform == "win32" else ("gcc", "g++", "clang++")


class Nvcc(NamedTuple):
    """An nvcc, its version, and the host compiler that it uses ("" for nvcc's own choice)."""

    program: Path
    version: str
    host: str

    def compile(self, request: Request) -> CompiledSource:
        """Compile a source to PTX; the ``log`` of a `CompilationError` contains all messages of the compiler."""
        if request.instantiate:
            request = request._replace(source=request.source + _instantiations(request.instantiate))
        begun = _seconds_of_programs()
        with tempfile.TemporaryDirectory(prefix="wmma_emu-") as folder:
            source, made = Path(folder, Path(request.name).name or "kernel.cu"), Path(folder, "wmma_emu_made.ptx")
            source.write_bytes(bytes_of(request.source))
            done = self._run(request, source, made)
            log = (done.stderr + done.stdout).replace(str(source), request.name)
            if done.returncode or not made.exists():
                text = errors_of(log, {request.name: readable(request.source)}) or (
                    f"nvcc ended with status {done.returncode}"
                )
                raise CompilationError(f"{request.name} does not compile:\n{text}", log)
            ptx = made.read_text(encoding="utf-8", errors="replace")
        ptx = ptx.replace(f'"{source}"', f'"{request.name}"')
        ptx = ptx.replace(f'"{octal(source)}"', f'"{request.name}"')
        ptx, names = _lowered(ptx, request.instantiate)
        seconds = _seconds_of_programs() - begun
        return CompiledSource(ptx, names, f"nvcc {self.version}", (), warnings_of(log), seconds)

    def _run(self, request: Request, source: Path, made: Path) -> "subprocess.CompletedProcess[str]":
        options = [f"-arch={request.target}", "-lineinfo", *of_nvcc(request.options)]
        if {"-G", "--device-debug"} & set(options):
            options.remove("-lineinfo")
        options += [] if has_standard(options) else ["-std=c++17"]
        options += [f"-I{folder}" for folder in request.include]
        with tempfile.TemporaryDirectory(prefix="wmma_emu-") as folder:
            options += ["-ccbin", _host_program(self.host, Path(folder))] if self.host else []
            command = [str(self.program), "-ptx", "-x", "cu", *options, str(source), "-o", str(made)]
            try:
                return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False,
                                      errors="replace")  # fmt: skip
            except (OSError, subprocess.TimeoutExpired) as error:
                raise CompilationError(f"{request.name} is not compiled: {self.program}: {error}") from error


@cache
def find_nvcc() -> Nvcc:
    """Find an nvcc, in CUDA_HOME, on PATH or in NVIDIA's packages, and the host compiler that it needs."""
    found = [Path(x, name) for x in toolkit_folders() if (name := shutil.which("nvcc", path=str(x)))]
    if not found:
        raise BackendUnavailableError("nvcc is not installed")
    host = next(_hosts(), None)
    if host is None:
        raise BackendUnavailableError(
            f"nvcc is at {found[0]}, but no host compiler was found: g++, clang++ or the package ziglang"
        )
    for program in found:
        version = release_of(program)
        if version:
            return Nvcc(program, version, host)
    raise BackendUnavailableError(f"{found[0]} does not run")


def _hosts() -> Iterator[str]:
    """Yield the installed host compilers: nvcc's own choice, which is "", clang, and the package ziglang."""
    if os.environ.get("NVCC_CCBIN") or shutil.which(_HOSTS[0]):
        yield ""
    yield from filter(shutil.which, _HOSTS[1:])
    if sys.platform != "win32" and find_spec("ziglang") is not None:
        yield "ziglang"


def _host_program(host: str, folder: Path) -> str:
    """Return the program for nvcc to run; for ziglang a script, because it needs a subcommand before the options."""
    if host != "ziglang":
        return host
    script = folder / "clang++"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang c++ "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


def _instantiations(names: tuple[str, ...]) -> str:
    """Return code that instantiates templates, by variables whose names in the PTX contain the templates' names."""
    made = "".join(f" template __device__ char {_TAG}<{i}, &{name}>;" for i, name in enumerate(names))
    return f"\ntemplate <int I, auto* F> __device__ char {_TAG};{made}\n"


def _lowered(ptx: str, expressions: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """Remove these variables, and return the names of the templates' kernels."""
    tags = _TAGGED.findall(ptx)
    entries = _ENTRY.findall(ptx)
    names = {
        expressions[int(number)]: entry
        for number, text in tags for entry in entries if text.startswith(f"{entry}E")
    }  # fmt: skip
    return _TAGGED.sub("", ptx), names


def _seconds_of_programs() -> float:
    """Return the processor time of child processes in seconds; 0 if the system does not report it."""
    times = os.times()
    return times.children_user + times.children_system
