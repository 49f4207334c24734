# SPDX-License-Identifier: MIT
"""Compile the kernels with planted bugs, tests/ptx/planted/, to PTX: with their bugs, and repaired.

    python -m tools.build_planted_ptx [--compiler nvcc] [FILE ...]

writes tests/ptx/planted/compiled/FILE.ptx and FILE.fixed.ptx, with line information.
"""

import argparse
import sys
from collections.abc import Sequence

from tests.ptx.planted.table import FILES, FOLDER, TARGETS
from tools.build_example_ptx import compile_cuda


def build(file: str, fixed: bool, compiler: str = "nvrtc") -> str:
    """Return the newly compiled PTX of a file's kernels."""
    text = (FOLDER / f"{file}.cu").read_text(encoding="utf-8")
    options = [*(["-lineinfo"] if compiler == "nvcc" else []), *(["-DFIXED"] if fixed else [])]
    return compile_cuda(text, f"{file}.cu", TARGETS.get(file, "sm_80"), compiler, options)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.build_planted_ptx", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"of {', '.join(FILES)}; all unless given")
    parser.add_argument("--compiler", choices=("nvcc", "nvrtc"), default="nvcc")
    given = parser.parse_args(arguments)
    for file in given.files or FILES:
        for fixed in (False, True):
            path = FOLDER / "compiled" / f"{file}{'.fixed' if fixed else ''}.ptx"
            path.write_text(build(file, fixed, given.compiler), encoding="utf-8")
            print(f"{path.name}: {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
