# SPDX-License-Identifier: MIT
"""Block scales applied to the products of one step: the specification, on Python integers.

Every product has a scale of A and a scale of B. Either their exponents are added to the product's exponent, and the
product is then an ordinary term; or the products that share scales are added up exactly in groups, and each sum is
multiplied by both significands. Such a term is aligned by the exponents of its scales, whatever the size of the sum.
"""

from typing import NamedTuple

from wmma_emu.formats import Format
from wmma_emu.formats.reference import unpack

NO_EXPONENT = -(1 << 14)
"""The exponent of a term whose scale is zero, which is never the largest."""


class Term(NamedTuple):
    """One term of a sum: ``(-1)**sign * significand * 2**(exponent - fraction_bits)``, not normalised."""

    kind: str
    sign: int
    exponent: int
    significand: int
    fraction_bits: int

    @property
    def is_special(self) -> bool:
        """Whether the term is an infinity or NaN."""
        return self.kind in ("infinity", "nan")


class ScalePair(NamedTuple):
    """A scale of A times a scale of B: ``significand * 2**(exponent - fraction_bits)``, or zero, or NaN."""

    kind: str
    exponent: int
    significand: int
    fraction_bits: int


def scale_pair(x: int, y: int, fmt: Format) -> ScalePair:
    """Multiply two scales exactly; the significand is not normalised, and zero only if a scale is zero.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> scale_pair(0x7F, 0x81, format_of("ue8m0"))
    ScalePair(kind='finite', exponent=2, significand=1, fraction_bits=0)
    >>> scale_pair(0x3C, 0x01, format_of("ue4m3"))                        # 1.5 and the smallest subnormal, 2**-9
    ScalePair(kind='finite', exponent=-6, significand=12, fraction_bits=6)
    """
    p, q = unpack(x, fmt), unpack(y, fmt)
    kinds = {p.kind, q.kind}
    kind = next((kind for kind in ("nan", "zero") if kind in kinds), "finite")
    return ScalePair(kind, p.exponent + q.exponent, p.significand * q.significand, 2 * fmt.fraction_bits)


def scaled(term: Term, scales: ScalePair) -> Term:
    """Add the exponents of scales to the exponent of a product; a NaN scale always gives NaN."""
    if scales.kind == "nan":
        return term._replace(kind="nan")
    return term._replace(exponent=term.exponent + scales.exponent)


def group_units(formats: tuple[Format, Format]) -> int:
    """Return the fraction bits of a group's sum, whose unit is the smallest product."""
    a, b = formats
    return a.fraction_bits + b.fraction_bits - a.emin - b.emin


def sum_of_group(products: list[Term], units: int) -> int:
    """Add finite products exactly, in units of ``2**-units``."""
    return sum((-1) ** t.sign * t.significand << units + t.exponent - t.fraction_bits for t in products)


def group_term(products: list[Term], formats: tuple[Format, Format], scales: ScalePair) -> Term:
    """Sum the products of a group exactly and multiply by both scales."""
    units = group_units(formats)
    total = sum_of_group(products, units)
    significand, fraction_bits = abs(total) * scales.significand, units + scales.fraction_bits
    kind = "nan" if scales.kind == "nan" else "finite" if significand else "zero"
    exponent = NO_EXPONENT if scales.kind == "zero" else scales.exponent
    return Term(kind, int(total < 0), exponent, significand, fraction_bits)
