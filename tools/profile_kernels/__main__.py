# SPDX-License-Identifier: MIT
"""Compare the counters of the profiler with those of Nsight Compute.

    python -m tools.profile_kernels build BUNDLE                 # anywhere with nvcc: compile, and draw the arguments
    python3 BUNDLE/measure.py BUNDLE OUT                         # on a GPU with ncu; needs nothing else
    python -m tools.profile_kernels compare OUT [--page FILE]    # anywhere: the emulator's counters and those of OUT

The bundle has a cubin for each module, so that ptxas is not part of the measurement; ``build`` reads its machine code,
and lists kernels in which the accesses are not one to one with the PTX.
"""

import argparse
import sys
from pathlib import Path

from tools.profile_kernels.build import build
from tools.profile_kernels.compare import compare


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    actions = parser.add_subparsers(dest="action", required=True)
    making = actions.add_parser("build", help="compile the kernels, and write the bundle")
    making.add_argument("bundle", type=Path)
    making.add_argument("--disassembler", default="nvdisasm", help="the path of nvdisasm (default: %(default)s)")
    making.add_argument("--part", action="append", default=[], help="a part; all by default")
    comparing = actions.add_parser("compare", help="count in the emulator, and compare")
    comparing.add_argument("measured", type=Path, help="the folder that measure.py wrote")
    comparing.add_argument("--part", action="append", default=[], help="a part; all by default")
    comparing.add_argument("--page", type=Path, help="write the table of evidence to this file")
    comparing.add_argument("--vectors", type=Path, help="write the measured patterns to this .npz file")
    given = parser.parse_args(argv)
    if given.action == "build":
        return build(given.bundle, given.disassembler, given.part)
    return compare(given.measured, given.part, given.page, given.vectors)


if __name__ == "__main__":
    sys.exit(main())
