# SPDX-License-Identifier: MIT
"""NVIDIA's assembler and disassembler, if they are installed: the machine code of PTX source."""

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from wmma_emu.errors import BackendUnavailableError, CompilationError
from wmma_emu.ptx.cuda.packages import release_of

_WHEELS = {
    "nvidia": ("cu13/bin", "cu12/bin", "cuda_nvcc/bin"),
    "triton": ("backends/nvidia/bin",),
}
"""The PyPI packages that contain the programs, and the folders within them."""

_NAMES = {"ptxas": ("ptxas", "ptxas-blackwell"), "nvdisasm": ("nvdisasm",)}
_INSTALL = "pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm, or pip install triton, or NVIDIA's CUDA toolkit"
_SECONDS = 300
_REGISTERS = re.compile(r"Compiling entry function '(\S+)'.*?Used (\d+) registers", re.DOTALL)
_MESSAGE = re.compile(r"^ptxas\S* +(\S*text\.ptx, +)?")


class Assembler(NamedTuple):
    """A ptxas, and the nvdisasm for its output; the version is ptxas's own: ``"13.0.88"``."""

    ptxas: Path
    nvdisasm: Path
    version: str

    def listing(self, text: str, target: str) -> str:
        """Assemble PTX for a chip such as ``"sm_90a"``, and disassemble it with the source line of each instruction."""
        with tempfile.TemporaryDirectory() as folder:
            source, cubin = Path(folder, "text.ptx"), Path(folder, "text.cubin")
            source.write_text(text, encoding="utf-8")
            _run([self.ptxas, f"-arch={target}", "-lineinfo", source, "-o", cubin], f"ptxas {self.version}")
            return _run([self.nvdisasm, "-g", "-c", cubin], "nvdisasm")

    def registers(self, text: str, target: str) -> dict[str, int]:
        """Assemble PTX for a chip, and return the registers of a thread of each kernel."""
        with tempfile.TemporaryDirectory() as folder:
            source, cubin = Path(folder, "text.ptx"), Path(folder, "text.cubin")
            source.write_text(text, encoding="utf-8")
            command = [self.ptxas, "-v", f"-arch={target}", source, "-o", cubin]
            said = _run(command, f"ptxas {self.version}", stream="stderr")
        return {kernel: int(count) for kernel, count in _REGISTERS.findall(said)}


def _run(command: list[object], name: str, stream: str = "stdout") -> str:
    done = subprocess.run([str(x) for x in command], capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        said = [_MESSAGE.sub("", x).strip() for x in (done.stderr or done.stdout).strip().splitlines()]
        raise CompilationError(f"{name} rejects the PTX: {'; '.join(said[:2])}")
    return str(getattr(done, stream))


@cache
def find_assemblers() -> tuple[Assembler, ...]:
    """Find every ptxas on PATH, in a CUDA toolkit and in the wheels of PyPI, the newest release first."""
    disassemblers = [(_version(x), x) for x in dict.fromkeys(_programs("nvdisasm"))]
    found = {_version(x): x for x in reversed(list(dict.fromkeys(_programs("ptxas"))))}
    found.pop((), None)
    if not found or not disassemblers:
        missing = " and ".join(x for x, y in (("ptxas", found), ("nvdisasm", disassemblers)) if not y)
        raise BackendUnavailableError(f"{missing} cannot be found; {_INSTALL}")
    nvdisasm = max(disassemblers)[1]
    return tuple(Assembler(found[x], nvdisasm, ".".join(map(str, x))) for x in sorted(found, reverse=True))


def _programs(name: str) -> Iterator[Path]:
    folders = [Path(x) for x in os.environ.get("PATH", "").split(os.pathsep) if x]
    folders += [Path(os.environ[x], "bin") for x in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(x)]
    folders.append(Path("/usr/local/cuda/bin"))
    for package, places in _WHEELS.items():
        spec = importlib.util.find_spec(package)
        for root in (spec and spec.submodule_search_locations) or ():
            folders += [Path(root, x) for x in places]
    for folder in folders:
        for spelling in _NAMES[name]:
            if shutil.which(spelling, path=str(folder)):
                yield Path(folder, spelling)


@cache
def _version(program: Path) -> tuple[int, ...]:
    return tuple(int(x) for x in release_of(program).split(".") if x)
