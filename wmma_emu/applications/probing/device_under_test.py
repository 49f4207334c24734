# SPDX-License-Identifier: MIT
"""The callable under test, queried for single dot products."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, FragmentMismatchError, ShapeError, UnsupportedInstructionError, shorten
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.generators.operands import row_of
from wmma_emu.instructions import Instruction
from wmma_emu.warp import BoundInstruction, BoundMatrixInstruction

Function = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], Any]


class Query(NamedTuple):
    """One dot product to query: patterns of a and b at some positions of k, +0 elsewhere, and c."""

    products: dict[int, tuple[int, int]]
    c: int = 0


class DeviceUnderTest:
    """A function of matrices ``f(a, b, c) -> d``, used as a function of dot products of ``terms`` products.

    It is called as `wmma_emu.testing.examine` documents; ``calls`` counts the calls, ``queried`` the dot products.
    """

    def __init__(self, f: Function, like: str | Instruction | BoundInstruction) -> None:
        if not callable(f):
            raise ArgumentError(f"f={shorten(f)} is not callable; probe takes f(a, b, c) -> d on matrices")
        self.f = f
        self.instruction = row_of(like)
        self.name = _name_of(f)
        self.a, self.b, self.c, self.d = (self.instruction.format(x) for x in ("a", "b", "c", "d"))
        if self.instruction.is_block_scaled or self.instruction.is_tensor:
            reads = "block scales" if self.instruction.is_block_scaled else "tensor memory"
            raise UnsupportedInstructionError(
                f"{self.instruction.mnemonic} reads {reads}, but probe calls f(a, b, c) without them; compare with "
                "wmma_emu.testing.assert_bits_equal on strategies.operands and strategies.scales"
            )
        if not self.a.is_float:
            raise UnsupportedInstructionError(
                f"{self.instruction.mnemonic} multiplies {self.a}: integer sums are exact, so there is nothing to "
                "determine; compare with wmma_emu.testing.assert_bits_equal on strategies.operands"
            )
        self.terms = self.instruction.terms
        self.positions = _positions(self.instruction)
        self.lines = min(self.instruction.m, self.instruction.n)
        self.calls = self.queried = 0

    def multiply(self, a: Bits, b: Bits, c: Bits) -> Bits:
        """Call f on whole matrices of patterns, A as f takes it; return the patterns of D."""
        self.calls += 1
        with np.errstate(all="ignore"):  # infinities, NaN and overflow are intended
            result = self.f(from_bits(a, self.a), from_bits(b, self.b), from_bits(c, self.c))
        wanted = (self.instruction.m, self.instruction.n)
        try:
            d = to_bits(result, self.d, "D")
        except FragmentMismatchError as error:
            raise ArgumentError(f"f, called like {self.instruction.mnemonic}, did not return D: {error}") from None
        if d.shape != wanted:
            raise ShapeError(
                f"f returned shape {d.shape} for {self.instruction.mnemonic}; D of A ({self.instruction.m}, "
                f"{self.instruction.k}) and B ({self.instruction.k}, {self.instruction.n}) is {wanted}"
            )
        return d

    def query(self, cases: Iterable[Query]) -> list[int]:
        """Return the patterns that f gives for dot products, several in each call, on the diagonal of D."""
        cases = list(cases)
        results: list[int] = []
        for start in range(0, len(cases), self.lines):
            some = cases[start : start + self.lines]
            d = self.multiply(*self._matrices(some))
            results += [int(d[i, i]) for i in range(len(some))]
        self.queried += len(cases)
        return results

    def _matrices(self, cases: Sequence[Query]) -> tuple[Bits, Bits, Bits]:
        entry = self.instruction
        a = np.zeros((entry.m, entry.k), self.a.storage)
        b = np.zeros((entry.k, entry.n), self.b.storage)
        c = np.zeros((entry.m, entry.n), self.c.storage)
        for i, case in enumerate(cases):
            for position, (x, y) in case.products.items():
                a[i, self.positions[position]] = x
                b[self.positions[position], i] = y
            c[i, i] = case.c
        return a, b, c

    def operands(self, cases: Sequence[Query]) -> tuple[Bits, Bits, Bits]:
        """Return patterns of the dot products for an engine: (cases, 1, terms), (cases, terms, 1), (cases, 1, 1)."""
        a = np.zeros((len(cases), 1, self.terms), self.a.storage)
        b = np.zeros((len(cases), self.terms, 1), self.b.storage)
        for i, case in enumerate(cases):
            for position, (x, y) in case.products.items():
                a[i, 0, position], b[i, position, 0] = x, y
        return a, b, np.array([case.c for case in cases], self.c.storage)[:, None, None]


def _name_of(f: object) -> str:
    if isinstance(f, partial):
        return _name_of(f.func)
    if isinstance(f, BoundMatrixInstruction):
        return repr(f)
    return str(getattr(f, "__qualname__", type(f).__qualname__))


def _positions(instruction: Instruction) -> tuple[int, ...]:
    """Return the k of each product. A sparse A has the first two of every four, or the first of two."""
    if not instruction.is_sparse:
        return tuple(range(instruction.k))
    if instruction.format("a").bits == 32:
        return tuple(range(0, instruction.k, 2))
    return tuple(k for k in range(instruction.k) if k % 4 < 2)
