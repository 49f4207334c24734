# SPDX-License-Identifier: MIT
"""Compile the programs into a folder that can be carried to a machine with a GPU."""

import re
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tools.hopper_programs.programs import PROGRAMS, Program
from tools.launch_recorder.building import build_recorder, toolkit

__all__ = ["Checkouts", "build_all", "build_each", "compiled", "prepare", "ptx_of"]

_RECORD = Path(__file__).with_name("record.sh")
_SECONDS = 600
_STOPPED = 124
_ARCH = "arch=compute_90a,code=sm_90a"
_TEST = re.compile(r"^TEST\(\w+, (\w+)\)\n.*?^}\n", re.MULTILINE | re.DOTALL)
_DRIVER_NAME = re.compile(r"CUDAAPI\s+(cu[A-Z]\w+)\s*\(|#define\s+cu\w+\s+(cu[A-Z]\w+)")


class Checkouts(NamedTuple):
    """Folders: CUTLASS, GoogleTest, and one with ``curand_kernel.h``, which the toolkit may lack."""

    cutlass: Path
    googletest: Path
    headers: tuple[Path, ...]


def ptx_of(work: Path, program: Program) -> Path:
    """Return the PTX from which the machine code of a program was made."""
    return work / program.name / f"{program.name}.ptx"


def build_all(
    programs: tuple[Program, ...], checkouts: Checkouts, work: Path, out: Path, nvcc: str, jobs: int = 1
) -> int:  # fmt: skip
    """Compile programs, ``jobs`` at a time, and put what the GPU's machine needs into ``out``.

    A program that is already in ``out`` is not compiled again. What does not compile is named, and left out.

    Returns
    -------
    int
        The number of programs that do not compile.
    """
    prepare(work, out, toolkit(nvcc))
    tasks = {x.name: (ptx_of(work, x), partial(_build, x, checkouts, work, out, nvcc)) for x in programs}
    _gtest(checkouts, work)
    failures = build_each(tasks, out, jobs)
    built = [x for x in PROGRAMS if (out / "bin" / x.name).exists()]
    lines = ("\t".join([x.name, x.only or ".", str(x.each), x.arguments]) for x in built)
    (out / "programs.tsv").write_text("".join(f"{x}\n" for x in lines))
    return failures


def prepare(work: Path, out: Path, cuda: Path) -> None:
    """Put the recorder, the CUDA runtime and the script into ``out``, and a library for the linker into ``work``."""
    for folder in (work, out / "bin", out / "lib"):
        folder.mkdir(parents=True, exist_ok=True)
    build_recorder(out / "lib" / "liblaunch_recorder.so", cuda)
    shutil.copy(_runtime(cuda), out / "lib" / "libcudart.so.13")
    copied = shutil.copy(_RECORD, out / "record.sh")
    copied.chmod(copied.stat().st_mode | stat.S_IXUSR)
    _stub_driver(work, cuda)


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


def _runtime(cuda: Path) -> Path:
    folders = ("lib64", "lib", "targets/x86_64-linux/lib")
    found = [x for folder in folders for x in (cuda / folder).glob("libcudart.so.13")]
    if not found:
        raise OSError(f"{cuda} has no libcudart.so.13 in lib64 or lib: the programs need CUDA 13")
    return found[0]


def _build(program: Program, checkouts: Checkouts, work: Path, out: Path, nvcc: str) -> None:
    folder = work / program.name
    folder.mkdir(exist_ok=True)
    source = checkouts.cutlass / program.file
    edited = folder / f"{program.name}.cu"
    edited.write_text(_edited(source.read_text(), program))
    roots = ["include", "tools/util/include", "examples/common", "test/unit", "test/unit/common"]
    included = [source.parent, *(checkouts.cutlass / x for x in roots), *checkouts.headers]
    files = [str(edited)]
    if program.is_test:
        included += [checkouts.googletest / "googletest" / x for x in ("include", ".")]
        files += [str(checkouts.cutlass / "test/unit/common/filter_architecture.cpp"), str(_gtest(checkouts, work))]
        files += [str(checkouts.cutlass / "test/unit/test_unit.cpp")]
    command = [nvcc, "-std=c++17", "--expt-relaxed-constexpr", "-gencode", _ARCH, "-cudart", "shared", "-w"]
    command += ["-Xcompiler", "-O1", "-Xlinker", "-s", "-keep", "-keep-dir", str(folder)]
    command += [*(f"-I{x}" for x in included), *files, f"-L{work}", "-lcuda", "-o", str(out / "bin" / program.name)]
    compiled(command)
    for left in folder.iterdir():
        if left.suffix not in (".cu", ".ptx"):
            left.unlink()


def _edited(text: str, program: Program) -> str:
    for edit in program.edits:
        if edit.old not in text:
            raise OSError(f"{program.file} does not hold {edit.old!r}: another revision?")
        text = text.replace(edit.old, edit.new)
    return _with_one_test(text, program) if program.test else text


def _with_one_test(text: str, program: Program) -> str:
    """Return a file of unit tests without the others."""
    found = {x[1]: x[0] for x in _TEST.finditer(text)}
    if program.test not in found:
        raise OSError(f"{program.file} has no test {program.test}: another revision?")
    for name, test in found.items():
        text = text if name == program.test else text.replace(test, "")
    return text


def _gtest(checkouts: Checkouts, work: Path) -> Path:
    target, root = work / "gtest.o", checkouts.googletest / "googletest"
    if not target.exists():
        command = ["g++", "-O1", "-c", f"-I{root}", f"-I{root / 'include'}", str(root / "src/gtest-all.cc")]
        compiled([*command, "-o", str(target)])
    return target


def _stub_driver(work: Path, cuda: Path) -> None:
    """Make a library with the names of the driver's functions, for the linker: the real one is on the GPU's machine."""
    header = (cuda / "include" / "cuda.h").read_text()
    names = sorted({x[1] or x[2] for x in _DRIVER_NAME.finditer(header)})
    (work / "driver.c").write_text("".join(f"void {x}(void) {{}}\n" for x in names))
    command = ["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", str(work / "driver.c"), "-o"]
    compiled([*command, str(work / "libcuda.so")])


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
