# SPDX-License-Identifier: MIT
"""Compile the short kernels that show each kind of finding to PTX: with their bugs, and fixed.

    python -m tools.build_finding_ptx [--compiler nvrtc] [KIND ...]

writes wmma_emu/ptx/examples/kernels/KIND.ptx and KIND.fixed.ptx, with line information.
"""

import argparse
import sys
from collections.abc import Sequence

from tools.build_example_ptx import compile_cuda
from wmma_emu.ptx.examples import EXAMPLES, FOLDER, source_of
from wmma_emu.ptx.findings import KINDS, slug_of


def build(kind: str, fixed: bool, compiler: str = "nvrtc") -> str:
    """Return the newly compiled PTX of a kind's bug, or of the fixed kernel."""
    options = ["-lineinfo"] if compiler == "nvcc" else []
    return compile_cuda(source_of(kind, fixed), f"{slug_of(kind)}.cu", EXAMPLES[kind].target, compiler, options)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.build_finding_ptx", description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="as in 'read-only'; all unless given")
    parser.add_argument("--compiler", choices=("nvcc", "nvrtc"), default="nvcc")
    given = parser.parse_args(arguments)
    for kind in given.kinds or KINDS:
        for fixed in (False, True):
            path = FOLDER / f"{slug_of(kind)}{'.fixed' if fixed else ''}.ptx"
            path.write_text(build(kind, fixed, given.compiler), encoding="utf-8")
            print(f"{path.name}: {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
