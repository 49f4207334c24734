# SPDX-License-Identifier: MIT
"""Recalculation of an explanation from its text only: every number is read, and checked independently.

`replay` accepts the text and returns the bits of the result and of the inputs. It implements products, alignment and
rounding, and reads all parameters from the sentence about the model; it does not use code of the package.
"""

import re
from typing import NamedTuple

import numpy as np

from tests.arithmetic.replay_numbers import (
    FLOATS,
    INTEGERS,
    ReplayError,
    check,
    check_shown,
    integer,
    read_pattern,
    take_apart,
    width,
)
from tests.arithmetic.replay_reader import HEX, VALUE
from tests.arithmetic.replay_scaled import ScaledReplay
from tests.arithmetic.replay_whole import WholeReplay

ALIGNED = re.compile(
    r"steps of (?P<terms>\d+) exact products(?: of operands converted to (?P<operands>\w+))?"
    r"(?P<scaled>, the exponents of their scales added to theirs,|, in groups of (?P<group>\d+) that are summed "
    r"exactly and multiplied by both scales,)?(?P<c_first> and c)?, aligned to the largest exponent"
    r"(?: of scales and c(?P<zeros>, zero groups included)?)? \(at least (?P<floor>-\d+)\), cut toward zero to "
    r"(?P<places>\d+) fraction bits, summed exactly, rounded (?P<mode>RZ|RNE) to (?P<output>\w+)"
    r"(?P<pairs>; k % 4 < 2 first, then the others)?(?P<added>; the steps' results added \(RNE\))?"
    r"(?P<c_last>; c added last \(RNE\))?"
)
CHAIN = re.compile(
    r"(?P<format>\w+) fused multiply-adds, k ascending, (?:(?P<c_first>from c)|(?P<c_last>from \+0, then c added "
    r"\(RNE\))|(?P<terms>\d+) products a chain, each chain's sum added to c in turn \(RNE\))"
    r"(?:, rounded RNE to (?P<output>\w+))?"
)
INTEGER = "exact integer sum of the products and c, wrapped or (.satfinite) clamped once to 32 bits"
POPCOUNT = "population count of the bitwise operation, added to c, wrapped to 32 bits"


class Replayed(NamedTuple):
    """The inputs in the text, and the result of the calculation."""

    model: str
    row: int
    column: int
    k: int
    a: list[int]
    b: list[int]
    c: int
    result: int
    scales: tuple[tuple[int, ...], ...] = ()


def replay(text: str) -> Replayed:
    """Recalculate an explanation; raise `ReplayError` if a number in it is wrong."""
    try:
        return _Replay(text.split("\n")).run()
    except (ValueError, KeyError, IndexError, TypeError, ZeroDivisionError) as error:
        raise ReplayError(f"unreadable: {error!r}") from error


class _Replay(ScaledReplay, WholeReplay):
    def run(self) -> Replayed:
        row, column, bits, self.d, shown = self.match(rf"D\[(\d+), (\d+)\] = ({HEX}) \((\w+)\) = (.+)")
        [self.mnemonic] = self.match(r"  instruction  (\S+) on .+")
        if self.peek().startswith("  lowering"):
            self.next()
        operands = self.block("  operands     ", 15)
        found = re.fullmatch(
            r"row (\d+) of A \((\w+)\), column (\d+) of B \((\w+)\), c \((\w+)\); K = (\d+)(?:, filled with \+0 to "
            r"(\d+))?(?:; (\d+) instructions)?(?:; block scales \((\w+)\) of (\d+) products)?",
            operands,
        )
        check(found is not None, "operands:", operands)
        a_row, self.a, b_column, self.b, self.c, k, filled, count, self.scale, block = found.groups()
        self.block_size = int(block or 0)
        check((a_row, b_column) == (row, column), "row and column")
        self.k, self.filled, self.count = int(k), int(filled or k), int(count or 1)
        check(filled is None or self.filled > self.k, "nothing is filled")
        self.model = self.block("  model        ", 15)
        for head in ("status", "source", "note"):
            if self.peek().startswith(f"  {head}"):
                self.block(f"  {head}", 15)
        self.scales: dict[int, tuple[int, int]] = {}
        reached = 0
        for number in range(1, self.count + 1):
            check(self.next() == "", "no empty line")
            reached = self.instruction(number, reached)
        check(reached == self.filled, "k reaches", reached)
        check(self.next() == "" and self.next() == self.lines[0] and self.at == len(self.lines), "the last line")
        result = read_pattern(bits, self.d)
        check(self.values[f"step {self.numbered}"] == result, "the result is not that of the last step")
        self.check_result(shown, result)
        a, b = ([self.inputs[x][k] for k in range(self.filled)] for x in "AB")
        scales = tuple(tuple(x) for x in zip(*self.scales.values(), strict=True))
        return Replayed(self.model, int(row), int(column), self.k, a, b, self.first_c, result, scales)

    def check_result(self, shown: str, bits: int) -> None:
        if self.d in INTEGERS:
            check(shown == str(integer(bits, self.d)), "the value", shown)
            return
        dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[self.d]
        decimal, _, exact = shown.partition(" = ")
        value = np.array([bits], f"u{width(self.d) // 8}").view(dtype)[0]
        # NaN is written without its sign.
        check(decimal == ("nan" if np.isnan(value) else str(value)), "the value", decimal)
        if take_apart(bits, self.d).kind in ("zero", "finite"):
            check_shown(exact, bits, self.d)
        else:
            check(not exact, "the value", exact)

    def instruction(self, number: int, start: int) -> int:
        which = rf"instruction {number} of {self.count}, " if self.count > 1 else ""
        first, last, origin, bits, shown = self.match(
            rf"{which}k = (\d+) \.\. (\d+), c(?: = (step \d+))? = ({HEX})(?: = ({VALUE}))?"
        )
        check(int(first) == start, "k begins at", first)
        ks = range(start, int(last) + 1)
        c = read_pattern(bits, self.c)
        if self.c in FLOATS:
            check_shown(shown, c, self.c)
        else:
            check(shown is None, "a value of c")
        name = origin or "c"
        check((origin is None) == (number == 1), "c of", number)
        if origin is None:
            self.values["c"] = self.first_c = c
        else:
            check(origin == f"step {self.numbered}" and self.values[origin] == c, "c is not D of the last instruction")
        if found := ALIGNED.fullmatch(self.model):
            self.aligned_instruction(found, ks, name)
        elif found := CHAIN.fullmatch(self.model):
            self.chain_instruction(found, ks, name)
        elif self.model == INTEGER:
            self.integer_step(ks, name)
        else:
            check(self.model == POPCOUNT, "no such model:", self.model)
            self.bit_step(ks, name)
        return ks.stop
