# SPDX-License-Identifier: MIT
"""The share of products with block scales that are exact except for one rounding, by input generator.

    python -m tools.exact_share [--count 256]

An element is exact where the unit cuts no bit: every term, shifted to the common exponent, keeps all of its bits. Then
D is the sum of the products and c in rational arithmetic, rounded once toward zero. The sum here is computed with
fractions, and takes nothing from the engines.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from wmma_emu.arithmetic import DotProduct, dot_product_of
from wmma_emu.arithmetic.reference import alignment_exponent, step_terms
from wmma_emu.formats import Format, decode, encode, format_of
from wmma_emu.formats.codec import Bits
from wmma_emu.instructions import lookup

__all__ = [
    "GENERATORS", "PRODUCTS", "Element", "elements", "exact_share", "exact_sum", "is_cut", "table", "toward_zero",
]  # fmt: skip

GENERATORS = ("narrow exponents", "one block far above", "cancelling pairs")

PRODUCTS = {
    **{
        f"kind::mxf8f6f4, {a} x {b}": f"m16n8k32.kind::mxf8f6f4.block_scale.f32.{a}.{b}.f32.ue8m0"
        for a, b in (("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e3m2", "e2m3"), ("e2m1", "e2m1"))
    },
    "kind::mxf4, 2X ue8m0": "m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
    "kind::mxf4nvf4, 4X ue8m0": "m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0",
    "kind::mxf4nvf4, 4X ue4m3": "m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
}
"""The lines of the table: instructions of sm_120. Those of `tcgen05.mma` compute the same."""


class Element(NamedTuple):
    """The terms of one element of D, as patterns."""

    a: list[int]
    b: list[int]
    c: int
    scale_a: list[int]
    scale_b: list[int]


def elements(product: DotProduct, generator: str, count: int, seed: int = 0) -> Iterator[Element]:
    """Draw the operands of elements of D from a generator.

    - narrow exponents: elements from 1/4 to 4 and zeros, scales within eight binades, c a number of quarters;
    - one block far above: the same, but one block 2**28 times as large as the others (less with ue4m3, whose range is
      no larger); where a block is all of the instruction, it alone, above c;
    - cancelling pairs: any elements; products of opposite signs, neighbours in k, except three of them; c is small.
    """
    if product.scale is None:
        raise ValueError("a product without block scales has no such generators")
    rng = np.random.default_rng([seed, GENERATORS.index(generator)])
    for _ in range(count):
        largest = np.inf if generator == "cancelling pairs" else 4.0
        a, b = (_elements(fmt, product.k, largest, rng) for fmt in (product.a, product.b))
        exponents = rng.integers(-4, 5, (2, product.scale_vec))
        c = rng.integers(-99, 100) / 4
        if generator == "one block far above":
            exponents -= 5
            exponents[:, rng.integers(product.scale_vec)] += 14
        if generator == "cancelling pairs":
            kept = rng.choice(product.k // 2, 3, replace=False) * 2
            b[0::2], a[1::2] = b[1::2], a[0::2]
            b[1::2] ^= 1 << (product.b.bits - 1)
            a[kept] = 0
            c *= 2.0**-8
        scales = [_scale(product.scale, row, rng).tolist() for row in exponents]
        bits = int(encode(np.array(c), product.c))
        yield Element(a.tolist(), b.tolist(), bits, *scales)


def _elements(fmt: Format, count: int, largest: float, rng: np.random.Generator) -> Bits:
    """Return elements, and those not zero between ``largest`` and its inverse."""
    codes = np.arange(1 << fmt.bits, dtype=np.uint8)
    size = np.abs(decode(codes, fmt))
    taken: Bits = codes[np.isfinite(size) & (size <= largest) & ((size >= 1 / largest) | (size == 0))]
    return rng.choice(taken, count)


def _scale(fmt: Format, exponents: np.ndarray, rng: np.random.Generator) -> Bits:
    """Return scales of these exponents with random significands."""
    clipped = np.clip(exponents, fmt.emin, fmt.emax - 1) + fmt.bias
    significands = rng.integers(0, 1 << fmt.fraction_bits, clipped.shape)
    return (clipped << fmt.fraction_bits | significands).astype(np.uint8)


def exact_sum(product: DotProduct, element: Element) -> Fraction:
    """Return the products under their scales, and c, in rational arithmetic."""
    a, b = _fractions(element.a, product.a), _fractions(element.b, product.b)
    x, y = _fractions(element.scale_a, product.scale), _fractions(element.scale_b, product.scale)
    block = product.scale_block
    total = sum((a[k] * b[k] * x[k // block] * y[k // block] for k in range(product.k)), Fraction(0))
    return total + _fractions([element.c], product.c)[0]


def _fractions(bits: Sequence[int], fmt: Format | None) -> list[Fraction]:
    target = format_of("f32") if fmt is None else fmt
    return [Fraction(float(x)) for x in decode(np.array(bits, target.storage), target)]


def is_cut(product: DotProduct, element: Element) -> bool:
    """Return whether the unit cuts a bit of any term."""
    block = product.scale_block
    scales = ([x[k // block] for k in range(product.k)] for x in (element.scale_a, element.scale_b))
    terms = step_terms(product, element.a, element.b, element.c, *scales)
    last = alignment_exponent(product.model, terms) - product.model.fraction_bits
    lost = ((t.significand, last - t.exponent + t.fraction_bits) for t in terms if t.kind == "finite")
    return any(places > 0 and significand & ((1 << places) - 1) for significand, places in lost)


def toward_zero(value: Fraction) -> int:
    """Return the float32 pattern of a number, rounded toward zero; a zero is +0, and numbers that are too large are
    infinity.

    Examples
    --------
    >>> hex(toward_zero(Fraction(1, 3))), hex(toward_zero(-Fraction(2) ** -149 * 3 / 2)), hex(toward_zero(-Fraction(0)))
    ('0x3eaaaaaa', '0x80000001', '0x0')
    """
    magnitude = abs(value)
    exponent = -126
    while magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    kept = int(magnitude / Fraction(2) ** (exponent - 23))
    bits = kept if exponent == -126 else ((exponent + 126) << 23) + kept
    sign = 1 << 31 if value < 0 and bits else 0
    return sign | min(bits, 0x7F80_0000)


def exact_share(product: DotProduct, generator: str, count: int = 256, seed: int = 0) -> Fraction:
    """Return the share of a generator's elements of which no bit is cut."""
    return Fraction(sum(not is_cut(product, x) for x in elements(product, generator, count, seed)), count)


def table(count: int = 256) -> Iterator[tuple[str, list[float]]]:
    """Return the shares of each kind, by generator."""
    for name, mnemonic in PRODUCTS.items():
        product = dot_product_of(lookup(mnemonic, "sm_120"), "sm_120")
        yield name, [float(exact_share(product, generator, count)) for generator in GENERATORS]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=256, help="elements of each generator")
    count = parser.parse_args(arguments).count
    if count < 1:
        parser.error(f"--count is at least 1, not {count}")
    print(f"{f'exact of {count}':<32}" + "".join(f"{generator:>22}" for generator in GENERATORS))
    for name, shares in table(count):
        print(f"{name:<32}" + "".join(f"{share:>22.3f}" for share in shares))
    return 0


if __name__ == "__main__":
    sys.exit(main())
