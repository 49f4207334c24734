# SPDX-License-Identifier: MIT
"""The polynomials of a Hopper GPU's function unit: the coefficients of every segment, and their source."""

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.evidence import Evidence, Run, Sourced

POSITION_BITS = 17
"""The bits of the position within a segment. A function with 16 bits uses the upper ones."""

SQUARE_CUT = 19
"""The lowest column of partial products in the squarer; `truncated_square` defines the columns."""

_FILE = "approx_coefficients.csv"
_GPU = "NVIDIA H200, driver 580.159.04, 2026-11-21"
_FITTED = Evidence("measured", f"{_GPU}: fitted to dense sweeps, then all 2**32 inputs", Run("approximations", "sm_90"))


@dataclass(frozen=True, slots=True)
class Table(Sourced):
    """The polynomials of one function.

    A sum is ``F = c0 * 2**15 + bias + c1 * position + c2 * square * 4``, in units of 2**-41.

    A few neighbouring values of ``bias``, which is added to every sum, would give the same results; the table has the
    smallest. ``covers`` describes the arguments that the segments divide.
    """

    name: str
    segments: int
    bias: int
    covers: str

    @property
    def evidence(self) -> Evidence:
        """The evidence: measured if the function was run on the GPU."""
        return _FITTED.of(f"{self.name}.approx.f32")


TABLES = {
    entry.name: entry
    for entry in (
        Table("rcp", 128, 8092, "significand of x: [1, 2)"),
        Table("rsqrt", 128, 32766, "significand of x: [1, 2) where its exponent is even, then [2, 4) where it is odd"),
        Table("sqrt", 128, 32766, "significand of x: [1, 2) where its exponent is even, then [2, 4) where it is odd"),
        Table("ex2", 64, 24456, "fraction of x: [0, 1)"),
        Table("lg2", 64, 6696, "significand of x: [1, 2)"),
        Table("sin", 64, 0, "a quarter of a turn: [0, 1/4)"),
        Table("tanh", 51, 0, "magnitude of x: [2**-8, 8), with the number of segments of each binade in TANH_BINADES"),
    )
}

TANH_BINADES = {-8: 0, -7: 0, -6: 0, -5: 1, -4: 1, -3: 2, -2: 2, -1: 2, 0: 3, 1: 4, 2: 3}
"""The binary logarithm of the number of segments for each exponent in tanh's table, in order."""


@cache
def rows(name: str) -> NDArray[np.int64]:
    """Return the coefficients of a table.

    Each segment has c0, c1, c2, the coefficients of 1, of the position in the segment, and of its square; c0 is in
    quarters of 2**-24, the others are in units of 2**-24 for a position in [0, 1).

    Examples
    --------
    >>> rows("ex2")[:2].tolist()
    [[33554435, 90852, 494], [33919818, 91840, 501]]
    """
    lines = resources.files("wmma_emu.scalar").joinpath(_FILE).read_text(encoding="ascii").splitlines()
    found = [line.split(",")[2:] for line in lines[1:] if line.startswith(f"{name},")]
    table = np.array(found, np.int64)
    table.flags.writeable = False
    return table


def truncated_square(position: Any) -> Any:
    """Compute the squarer: the sum of the partial products of a position in columns 19 and above.

    Lower columns are not built, rounded or compensated. Bit i times itself is in column 2i; the two equal products of
    bits i and j are one bit in column i + j + 1. The result is in units of 2**19.

    Examples
    --------
    >>> truncated_square(np.array([1 << 9, 1 << 10, 0x1FFFF]))
    array([    0,     2, 32759])
    """
    total = position & 0
    for i in range(SQUARE_CUT // 2 + 1, POSITION_BITS):
        # The bits below bit i whose product with it is in a column that is built, and bit i itself.
        products = ((position & (1 << i) - 1) >> SQUARE_CUT - 1 - i) + (1 << 2 * i - SQUARE_CUT)
        total = total + products * (position >> i & 1)
    return total


@cache
def squares() -> NDArray[np.int64]:
    """Tabulate `truncated_square` of all 2**17 positions; a square of a position in [0, 1) has 15 fraction bits.

    Examples
    --------
    >>> squares()[[1 << 9, 1 << 10, 0x1FFFF]].tolist(), (0x1FFFF**2) >> 19
    ([0, 2, 32759], 32767)
    """
    table: NDArray[np.int64] = truncated_square(np.arange(1 << POSITION_BITS, dtype=np.int64))
    table.flags.writeable = False
    return table
