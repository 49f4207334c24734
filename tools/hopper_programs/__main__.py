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

from tools.hopper_programs.building import Checkouts, build_all, ptx_of
from tools.hopper_programs.programs import PROGRAMS, REPOSITORIES
from tools.hopper_programs.table import print_table
from tools.hopper_programs.unpacking import unpack


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    actions = parser.add_subparsers(dest="action", required=True)
    build, unpacked = actions.add_parser("build"), actions.add_parser("unpack")
    build.add_argument("out", type=Path, help="the folder that is carried to the GPU")
    build.add_argument("--cutlass", type=Path, required=True, help="a checkout of NVIDIA/cutlass")
    build.add_argument("--googletest", type=Path, required=True, help="a checkout of google/googletest")
    build.add_argument("--headers", type=Path, action="append", default=[], help="a folder with curand_kernel.h")
    build.add_argument("--nvcc", default="nvcc")
    build.add_argument("--jobs", type=int, default=1, help="compilers at a time (default: %(default)s)")
    unpacked.add_argument("recorded", type=Path, help="the folder with hopper.tar.xz.00 and so on")
    unpacked.add_argument("bundles", type=Path, help="where bundles and recordings are written")
    compare = actions.add_parser("compare")
    compare.add_argument("bundles", type=Path, help="the folder that `unpack` made")
    compare.add_argument("--asynchrony", default="", help="of the launches, as we.ptx.Module takes it")
    for one in (build, unpacked):
        one.add_argument("--work", type=Path, required=True, help="the folder that keeps the PTX")
    for one in (build, compare):
        one.add_argument("--only", default="", help="programs whose name holds this")
    given = parser.parse_args(argv)
    if given.action == "unpack":
        origin = {x.name: {"repository": REPOSITORIES["cutlass"], "file": x.file} for x in PROGRAMS}
        sources = {x.name: (ptx_of(given.work, x), origin[x.name]) for x in PROGRAMS}
        return unpack(given.recorded, given.bundles, sources)
    chosen = tuple(x for x in PROGRAMS if given.only in x.name)
    if given.action == "build":
        checkouts = Checkouts(given.cutlass, given.googletest, tuple(given.headers))
        return min(1, build_all(chosen, checkouts, given.work, given.out, given.nvcc, given.jobs))
    return print_table(chosen, given.bundles, {"asynchrony": given.asynchrony} if given.asynchrony else {})


if __name__ == "__main__":
    sys.exit(main())
