# SPDX-License-Identifier: MIT
"""Compile the host programs, with the headers of the libraries."""

import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from tools.hopper_libraries.libraries import LIBRARIES, PROGRAMS, LibraryProgram
from tools.hopper_programs.carried import build_listed, compiled

__all__ = ["build_all"]

_HERE = Path(__file__).parent
_ARCH = "arch=compute_90a,code=[sm_90a,compute_90a]"
_GENERATED = "tile_lang_kernel.cu"


def build_all(
    programs: tuple[LibraryProgram, ...], checkouts: Mapping[str, Path], work: Path, out: Path, nvcc: str, jobs: int = 1
) -> int:  # fmt: skip
    """Compile programs, as `build_listed` does."""
    build = partial(_build, checkouts=checkouts, work=work, out=out, nvcc=nvcc)
    return build_listed(programs, PROGRAMS, build, work, out, nvcc, jobs)


def _build(program: LibraryProgram, checkouts: Mapping[str, Path], work: Path, out: Path, nvcc: str) -> None:
    needed = [program.library, *(["cutlass"] if program.with_cutlass else [])]
    if missing := [x for x in needed if x not in checkouts]:
        raise OSError(f"needs --checkout {missing[0]}=FOLDER, of {LIBRARIES[missing[0]].repository}")
    folder = work / program.name
    folder.mkdir(exist_ok=True)
    if program.library == "tile-lang":
        _generate(checkouts["tile-lang"], folder / _GENERATED)
    included = [folder, *(checkouts[x] / y for x in needed for y in LIBRARIES[x].included)]
    command = [nvcc, *program.flags, "--expt-relaxed-constexpr", "--expt-extended-lambda", "-DNDEBUG", "-w"]
    command += ["-gencode", _ARCH, "-cudart", "shared", "-Xlinker", "-s", "-keep", "-keep-dir", str(folder)]
    command += [*(f"-I{x}" for x in included), str(_HERE / "programs" / f"{program.file}.cu")]
    compiled([*command, f"-L{work}", "-lcuda", "-o", str(out / "bin" / program.name)])
    for left in folder.iterdir():
        if left.name != _GENERATED and left.suffix != ".ptx":
            left.unlink()


def _generate(package: Path, target: Path) -> None:
    """Let TileLang write its kernel; the package is ``ENV/lib/python3.11/site-packages/tilelang``."""
    python = package.parents[3] / "bin" / "python"
    done = subprocess.run([str(python), str(_HERE / "tile_lang_source.py")], capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"TileLang does not generate its kernel: {done.stderr.strip()[-1000:]}")
    target.write_text(done.stdout)
