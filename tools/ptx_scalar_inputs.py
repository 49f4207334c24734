# SPDX-License-Identifier: MIT
"""Inputs that distinguish rules of lane arithmetic, for each type and each position among an instruction's sources.

Patterns of floats are drawn together for the first three places: near ties of sums, products and fused multiply-adds,
cancellation, results at the smallest normal number and at the largest. All randomness is a SHAKE-128 stream. A change
that changes a bit needs a new `VERSION`.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.recording_inputs import random_words
from wmma_emu.formats import Format, format_of

__all__ = ["COUNT", "VERSION", "inputs_of"]

Array = NDArray[Any]

VERSION = 1

COUNT = 10240
"""Inputs of each instruction."""

_PLACES = 4


@cache
def inputs_of(kind: str, place: int) -> Array:
    """Return patterns of a PTX type for a source: an array of `COUNT`, of its width; bool of "pred" and "cc".

    Examples
    --------
    >>> inputs_of("f16x2", 0).dtype, len(inputs_of("pred", 2))
    (dtype('uint32'), 10240)
    """
    if kind in ("pred", "cc"):
        return random_words(f"scalar {kind} {place}", COUNT) % np.uint32(2) == 1
    if kind in ("f16x2", "bf16x2"):
        low, high = (_floats(kind.removesuffix("x2"), i)[place % 3].astype(np.uint32) for i in range(2))
        return high << np.uint32(16) | low
    if "f" in kind:
        return _floats(kind, 0)[place % 3]
    return _integers(32 if kind.endswith("x2") else int(kind[1:]), place)


def _words(label: str, count: int, bits: int) -> Array:
    if bits == 64:
        low, high = (random_words(f"scalar {label} {part}", count).astype(np.uint64) for part in "lh")
        return high << np.uint64(32) | low
    return random_words(f"scalar {label}", count).astype(f"u{bits // 8}")


def _integers(bits: int, place: int) -> Array:
    """Return random, boundary and small integers; for later sources also integers at and next to the first source's."""
    dtype = np.dtype(f"u{bits // 8}")
    label = f"b{bits} {place}"
    every = (1 << bits) - 1
    edges = [0, 1, 2, 3, every, every - 1, every >> 1, (every >> 1) + 1, (every >> 1) + 2, every // 3, every // 3 * 2]
    edges += [1 << i for i in range(0, bits, 3)] + [(1 << i) - 1 for i in range(2, bits, 5)]
    chosen = np.array(edges, dtype)[_words(f"{label} edges", COUNT, 32) % np.uint32(len(edges))]
    small = (_words(f"{label} small", COUNT, 32) % np.uint32(min(bits + 8, 127))).astype(dtype)
    signs = np.where(_words(f"{label} signs", COUNT, 32) % np.uint32(4) == 0, -small, small)
    result = _words(label, COUNT, bits)
    share = _words(f"{label} share", COUNT, 32) % np.uint32(100)
    # The first source is mostly of all kinds; the others hold shifts, positions and lengths too.
    few, many = (10, 30) if place == 0 else (45, 65)
    result = np.where(share < few, signs, result)
    result = np.where((share >= few) & (share < many), chosen, result)
    if place:
        beside = (
            _integers(bits, 0) + (_words(f"{label} beside", COUNT, 32) % np.uint32(3)).astype(dtype) - dtype.type(1)
        )
        result = np.where(share >= 88, beside, result)
    # The bits above an 8-bit position or length must be ignored.
    return np.where((share < 8) & (place > 0), result + dtype.type(256 % (every + 1)), result)


@cache
def _floats(kind: str, which: int) -> tuple[Array, Array, Array]:
    fmt = format_of(kind)
    drawn = [draw(_Draw(fmt, f"{kind} {which} {name}", count)) for name, (count, draw) in _FAMILIES.items()]
    a, b, c = (np.concatenate(x).astype(fmt.storage) for x in zip(*drawn, strict=True))
    if which:
        a, b, c = (np.roll(x, 3 * COUNT // 7) for x in (a, b, c))
    return a, b, c


Three = tuple[Array, Array, Array]


class _Draw:
    """Draws numbers of a format: ``label`` and the name of a part choose the stream."""

    def __init__(self, fmt: Format, label: str, count: int) -> None:
        self.fmt, self.label, self.count = fmt, label, count
        self.bits, self.fraction, self.bias = fmt.bits, fmt.fraction_bits, fmt.bias
        self.top = (1 << (self.bits - 1 - self.fraction)) - 1
        self.sign = np.uint64(1 << (self.bits - 1))

    def below(self, part: str, limit: int) -> Array:
        return _words(f"{self.label} {part}", self.count, 32) % np.uint32(limit)

    def random(self, part: str) -> Array:
        return _words(f"{self.label} {part}", self.count, self.bits).astype(np.uint64)

    def number(self, part: str, exponent: Array | int, low_zeros: int = 0) -> Array:
        """Return random sign and fraction under an exponent field."""
        word = self.random(part)
        significand = word & np.uint64((1 << self.fraction) - 1)
        significand = significand >> np.uint64(low_zeros) << np.uint64(low_zeros)
        field = np.asarray(exponent).astype(np.uint64) << np.uint64(self.fraction)
        return (word & self.sign) | field | significand

    def exponents(self, part: str, low: int, high: int) -> Array:
        return low + self.below(part, high - low + 1).astype(np.int64)

    def numbers(self, low: int, high: int) -> Three:
        """Return three numbers whose exponent fields are within bounds."""
        a, b, c = (self.number(x, self.exponents(f"{x}e", low, high)) for x in "abc")
        return a, b, c


def _specials_beside_numbers(draw: _Draw) -> Three:
    table = np.array(_specials(draw.fmt), np.uint64)
    a, b, c = (table[draw.below(x, len(table))] for x in "abc")
    # Some together with an ordinary number.
    plain = draw.number("d", draw.exponents("de", draw.bias - 3, draw.bias + 3))
    return a, np.where(draw.random("e") % np.uint64(4) == 0, plain, b), c


def _random(draw: _Draw) -> Three:
    return draw.random("a"), draw.random("b"), draw.random("c")


def _close(draw: _Draw) -> Three:
    spread = min(draw.fraction + 3, draw.bias - 2)
    return draw.numbers(draw.bias - spread, draw.bias + spread)


def _ties_of_sums(draw: _Draw) -> Three:
    # b is half a unit in the last place of a, or of the next digit, and slightly more or less.
    fraction, top = draw.fraction, draw.top
    exponent = draw.exponents("e", fraction + 4 if top > fraction + 6 else top - 4, top - 2)
    b = exponent - fraction - 1 + (draw.random("f") % np.uint64(3)).astype(np.int64) - 1
    offset = (draw.random("g") % np.uint64(3)).astype(np.int64) - 1
    word = (np.maximum(b, 0) << fraction) + offset
    word = np.maximum(word, 0).astype(np.uint64) | (draw.random("h") & draw.sign)
    return draw.number("a", exponent), word, draw.number("c", np.maximum(exponent - 2 * fraction - 3, 0))


def _cancelled(draw: _Draw) -> Three:
    a, b = (draw.number(x, draw.exponents(f"{x}e", draw.bias - 2, draw.bias + 2)) for x in "ab")
    product = _product(a, b, draw.fmt).astype(np.int64) + (draw.random("f") % np.uint64(3)).astype(np.int64) - 1
    return a, b, product.astype(np.uint64) ^ draw.sign


def _ties_of_products(draw: _Draw) -> Three:
    # Factors of few bits, whose product ends in one bit more than fits, and an addend far below.
    zeros = draw.fraction // 2
    a, b = (draw.number(x, draw.exponents(f"{x}e", draw.bias - 1, draw.bias + 1), zeros) for x in "ab")
    a |= np.uint64(1 << zeros)
    b |= np.uint64(1 << zeros)
    return a, b, draw.number("c", draw.exponents("ce", 0, max(draw.bias - 2 * draw.fraction, 1)))


def _tiny(draw: _Draw) -> Three:
    field = draw.exponents("ae", 1, draw.top - 2)
    sum_of_fields = draw.exponents("s", draw.bias - draw.fraction - 4, draw.bias + 2)
    other = np.clip(sum_of_fields - field, 0, draw.top - 1)
    return draw.number("a", field), draw.number("b", other), draw.number("c", draw.exponents("ce", 0, 2))


def _smallest(draw: _Draw) -> Three:
    # Products next to the smallest normal number: (1 + k u) * (1 - j u) at that exponent.
    field = draw.exponents("ae", 2, draw.bias)
    up = (draw.random("f") % np.uint64(5)).astype(np.int64)
    down = (draw.random("g") % np.uint64(8)).astype(np.int64)
    a = (field << draw.fraction) + up
    b = ((draw.bias + 1 - field) << draw.fraction) - down
    h, i, j = (draw.random(x) & draw.sign for x in "hij")
    return a.astype(np.uint64) | h, b.astype(np.uint64) | i, (draw.random("k") % np.uint64(3)) | j


def _subnormal(draw: _Draw) -> Three:
    return draw.numbers(0, 1)


def _huge(draw: _Draw) -> Three:
    a, b, c = draw.numbers(draw.top - 2, draw.top - 1)
    one = draw.number("o", draw.exponents("oe", draw.bias - 1, draw.bias))
    return a, np.where(draw.random("p") % np.uint64(2) == 0, one, b), c


_FAMILIES: dict[str, tuple[int, Callable[[_Draw], Three]]] = {
    "specials": (1700, _specials_beside_numbers), "random": (2000, _random), "close": (1500, _close),
    "ties of sums": (1000, _ties_of_sums), "cancelled": (1000, _cancelled),
    "ties of products": (1000, _ties_of_products), "tiny": (1000, _tiny), "smallest": (400, _smallest),
    "subnormal": (300, _subnormal), "huge": (340, _huge),
}  # fmt: skip
"""The number of inputs of each kind, and the function that draws them."""


def _product(a: Array, b: Array, fmt: Format) -> Array:
    """Return some product of two numbers, near enough."""
    with np.errstate(all="ignore"):
        match fmt.name:
            case "f64":
                return (a.view(np.float64) * b.view(np.float64)).view(np.uint64)
            case "f16":
                x, y = (z.astype(np.uint16).view(np.float16).astype(np.float32) for z in (a, b))
                return (x * y).astype(np.float16).view(np.uint16).astype(np.uint64)
            case _:
                shift = np.uint64(32 - fmt.bits)
                x, y = ((z << shift).astype(np.uint32).view(np.float32) for z in (a, b))
                return (x * y).view(np.uint32).astype(np.uint64) >> shift


def _specials(fmt: Format) -> list[int]:
    fraction, sign = fmt.fraction_bits, fmt.sign_mask
    infinity, one = fmt.infinity, fmt.bias << fmt.fraction_bits
    smallest = 1 << fraction
    plus = [
        0, 1, 2, smallest >> 1, smallest - 1, smallest, smallest + 1, one, one - 1, one + 1, one + smallest,
        one - smallest, one + (smallest >> 1), infinity - 1, infinity, infinity + 1, infinity + (smallest >> 1),
        infinity + (smallest >> 1) + 1, infinity + smallest - 1,
    ]  # fmt: skip
    if fmt.bits == 16:
        plus.append(0x7FF7)  # the NaN that fma.oob looks for
    return [word | s for word in plus for s in (0, sign)]
