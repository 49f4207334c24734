# SPDX-License-Identifier: MIT
"""Every element of a product twice: exactly, from the operands alone.

And by the reference, with a ledger of its losses.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.applications.error_analysis.bounds import largest_exponents
from wmma_emu.applications.error_analysis.exact import Scaled, as_fraction, integer_products, numbers_of
from wmma_emu.applications.error_analysis.ledger import KINDS, Kind, Ledger
from wmma_emu.applications.error_analysis.operands import BlockScales, Multiplication
from wmma_emu.display import progress_bar
from wmma_emu.formats import Format, unpack
from wmma_emu.formats.codec import Bits
from wmma_emu.scalar import convert

_NOTHING = -(1 << 20)
"""A value for the exponent of zero."""


class Oracle:
    """The exact products and sums of a batch, and the sizes for the bound; arrays (batch, M, N)."""

    def __init__(self, m: Multiplication) -> None:
        a, b, c = numbers_of(m.a, m.product.a), numbers_of(m.b, m.product.b), numbers_of(m.c, m.product.c)
        self.is_special = c.is_special | a.is_special.any(-1, keepdims=True) | b.is_special.any(-2, keepdims=True)
        if m.scales is not None:
            a, b = _with_scales(m, m.scales, a, 0), _with_scales(m, m.scales, b, 1)
            nan = (numbers_of(x, m.scales.format).is_special for x in m.scales[:2])
            for special, axis in zip(nan, (-1, -2), strict=True):
                self.is_special = self.is_special | special.any(axis, keepdims=True)
        exponent = a.exponent + b.exponent
        self.exponent = min(exponent, c.exponent)
        up = 1 << (exponent - self.exponent)
        self.products = integer_products(a.integers, b.integers) * up
        self._sizes = integer_products(abs(a.integers), abs(b.integers)) * up
        c_integers = c.at(self.exponent)
        self.total, self._c = self.products + c_integers, abs(c_integers)
        left, right = (
            _exponents(bits, source, target)
            for bits, source, target in zip(
                (m.a, m.b), (m.product.a, m.product.b), m.product.operand_formats, strict=True
            )
        )
        if m.scales is not None:
            left, right = (_scaled_exponents(m, m.scales, x, side) for side, x in enumerate((left, right)))
        self._exponents = np.stack(
            [largest_exponents(x, y, _NOTHING) for x, y in zip(left, right, strict=True)]
            or [np.empty(m.c.shape[1:], np.int64)]
        )

    def sizes(self, where: Any) -> tuple[Fraction, Fraction, int | None]:
        """Return ``|c|``, ``sum |a||b|`` and the largest exponent of a product."""
        exponent = int(self._exponents[where])
        return (
            as_fraction(self._c[where], self.exponent),
            as_fraction(self._sizes[where], self.exponent),
            exponent if exponent > _NOTHING // 2 else None,
        )


def _spread(m: Multiplication, values: NDArray[Any], block: int, side: int) -> NDArray[Any]:
    """Return one value for each element of A, or of B, from one for each block."""
    k = m.a.shape[-1]
    repeated = np.repeat(values, block, axis=-1 - side)
    return repeated[..., :k] if side == 0 else repeated[:, :k]


def _with_scales(m: Multiplication, scales: BlockScales, numbers: Scaled, side: int) -> Scaled:
    found = numbers_of((scales.a, scales.b)[side], scales.format)
    integers: NDArray[np.object_] = numbers.integers * _spread(m, found.integers, scales.block, side)
    return Scaled(integers, numbers.exponent + found.exponent, numbers.is_special)


def _scaled_exponents(
    m: Multiplication, scales: BlockScales, exponents: NDArray[np.int64], side: int
) -> NDArray[np.int64]:  # fmt: skip
    """Return the exponents that align terms: of elements and scales together, or of the scales of a group."""
    u = unpack((scales.a, scales.b)[side], scales.format)
    of_scales = _spread(m, np.where(u.significand == 0, _NOTHING, u.exponent), scales.block, side)
    if m.product.model.scaling == "exponents":
        result: NDArray[np.int64] = exponents + of_scales
        return result
    if m.product.model.zero_groups == "aligned":
        return of_scales
    return np.where(exponents <= _NOTHING // 2, _NOTHING, of_scales)


def _exponents(bits: Bits, source: Format, target: Format) -> NDArray[np.int64]:
    """Return exponents of operands as the datapath reads them; zeros and specials have exponents below all others."""
    u = unpack(bits if source == target else convert(bits, source, target), target)
    return np.where(u.significand == 0, _NOTHING, u.exponent)


@dataclass(slots=True)
class Computation:
    """The contents of the ledger for each element: arrays (batch, M, N)."""

    bits: Bits
    lost: dict[Kind, NDArray[np.object_]]
    products: NDArray[np.object_]
    overflow: NDArray[np.bool_]
    low: int


def compute(m: Multiplication) -> Computation:
    """Compute every element, and record its losses."""
    ledger, shape = Ledger(m.product), m.c.shape
    lost: dict[Kind, NDArray[np.object_]] = {kind: np.full(shape, 0, np.object_) for kind in KINDS}
    work = Computation(np.zeros(shape, m.product.d.storage), lost, np.full(shape, 0, np.object_),
                 np.zeros(shape, np.bool_), ledger.low)  # fmt: skip
    with progress_bar(f"error_report {' x '.join(map(str, m.shape))} x {m.a.shape[-1]}") as progress:
        for batch in range(shape[0]):
            start = m.c[batch].tolist()
            for row, (a, columns) in enumerate(m.pairs(batch)):
                for column, b in enumerate(columns):
                    here = batch, row, column
                    work.bits[here] = ledger.run(a, b, start[row][column], *m.scales_of(*here))
                    work.overflow[here] = ledger.overflow
                    work.products[here] = ledger.products
                    for kind, amount in ledger.lost.items():
                        lost[kind][here] = amount
                if progress is not None:
                    progress((batch * shape[1] + row + 1) / (shape[0] * shape[1]))
    work.overflow |= numbers_of(work.bits, m.product.d).is_special
    return work
