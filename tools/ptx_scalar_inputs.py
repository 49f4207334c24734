# SPDX-License-Identifier: MIT
"""Inputs that tell rules of lane arithmetic apart: for each type and each place among an instruction's sources.

Patterns of floats are drawn together for the first three places: near ties of sums, products and fused multiply-adds,
cancellation, results at the smallest normal number and at the largest. All randomness is a SHAKE-128 stream. A change
that changes a bit needs a new `VERSION`.
"""

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
    """Patterns of a PTX type for a source: an array of `COUNT`, of its width; bool of "pred" and "cc".

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
    """Random, boundary and small integers; in later places also ones at and beside those of the first place."""
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
    # What a position or a length of 8 bits must ignore stands above them.
    return np.where((share < 8) & (place > 0), result + dtype.type(256 % (every + 1)), result)


@cache
def _floats(kind: str, which: int) -> tuple[Array, Array, Array]:
    fmt = format_of(kind)
    makers = {
        "specials": 1700, "random": 2000, "close": 1500, "ties of sums": 1000, "cancelled": 1000,
        "ties of products": 1000, "tiny": 1000, "smallest": 400, "subnormal": 300, "huge": 340,
    }  # fmt: skip
    drawn = [_family(fmt, f"{kind} {which} {name}", name, count) for name, count in makers.items()]
    a, b, c = (np.concatenate(x).astype(fmt.storage) for x in zip(*drawn, strict=True))
    if which:
        a, b, c = (np.roll(x, 3 * COUNT // 7) for x in (a, b, c))
    return a, b, c


def _family(fmt: Format, label: str, name: str, count: int) -> tuple[Array, Array, Array]:
    bits, fraction, bias = fmt.bits, fmt.fraction_bits, fmt.bias
    top = (1 << (bits - 1 - fraction)) - 1

    def random(part: str) -> Array:
        return _words(f"{label} {part}", count, bits).astype(np.uint64)

    def number(part: str, exponent: Array | int, low_zeros: int = 0) -> Array:
        """Random sign and fraction under an exponent field."""
        word = random(part)
        significand = word & np.uint64((1 << fraction) - 1)
        significand = significand >> np.uint64(low_zeros) << np.uint64(low_zeros)
        field = np.asarray(exponent).astype(np.uint64) << np.uint64(fraction)
        return (word & np.uint64(1 << (bits - 1))) | field | significand

    def exponents(part: str, low: int, high: int) -> Array:
        return low + (_words(f"{label} {part}", count, 32) % np.uint32(high - low + 1)).astype(np.int64)

    three = "abc"
    match name:
        case "specials":
            table = np.array(_specials(fmt), np.uint64)
            picked = tuple(table[_words(f"{label} {x}", count, 32) % np.uint32(len(table))] for x in three)
            # Some beside a number without anything special.
            plain = number("d", exponents("de", bias - 3, bias + 3))
            return picked[0], np.where(random("e") % np.uint64(4) == 0, plain, picked[1]), picked[2]
        case "random":
            return random("a"), random("b"), random("c")
        case "close":
            spread = min(fraction + 3, bias - 2)
            fields = [number(x, exponents(f"{x}e", bias - spread, bias + spread)) for x in three]
            return fields[0], fields[1], fields[2]
        case "ties of sums":
            # b is half a unit of the last place of a, or of the place above, and a little more or less.
            exponent = exponents("e", fraction + 4, top - 2) if top > fraction + 6 else exponents("e", top - 4, top - 2)
            b = exponent - fraction - 1 + (random("f") % np.uint64(3)).astype(np.int64) - 1
            offset = (random("g") % np.uint64(3)).astype(np.int64) - 1
            word = (np.maximum(b, 0) << fraction) + offset
            word = np.maximum(word, 0).astype(np.uint64) | (random("h") & np.uint64(1 << (bits - 1)))
            return number("a", exponent), word, number("c", np.maximum(exponent - 2 * fraction - 3, 0))
        case "cancelled":
            a, b = number("a", exponents("ae", bias - 2, bias + 2)), number("b", exponents("be", bias - 2, bias + 2))
            product = _product(a, b, fmt).astype(np.int64) + (random("f") % np.uint64(3)).astype(np.int64) - 1
            return a, b, product.astype(np.uint64) ^ np.uint64(1 << (bits - 1))
        case "ties of products":
            # Factors of few bits, whose product ends in one bit more than fits, and an addend far below.
            zeros = fraction // 2
            a, b = (number(x, exponents(f"{x}e", bias - 1, bias + 1), zeros) for x in "ab")
            a |= np.uint64(1 << zeros)
            b |= np.uint64(1 << zeros)
            return a, b, number("c", exponents("ce", 0, max(bias - 2 * fraction, 1)))
        case "tiny":
            field = exponents("ae", 1, top - 2)
            sum_of_fields = exponents("s", bias - fraction - 4, bias + 2)
            other = np.clip(sum_of_fields - field, 0, top - 1)
            return number("a", field), number("b", other), number("c", exponents("ce", 0, 2))
        case "smallest":
            # Products beside the smallest normal number: (1 + k u) * (1 - j u) at that exponent.
            field = exponents("ae", 2, bias)
            up = (random("f") % np.uint64(5)).astype(np.int64)
            down = (random("g") % np.uint64(8)).astype(np.int64)
            a = (field << fraction) + up
            b = ((bias + 1 - field) << fraction) - down
            signs = [random(x) & np.uint64(1 << (bits - 1)) for x in "hij"]
            return (
                a.astype(np.uint64) | signs[0],
                b.astype(np.uint64) | signs[1],
                (random("k") % np.uint64(3)) | signs[2],
            )
        case "subnormal":
            return tuple(number(x, exponents(f"{x}e", 0, 1)) for x in three)  # type: ignore[return-value]
        case _:
            fields = [number(x, exponents(f"{x}e", top - 2, top - 1)) for x in three]
            one = number("o", exponents("oe", bias - 1, bias))
            return fields[0], np.where(random("p") % np.uint64(2) == 0, one, fields[1]), fields[2]


def _product(a: Array, b: Array, fmt: Format) -> Array:
    """Some product of two numbers, near enough."""
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
