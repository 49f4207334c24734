# SPDX-License-Identifier: MIT
"""Compare recorded registers with the emulator, through `execute` and through matrices; exit status 1 on a mismatch.

python -m tools.check_registers tests/data/sm90_registers.npz [--engine reference] [--quiet]
"""

import argparse
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tools.recordings import RecordedRegisters, load_arrays, read_registers
from wmma_emu.api import instruction


class Result(NamedTuple):
    """Outputs and mismatches of one instruction, and the first output that differs."""

    mnemonic: str
    outputs: int
    registers_differ: int
    elements_differ: int
    first: str


def check(cases: Iterable[RecordedRegisters], arch: str, engine: str) -> Iterator[Result]:
    """Compare all families of each instruction; cases of one instruction follow one another."""
    for mnemonic, families in groupby(cases, key=lambda x: x.mnemonic):
        ins = instruction(mnemonic, arch=arch)
        outputs = registers_differ = elements_differ = 0
        first = ""
        for case in families:
            d = ins.execute(case.a, case.b, case.c, engine=engine, **case.keywords)
            wrong = np.argwhere(d != case.d)
            if wrong.size and not first:
                register, tile, *lane = index = tuple(wrong[0].tolist())
                place = f"register {register}, tile {tile}, lane {' '.join(map(str, lane))}"
                first = f"{case.generator}, {place}: the GPU gave {case.d[index]:#x}, the emulator {d[index]:#x}"
            registers_differ += len(wrong)
            outputs += ins.d.unpack_bits(d).size
            if ins.instruction.is_warpgroup or ins.instruction.is_sparse:
                continue  # the tests compare their matrices
            D = ins(ins.a.unpack(case.a), ins.b.unpack(case.b), ins.c.unpack(case.c), engine=engine)
            recorded = ins.d.unpack(case.d)
            bits = np.dtype(f"u{recorded.dtype.itemsize}")
            elements_differ += int(np.count_nonzero(D.view(bits) != recorded.view(bits)))
        yield Result(mnemonic, outputs, registers_differ, elements_differ, first)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="npz file of record_registers, or one that holds its inputs")
    parser.add_argument("--engine", default="numpy", choices=("numpy", "reference"))
    parser.add_argument("--arch", help="the chip; by default the one that the file names, else sm_90")
    parser.add_argument("--only", default="", help="regular expression that mnemonics must contain")
    parser.add_argument("--first-tiles", type=int, help="the number of tiles of each generator (the reference is slow)")
    parser.add_argument("--quiet", action="store_true", help="print only instructions that differ, and the totals")
    given = parser.parse_args(arguments)
    arch = given.arch or load_arrays(given.file)[1].get("arch", "sm_90")
    cases = (x.first_tiles(given.first_tiles) for x in read_registers(given.file) if re.search(given.only, x.mnemonic))
    started, results = time.monotonic(), []
    for result in check(cases, arch, given.engine):
        results.append(result)
        differs = result.registers_differ or result.elements_differ
        if differs or not given.quiet:
            print(f"{result.mnemonic:<72} {result.outputs:>7} outputs, {result.registers_differ} registers and "
                  f"{result.elements_differ} elements differ {result.first}", flush=True)  # fmt: skip
    wrong = [x for x in results if x.registers_differ or x.elements_differ]
    print(f"{len(results)} instructions on {arch}, engine {given.engine}, {sum(x.outputs for x in results)} outputs: "
          f"{sum(x.registers_differ for x in results)} registers, {sum(x.elements_differ for x in results)} elements "
          f"differ, in {len(wrong)} instructions; {time.monotonic() - started:.1f} s")  # fmt: skip
    return 1 if wrong or not results else 0


if __name__ == "__main__":
    sys.exit(main())
