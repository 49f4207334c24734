# SPDX-License-Identifier: MIT
"""The folder that is carried to a machine with a GPU: compiled programs, the recorder, the CUDA runtime, a script."""

import re
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from tools.launch_recorder.building import build_recorder, toolkit

__all__ = ["Compilable", "build_each", "build_listed", "compiled", "ptx_of"]

_RECORD = Path(__file__).with_name("record.sh")
_SECONDS = 600
_STOPPED = 124
_DRIVER_NAME = re.compile(r"CUDAAPI\s+(cu[A-Z]\w+)\s*\(|#define\s+cu\w+\s+(cu[A-Z]\w+)")


class Compilable(Protocol):
    """A program: its name, that of its PTX, and the line that tells the script how to run it."""

    @property
    def name(self) -> str: ...

    @property
    def ptx_name(self) -> str: ...

    @property
    def row(self) -> str: ...


P = TypeVar("P", bound=Compilable)


def ptx_of(work: Path, program: Compilable) -> Path:
    """Return the PTX from which the machine code of a program was made."""
    return work / program.name / f"{program.ptx_name}.ptx"


def build_listed(
    chosen: Sequence[P], listed: Sequence[P], build: Callable[[P], None], work: Path, out: Path, nvcc: str,
    jobs: int = 1,
) -> int:  # fmt: skip
    """Compile chosen programs, ``jobs`` at a time, and put what the GPU's machine needs into ``out``.

    A program that is already in ``out`` is not compiled again. What does not compile is named, and left out. ``listed``
    are all programs; the script runs those that are in ``out``.

    Returns
    -------
    int
        The number of programs that do not compile.
    """
    _prepare(work, out, toolkit(nvcc))
    failures = build_each({x.name: (ptx_of(work, x), partial(build, x)) for x in chosen}, out, jobs)
    built = [x for x in listed if (out / "bin" / x.name).exists()]
    (out / "programs.tsv").write_text("".join(f"{x.row}\n" for x in built))
    return failures


def build_each(tasks: Mapping[str, tuple[Path, Callable[[], None]]], out: Path, jobs: int = 1) -> int:
    """Call the function of each program that is not in ``out`` yet, and return how many do not compile.

    ``tasks`` has for each name the PTX that is kept, and the function; ``jobs`` of them run at a time.
    """

    def is_built(name: str) -> bool:
        ptx, build = tasks[name]
        if (out / "bin" / name).exists() and ptx.exists():
            return True
        started = time.perf_counter()
        try:
            build()
        except OSError as error:
            print(f"{name}: {error}", flush=True)
            return False
        print(f"{name}: built in {time.perf_counter() - started:.0f} s", flush=True)
        return True

    with ThreadPoolExecutor(jobs) as pool:
        return sum(not x for x in pool.map(is_built, tasks))


def compiled(command: list[str]) -> None:
    """Run a compiler.

    Raises
    ------
    OSError
        With its messages, if it fails.
    """
    done = subprocess.run(["timeout", str(_SECONDS), *command], capture_output=True, text=True)
    if done.returncode == _STOPPED:
        raise OSError(f"the compiler took more than {_SECONDS} s")
    if done.returncode:
        raise OSError(f"does not compile: {(done.stderr or done.stdout).strip()[-2000:]}")


def _prepare(work: Path, out: Path, cuda: Path) -> None:
    """Put the recorder, the CUDA runtime and the script into ``out``, and a library for the linker into ``work``."""
    for folder in (work, out / "bin", out / "lib"):
        folder.mkdir(parents=True, exist_ok=True)
    build_recorder(out / "lib" / "liblaunch_recorder.so", cuda)
    shutil.copy(_runtime(cuda), out / "lib" / "libcudart.so.13")
    copied = shutil.copy(_RECORD, out / "record.sh")
    copied.chmod(copied.stat().st_mode | stat.S_IXUSR)
    _stub_driver(work, cuda)


def _runtime(cuda: Path) -> Path:
    folders = ("lib64", "lib", "targets/x86_64-linux/lib")
    found = [x for folder in folders for x in (cuda / folder).glob("libcudart.so.13")]
    if not found:
        raise OSError(f"{cuda} has no libcudart.so.13 in lib64 or lib: the programs need CUDA 13")
    return found[0]


def _stub_driver(work: Path, cuda: Path) -> None:
    """Make a library with the names of the driver's functions, for the linker: the real one is on the GPU's machine."""
    header = (cuda / "include" / "cuda.h").read_text()
    names = sorted({x[1] or x[2] for x in _DRIVER_NAME.finditer(header)})
    (work / "driver.c").write_text("".join(f"void {x}(void) {{}}\n" for x in names))
    command = ["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", str(work / "driver.c"), "-o"]
    compiled([*command, str(work / "libcuda.so")])
