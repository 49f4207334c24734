# SPDX-License-Identifier: MIT
"""Elements of every float model of the table, without infinities and NaN; and what is exactly true of them."""

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from tests.arithmetic.helpers import adversarial_operands, bits_of, distinct_products
from wmma_emu.arithmetic import DotProduct, reference
from wmma_emu.formats import Format
from wmma_emu.formats.dtypes import from_bits
from wmma_emu.formats.reference import round_pack, unpack
from wmma_emu.scalar import reference as scalar
from wmma_emu.testing import exact_dot

PRODUCTS = {name: product for name, product in distinct_products().items() if product.a.is_float}


class Element(NamedTuple):
    """One element: patterns of its row, its column and its c."""

    a: list[int]
    b: list[int]
    c: int


def adversarial_elements(name: str, seed: int, count: int = 2) -> Iterator[Element]:
    """Few elements of each input generator, without specials."""
    p = PRODUCTS[name]
    for a, b, c in adversarial_operands(name, seed):
        for i in range(count):
            tile, row, column = i % len(a), (5 * i) % a.shape[1], (3 * i + 1) % b.shape[2]
            element = Element(a[tile, row].tolist(), b[tile, :, column].tolist(), int(c[tile, row, column]))
            if all(unpack(x, f).kind in ("zero", "finite") for f, xs in zip_formats(p, element) for x in xs):
                yield element


def plain_elements(name: str, seed: int, count: int = 6) -> Iterator[Element]:
    """Elements of few bits, of which no unit loses any."""
    p = PRODUCTS[name]
    rng = np.random.default_rng(seed)
    for _ in range(count):
        a, b, c = (rng.choice([0.0, 0.5, 1.0, 1.5, 2.0], n) * rng.choice([-1, 1], n) for n in (p.k, p.k, 1))
        yield Element(*(bits_of(x.tolist(), f).tolist() for x, f in ((a, p.a), (b, p.b))), int(bits_of([c[0]], p.c)[0]))


def zip_formats(p: DotProduct, element: Element) -> tuple[tuple[Format, list[int]], ...]:
    return (p.a, element.a), (p.b, element.b), (p.c, [element.c])


def exactly(p: DotProduct, element: Element) -> Fraction:
    """The exact dot product, from patterns."""
    patterns = ((np.array(x, f.storage), f) for x, f in ((element.a, p.a), (element.b, p.b)))
    a, b = (from_bits(x, f) if f.bits == 4 else x for x, f in patterns)  # uint8 would be two of 4 bits
    return exact_dot(a, b, element.c, a_format=p.a, b_format=p.b, c_format=p.c)


def value_of(bits: int, fmt: Format) -> Fraction:
    u = unpack(bits, fmt)
    assert u.kind in ("zero", "finite")
    return (-1) ** u.sign * u.significand * Fraction(2) ** (u.exponent - fmt.fraction_bits)


def rounded(x: Fraction, fmt: Format, mode: str) -> int:
    """A number rounded once, as matrix units overflow."""
    return round_pack(int(x < 0), abs(x.numerator), 1 - x.denominator.bit_length(), fmt, mode, "infinity")


class Sizes(NamedTuple):
    """|c|, the sum of |a||b|, the largest exponent of a product that is not zero, the last place of any term."""

    c: Fraction
    products: Fraction
    exponent: int | None
    last_place: int


def sizes_of(p: DotProduct, element: Element) -> Sizes:
    formats = p.operand_formats
    a, b = (
        [scalar.convert(x, source, target) for x in xs]
        for xs, source, target in zip((element.a, element.b), (p.a, p.b), formats, strict=True)
    )
    terms = [reference.multiply(x, formats[0], y, formats[1]) for x, y in zip(a, b, strict=True)]
    values = [abs(value_of(x, formats[0]) * value_of(y, formats[1])) for x, y in zip(a, b, strict=True)]
    c = abs(value_of(element.c, p.c))
    places = [last_place(x) for x in (*values, c) if x]
    exponents = [t.exponent for t in terms if t.kind == "finite"]
    return Sizes(c, sum(values, Fraction(0)), max(exponents, default=None), min(places, default=0))


def last_place(x: Fraction) -> int:
    """The exponent of the last bit of a number that is not zero."""
    numerator = abs(x.numerator)
    return (numerator & -numerator).bit_length() - x.denominator.bit_length()
