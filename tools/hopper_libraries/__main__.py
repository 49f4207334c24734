# SPDX-License-Identifier: MIT
"""Record kernels of public libraries for Hopper on a GPU, and compare the emulator with what the chip did.

    python -m tools.hopper_libraries build OUT --work WORK --checkout LIBRARY=FOLDER ... [--only TEXT]
    OUT/record.sh RECORDED                                      # on the machine with the GPU: OUT has everything
    python -m tools.hopper_libraries unpack RECORDED BUNDLES --work WORK
    python -m tools.hopper_libraries compare BUNDLES [--asynchrony late] [--only TEXT]

`libraries.py` lists the kernels of FlashAttention-3, DeepGEMM, ThunderKittens and TileLang, with clusters of one block.
Host programs of this project include the library's headers, fill the inputs with fixed pseudo-random values and
launch; no file of the checkouts is part of this project. The folder of TileLang is its installed package,
ENV/lib/python3.11/site-packages/tilelang; it generates its kernel.
"""

import argparse
import sys
from pathlib import Path

from tools.hopper_libraries.building import build_all, ptx_of
from tools.hopper_libraries.libraries import LIBRARIES, PROGRAMS
from tools.hopper_programs.table import print_table
from tools.hopper_programs.unpacking import unpack


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    actions = parser.add_subparsers(dest="action", required=True)
    build, unpacked = actions.add_parser("build"), actions.add_parser("unpack")
    compare = actions.add_parser("compare")
    build.add_argument("out", type=Path, help="the folder that is carried to the GPU")
    build.add_argument("--checkout", action="append", default=[], metavar="LIBRARY=FOLDER", help=", ".join(LIBRARIES))
    build.add_argument("--nvcc", default="nvcc")
    unpacked.add_argument("recorded", type=Path, help="the folder with hopper.tar.xz.00 and so on")
    unpacked.add_argument("bundles", type=Path, help="where bundles and recordings are written")
    compare.add_argument("bundles", type=Path, help="the folder that `unpack` made")
    compare.add_argument("--asynchrony", default="", help="of the launches, as we.ptx.Module takes it")
    for one in (build, unpacked):
        one.add_argument("--work", type=Path, required=True, help="the folder that keeps the PTX")
    for one in (build, compare):
        one.add_argument("--only", default="", help="programs whose name holds this")
    given = parser.parse_args(argv)
    if given.action == "unpack":
        sources = {x.name: (ptx_of(given.work, x), _source(x.library)) for x in PROGRAMS}
        return unpack(given.recorded, given.bundles, sources)
    chosen = tuple(x for x in PROGRAMS if given.only in x.name)
    if given.action == "compare":
        return print_table(chosen, given.bundles, {"asynchrony": given.asynchrony} if given.asynchrony else {})
    checkouts = dict(x.split("=", 1) for x in given.checkout)
    if wrong := set(checkouts) - set(LIBRARIES):
        parser.error(f"--checkout {wrong.pop()}=... is not one of {', '.join(LIBRARIES)}")
    return min(1, build_all(chosen, {x: Path(y) for x, y in checkouts.items()}, given.work, given.out, given.nvcc))


def _source(library: str) -> dict[str, str]:
    return {"repository": f"https://github.com/{LIBRARIES[library].repository}"}


if __name__ == "__main__":
    sys.exit(main())
