# SPDX-License-Identifier: MIT
"""What block scales do to the products of one step: the specification, on Python integers.

A scale of A and a scale of B belong to every product. Either their exponents are added to that of the product, which is
then a term as any other; or the products that share scales are added up in groups, exactly, and each sum is multiplied
by both significands: a term that is aligned by the exponents of its scales, however large or small the sum is.
"""

from typing import NamedTuple

from wmma_emu.formats import Format
from wmma_emu.formats.reference import unpack

NO_EXPONENT = -(1 << 14)
"""Of a term whose scale is zero: it never is the largest."""


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
    """Multiply two scales exactly; the significand is not normalised, and zero only where a scale is.

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
    """Add the exponents of scales to that of a product; a NaN scale makes NaN of anything."""
    if scales.kind == "nan":
        return term._replace(kind="nan")
    return term._replace(exponent=term.exponent + scales.exponent)


def group_units(formats: tuple[Format, Format]) -> int:
    """Places behind the point of the unit in which a group is summed: that of the smallest product."""
    a, b = formats
    return a.fraction_bits + b.fraction_bits - a.emin - b.emin


def sum_of_group(products: list[Term], units: int) -> int:
    """Add finite products, exactly, in units of ``2**-units``."""
    return sum((-1) ** t.sign * t.significand << units + t.exponent - t.fraction_bits for t in products)


def group_term(products: list[Term], formats: tuple[Format, Format], scales: ScalePair) -> Term:
    """Sum the products of a group exactly, and multiply by both scales."""
    units = group_units(formats)
    total = sum_of_group(products, units)
    significand, fraction_bits = abs(total) * scales.significand, units + scales.fraction_bits
    kind = "nan" if scales.kind == "nan" else "finite" if significand else "zero"
    exponent = NO_EXPONENT if scales.kind == "zero" else scales.exponent
    return Term(kind, int(total < 0), exponent, significand, fraction_bits)
