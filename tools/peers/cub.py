# SPDX-License-Identifier: MIT
"""Run algorithms of CUB and Thrust on the emulator, compare their results with NumPy's, and print a table.

    python -m tools.peers.cub CHECKOUT [--only REGEX] [--arch CHIP]

CHECKOUT is a checkout of https://github.com/NVIDIA/cccl (Apache-2.0 with LLVM exceptions, BSD). The kernels are this
project's own, of one call each (`tools.peers.cub_cases`), because the suite's own tests need a host; the algorithms are
the headers of the checkout.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tools.peers.cub_cases import CASES, ITEMS, THREADS, Case, source_of
from tools.peers.table import Row, print_table, revision
from wmma_emu.errors import CompilationError, WmmaEmuError
from wmma_emu.instructions import DEFAULT_ARCH
from wmma_emu.ptx import Module

EQUAL = "equal"

_FOLDERS = ("cub", "thrust", "libcudacxx/include")
_BLOCKS = 2


def row_of(module: Module, case: Case) -> Row:
    """Launch the kernel of a case, and compare every number of its output."""
    rng = np.random.Generator(np.random.PCG64(7))
    shape = (_BLOCKS, THREADS * ITEMS)
    given = rng.integers(0, 200, shape).astype(np.int32 if case.type == "int" else np.float32)
    output = np.zeros_like(given)
    try:
        report = module[case.name][_BLOCKS, THREADS](given.copy(), output, findings="report")
    except WmmaEmuError as error:
        reason = re.sub(r"^line \d+: |; and \d+ more.*", "", str(error).splitlines()[-1])
        return Row(case.name, "refused", f"{type(error).__name__}: {reason}")
    wrong = int(np.count_nonzero(output != np.stack([case.expected(x) for x in given])))
    if wrong:
        return Row(case.name, "wrong", f"{wrong} of {output.size} numbers differ")
    if report.findings:
        return Row(case.name, "equal, with findings", ", ".join(sorted({x.kind for x in report.findings})))
    return Row(case.name, EQUAL)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.peers.cub", description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="a checkout of NVIDIA's CCCL")
    parser.add_argument("--only", default="", help="a regular expression for the names of cases")
    parser.add_argument("--arch", default=DEFAULT_ARCH, help="the chip (default: %(default)s)")
    given = parser.parse_args(argv)
    if not (given.checkout / "cub/cub").is_dir():
        parser.error(f"{given.checkout} has no cub/cub; give a checkout of NVIDIA's CCCL")
    cases = tuple(x for x in CASES if re.search(given.only, x.name))
    include = [given.checkout / x for x in _FOLDERS]
    try:
        module = Module.from_cuda(source_of(cases), given.arch, include=include, name="algorithms.cu")
    except CompilationError as error:
        print(error, file=sys.stderr)
        return 2
    suite = f"Algorithms of CUB and Thrust, compiled by {module.compiler}"
    return print_table(suite, revision(given.checkout), [row_of(module, x) for x in cases], (EQUAL,))


if __name__ == "__main__":
    sys.exit(main())
