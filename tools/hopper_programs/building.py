# SPDX-License-Identifier: MIT
"""Compile the programs of CUTLASS, as they are listed and edited."""

import re
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tools.hopper_programs.carried import build_listed, compiled
from tools.hopper_programs.programs import PROGRAMS, Program

__all__ = ["Checkouts", "build_all"]

_ARCH = "arch=compute_90a,code=sm_90a"
_TEST = re.compile(r"^TEST\(\w+, (\w+)\)\n.*?^}\n", re.MULTILINE | re.DOTALL)


class Checkouts(NamedTuple):
    """Folders: CUTLASS, GoogleTest, and one with ``curand_kernel.h``, which the toolkit may lack."""

    cutlass: Path
    googletest: Path
    headers: tuple[Path, ...]


def build_all(
    programs: tuple[Program, ...], checkouts: Checkouts, work: Path, out: Path, nvcc: str, jobs: int = 1
) -> int:  # fmt: skip
    """Compile programs, as `build_listed` does."""
    work.mkdir(parents=True, exist_ok=True)
    _gtest(checkouts, work)
    build = partial(_build, checkouts=checkouts, work=work, out=out, nvcc=nvcc)
    return build_listed(programs, PROGRAMS, build, work, out, nvcc, jobs)


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
