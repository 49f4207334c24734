# SPDX-License-Identifier: MIT
"""Record public C++ programs for Hopper on a GPU, and compare the emulator with what the chip did.

    python -m tools.hopper_programs build OUT --work WORK --cutlass DIR --googletest DIR [--headers DIR] [--only TEXT]
    OUT/record.sh RECORDED                                      # on the machine with the GPU: it needs only OUT
    python -m tools.hopper_programs unpack RECORDED BUNDLES --work WORK
    python -m tools.hopper_programs compare BUNDLES [--asynchrony late] [--only TEXT]

The programs are CuTe's tutorials, CUTLASS's examples and its unit tests, as `programs.py` lists them, with small
problems; clusters become clusters of one block. `build` compiles them with nvcc and puts binaries, the recorder of
`tools.launch_recorder` and the CUDA runtime into OUT; WORK keeps the PTX. `unpack` makes bundles; `compare` runs the
emulator on them and prints a table. The checkouts are not part of this project.
"""

import argparse
import sys
from pathlib import Path

from tools.hopper_programs.building import Checkouts, build_all
from tools.hopper_programs.command_line import Listed, run
from tools.hopper_programs.programs import PROGRAMS, REPOSITORIES, Program


def main(argv: list[str] | None = None) -> int:
    return run(Listed(__doc__.splitlines()[0], PROGRAMS, _origin, _add_arguments, _build), argv)


def _origin(program: Program) -> dict[str, str]:
    return {"repository": REPOSITORIES["cutlass"], "file": program.file}


def _add_arguments(build: argparse.ArgumentParser) -> None:
    build.add_argument("--cutlass", type=Path, required=True, help="a checkout of NVIDIA/cutlass")
    build.add_argument("--googletest", type=Path, required=True, help="a checkout of google/googletest")
    build.add_argument("--headers", type=Path, action="append", default=[], help="a folder with curand_kernel.h")


def _build(chosen: tuple[Program, ...], given: argparse.Namespace) -> int:
    checkouts = Checkouts(given.cutlass, given.googletest, tuple(given.headers))
    return build_all(chosen, checkouts, given.work, given.out, given.nvcc, given.jobs)


if __name__ == "__main__":
    sys.exit(main())
