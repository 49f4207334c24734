# SPDX-License-Identifier: MIT
"""Inputs of the recordings, drawn again from a seed whenever they are needed, so that only outputs are stored.

All randomness is the SHAKE-128 stream of a readable key: the same bits on every machine and with every version of
NumPy. A change to anything here that changes a bit needs a new `VERSION`, and new recordings.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import Format, encode, format_of
from wmma_emu.instructions import Instruction
from wmma_emu.instructions.spec import Operand
from wmma_emu.layouts import layout_for

VERSION = 1

FLOAT_GENERATORS = ("normal", "wide", "special", "tiny", "cancel", "ties", "edges", "zeros", "zero_times_huge", "raw",
                  "extremes")  # fmt: skip
"""normal, wide: random significands, exponents in a narrow or a wide band. special: infinities, NaN with payloads,
zeros, subnormals, ones, largest numbers among ordinary ones. tiny: products and c at the smallest exponents, with
subnormal results. cancel: a few magnitudes of both signs. ties: terms at the last bits that are kept. edges: a tie of
the output, or a last place of the subnormals (even tiles), and single bits around the last that an aligned sum keeps.
zeros: mostly zeros of both signs; the even tiles have products that are all -0. zero_times_huge: zeros meet huge
numbers next to small terms. raw: uniform bits. extremes: the largest products, cancelling, with a large c; in odd
tiles products around the last place of the smallest numbers with a small subnormal c."""

INTEGER_GENERATORS = ("normal", "limits", "raw")
"""normal: any elements, a moderate c. limits: extreme elements, c near the ends of its range. raw: uniform bits."""

Patterns = NDArray[np.uint64]


def generators_of(instruction: Instruction) -> tuple[str, ...]:
    """Name the generators that an instruction is recorded with, in the order of the recording."""
    return FLOAT_GENERATORS if instruction.format("a").is_float else INTEGER_GENERATORS


def random_words(key: str, count: int) -> Patterns:
    """Return 64-bit words of the SHAKE-128 stream of a key."""
    stream = hashlib.shake_128(key.encode()).digest(8 * count)
    return np.frombuffer(stream, "<u8").astype(np.uint64)


def regenerate_inputs(instruction: Instruction, generator: str, seed: int, tiles: int) -> tuple[NDArray[Any], ...]:
    """Draw the registers of A, B and C of one generator: three arrays (registers, tiles, 32), uint64 for f64.

    Memory layouts and modifiers are not part of the key: instructions that differ in them alone get equal registers.
    Copies of an element (WMMA in f16) are drawn apart: only the ones that the chip reads count.
    """
    if generator not in (legal := generators_of(instruction)):
        raise ValueError(f"{instruction.mnemonic} has no input generator {generator!r}: {', '.join(legal)}")
    types = ".".join((instruction.d, instruction.a, instruction.b, instruction.c))
    name = f"wmma_emu inputs {VERSION}|{seed}|{generator}|{instruction.family}|{instruction.shape}|{types}"
    operands: tuple[Operand, ...] = ("a", "b", "c")
    return tuple(_registers(instruction, operand, generator, f"{name}|{operand}", tiles) for operand in operands)


def _registers(instruction: Instruction, operand: Operand, generator: str, key: str, tiles: int) -> NDArray[Any]:
    fmt, registers = instruction.format(operand), instruction.registers(operand)
    container = instruction.container(operand)
    width = max(fmt.bits, 32)
    shape = (registers, width // container.bits, tiles, 32)
    if generator == "edges":
        layout = layout_for(instruction, operand, instruction.archs[-1])
        matrices = _edges(_draw(instruction, operand, key, (tiles, *layout.matrix_shape), tile_axis=0))
        patterns = layout.gather(matrices).reshape(shape)
    else:
        draw = _draw(instruction, operand, key, shape, tile_axis=2)
        patterns = (_float if fmt.is_float else _integer)(draw, generator)
    word = np.zeros((registers, tiles, 32), np.uint64)
    for i in range(shape[1]):
        word |= patterns[:, i] << np.uint64(i * container.bits + container.shift)
    return word.astype(f"u{width // 8}")


def _draw(instruction: Instruction, operand: Operand, key: str, shape: tuple[int, ...], tile_axis: int) -> "_Draw":
    """Draw the random words of an operand's elements."""
    control, payload = random_words(key, 2 * math.prod(shape)).reshape(2, *shape)
    tile = np.indices(shape, sparse=True)[tile_axis]
    odd_tile = np.broadcast_to(tile % 2 == 1, shape)
    return _Draw(instruction.format(operand), instruction, operand, control, payload, odd_tile)


@dataclass(frozen=True)
class _Draw:
    """Two random words for each element, and ways to make patterns of them.

    The words' bits are dealt out once: control 0 is the sign, 1-16 a selector, 17-32 an exponent or a choice, 33 a
    second sign, 34-49 a second selector; payload is fractions.
    """

    fmt: Format
    instruction: Instruction
    operand: Operand
    control: Patterns
    payload: Patterns
    odd_tile: NDArray[np.bool_]

    def bits(self, low: int, count: int) -> Patterns:
        return (self.control >> np.uint64(low)) & np.uint64((1 << count) - 1)

    @property
    def sign(self) -> Patterns:
        return self.bits(0, 1) * np.uint64(self.fmt.sign_mask)

    @property
    def low_bits(self) -> Patterns:
        return (self.payload >> np.uint64(40)) & np.uint64((1 << self.fmt.ignored_low_bits) - 1)

    def between(self, low: int, high: int) -> NDArray[np.int64]:
        """Draw uniform integers, both ends included."""
        return low + ((self.bits(17, 16) * np.uint64(high - low + 1)) >> np.uint64(16)).astype(np.int64)

    def field(self, exponent: Patterns, fraction: Patterns) -> Patterns:
        """Put fields together, with a random sign and random bits where the chip does not look."""
        magnitude = (exponent << np.uint64(self.fmt.fraction_bits)) | fraction
        return (magnitude << np.uint64(self.fmt.ignored_low_bits)) | self.low_bits | self.sign

    @property
    def fraction(self) -> Patterns:
        return self.payload & np.uint64((1 << self.fmt.fraction_bits) - 1)

    def normal(self, low: int, high: int) -> Patterns:
        """Draw a number with a random significand and an exponent from a range, limited to the format's."""
        top = self.fmt.emax - (self.fmt.nan == "all_ones")
        low, high = max(low, self.fmt.emin), max(min(high, top), self.fmt.emin)
        exponent = self.between(min(low, high), high) + self.fmt.bias
        return self.field(exponent.astype(np.uint64), self.fraction)

    def subnormal(self) -> Patterns:
        return self.field(np.zeros_like(self.control), self.fraction)

    def zero(self) -> Patterns:
        return self.sign

    def nan(self) -> Patterns:
        """Draw NaN with a payload; of tf32's, half keep it where the chip does not look: infinities to it."""
        ones = np.full_like(self.control, (1 << self.fmt.exponent_bits) - 1)
        if self.fmt.nan == "all_ones":
            return self.field(ones, np.full_like(ones, (1 << self.fmt.fraction_bits) - 1))
        unseen = (self.bits(33, 1) == 1) & (self.fmt.ignored_low_bits > 0)
        fraction = np.where(unseen, np.uint64(0), np.maximum(self.fraction, np.uint64(1)))
        return self.field(ones, fraction) | unseen.astype(np.uint64)

    def infinity(self) -> Patterns:
        if not self.fmt.has_infinity:
            return self.largest()
        return np.uint64(self.fmt.infinity) | self.sign

    def largest(self) -> Patterns:
        return np.uint64(self.fmt.max_finite) | self.sign

    def one_of(self, values: Sequence[float]) -> Patterns:
        """Choose among values, with a random sign."""
        table = encode(np.array(values, np.float64), self.fmt).astype(np.uint64)
        return table[self.between(0, len(values) - 1)] | self.sign

    def mix(self, *parts: tuple[int, Patterns], rest: Patterns, selector: int = 1) -> Patterns:
        """Choose a part for each element with its weight in 65,536, else the rest."""
        chosen, start = self.bits(selector, 16).astype(np.int64), 0
        result = rest
        for weight, patterns in parts:
            result = np.where((chosen >= start) & (chosen < start + weight), patterns, result)
            start += weight
        return result


_ALL = 65536


def _float(draw: _Draw, generator: str) -> Patterns:
    is_c = draw.operand == "c"
    match generator:
        case "raw":
            return draw.payload & np.uint64(draw.fmt.mask)
        case "normal":
            return draw.normal(-2, 8) if is_c else draw.normal(-3, 4)
        case "wide":
            reach = 7 if draw.instruction.d == "f16" else 12
            return draw.normal(-2 * reach, 2 * reach) if is_c else draw.normal(-reach, reach)
        case "special":
            rare = _ALL // (6 * draw.instruction.k)
            return draw.mix(
                (rare, draw.nan()), (rare, draw.infinity()), (_ALL // 8, draw.zero()), (_ALL // 8, draw.subnormal()),
                (_ALL // 8, draw.one_of([1.0])), (2 * rare, draw.largest()), rest=draw.normal(-3, 4),
            )  # fmt: skip
        case "tiny":
            return _tiny(draw)
        case "cancel":
            return _cancel(draw)
        case "ties":
            return _ties(draw)
        case "zeros":
            return _zeros(draw)
        case "extremes":
            return _extremes(draw)
        case "zero_times_huge":
            small = draw.normal(-10, -8)
            if is_c:
                return draw.normal(-40, -18)
            if draw.operand == "a":
                return draw.mix((_ALL * 7 // 8, draw.zero()), rest=small)
            return draw.mix((_ALL * 3 // 4, draw.normal(draw.fmt.emax - 3, draw.fmt.emax - 2)), rest=small)
    raise ValueError(f"there is no input generator {generator!r}")


def _tiny(draw: _Draw) -> Patterns:
    """Return products near the smallest exponent of the accumulator; in odd tiles subnormals times ordinary numbers."""
    fmt, zero = draw.fmt, draw.zero()
    if draw.operand == "c":
        low = fmt.emin if fmt.name in ("f16", "f64") or draw.instruction.format("a").exponent_bits == 8 else -50
        return draw.mix((_ALL // 4, zero), (_ALL // 4, draw.subnormal()), rest=draw.normal(low, low + 10))
    if fmt.exponent_bits >= 8:
        half = format_of(draw.instruction.d).emin // 2
        even = draw.mix((_ALL // 8, zero), rest=draw.normal(half - 8, half + 3))
        odd = draw.subnormal() if draw.operand == "a" else draw.normal(-6, 6)
        return np.where(draw.odd_tile, odd, even)
    few_bits = draw.field((draw.between(1, 6)).astype(np.uint64), draw.fraction & ~(draw.fraction - np.uint64(1)))
    even = draw.mix((_ALL // 8, zero), (_ALL // 4, draw.subnormal()), rest=few_bits)
    odd = draw.mix((_ALL // 2, draw.subnormal()), rest=draw.normal(fmt.emin, fmt.emin + 5))
    return np.where(draw.odd_tile, odd, even)


def _cancel(draw: _Draw) -> Patterns:
    """Return few magnitudes, both signs: most of a sum cancels, and residues of different sizes remain."""
    if draw.operand == "c":
        integers = draw.one_of([float(x) for x in range(9)])
        return draw.mix((_ALL // 2, integers), (_ALL // 4, draw.zero()), rest=draw.normal(-24, -10))
    ulp = 2.0**-draw.fmt.fraction_bits
    magnitudes = draw.one_of([1.0, 1.0, 1.0, 1.0, 1.0 + ulp, 1.5, 2.0**-6, 0.0])
    large = draw.one_of([64.0, 64.0, 64.0, 64.0 + 64.0 * ulp, 1.0, 2.0**-3, 2.0**-6, 0.0])
    return np.where(draw.odd_tile, large, magnitudes)


def _extremes(draw: _Draw) -> Patterns:
    """Return the largest products, which cancel, and a large c; in odd tiles the smallest sums and a small c."""
    fmt, out = draw.fmt, format_of(draw.instruction.d)
    if draw.operand == "c":
        few = draw.field(np.zeros_like(draw.control), draw.fraction & np.uint64(7))
        return np.where(
            draw.odd_tile, few, draw.mix((_ALL // 8, draw.zero()), rest=draw.normal(fmt.emax - 2, fmt.emax))
        )
    top = 2.0 ** (fmt.emax - (fmt.nan == "all_ones"))
    weight = _ALL // 2 if draw.operand == "a" else min(_ALL * 3 // draw.instruction.k, _ALL)
    even = draw.mix((weight, draw.one_of([top, top, top, top / 2])), rest=draw.zero())
    half = max((out.emin - out.fraction_bits) // 2, fmt.emin - fmt.fraction_bits)
    levels = [2.0 ** max(half - shift, fmt.emin - fmt.fraction_bits) for shift in (-1, 0, 0, 1, 4, 8)]
    odd = draw.mix((_ALL // 2, draw.one_of(levels)), rest=draw.zero())
    return np.where(draw.odd_tile, odd, even)


def _ties(draw: _Draw) -> Patterns:
    """Return terms around half a unit in the last place of c, and below it."""
    out = format_of(draw.instruction.d)
    smallest = min(x.fraction_bits - x.emin for x in map(draw.instruction.format, ("a", "b")))
    half = min((out.fraction_bits + 1) // 2, smallest - 1)
    if draw.operand == "c":
        ulp, scale = 2.0**-draw.fmt.fraction_bits, 2.0 ** max(0, out.fraction_bits - 2 * half)
        return draw.one_of([scale * x for x in (1.0, 1.0, 1.0 + ulp, 2.0 - ulp, 1.0 + 3.0 * ulp, 0.0, 2.0, 1.0)])
    last = min(2 * half, smallest)
    return draw.one_of([0.0, 0.0, 0.0, 2.0**-half, 2.0**-half, 2.0 ** -(half + 1), 2.0 ** -(half + 1), 2.0**-last])


def _edges(draw: _Draw) -> Patterns:
    """Return matrices whose products are, by k: a large number, half of its last place, and around the last bit kept.

    So the sign of the truncated part, or its existence, decides a rounding. In even tiles the large numbers are the
    last places of the accumulator's subnormals, where a floor under the alignment exponent shows.
    """
    fmt, out = draw.fmt, format_of(draw.instruction.d)
    scale = 4 if draw.instruction.format("a").name == "e4m3" or draw.instruction.format("b").name == "e4m3" else 0
    half = 2 * scale - out.fraction_bits - 1
    last = 2 * scale - (53 if out.name == "f64" else 24)
    if draw.operand == "c":
        odd = draw.one_of([0.0, 0.0, 2.0 ** (2 * scale), 2.0**half])
        return np.where(draw.odd_tile, odd, draw.zero())
    is_a = draw.operand == "a"
    if is_a:
        odd_levels = ([2.0**scale], [2.0 ** (half // 2)], [2.0 ** (last // 2), 2.0 ** (last // 2 - 1)])
    else:
        tails = [2.0 ** (last - last // 2 - i) for i in range(3)]
        odd_levels = ([2.0**scale], [2.0 ** (half - half // 2)], tails)
    if fmt.name == "f64":
        coarse, tails = 2.0**-537, [2.0**-538, 2.0**-539, 2.0**-560]
    elif fmt.exponent_bits == 8:
        coarse = 2.0**-74 if is_a else 2.0**-75
        tails = [2.0**-78, 2.0**-79] if is_a else [2.0**-79, 2.0**-80, 2.0**-81]
    else:
        smallest = 2.0 ** (fmt.emin - fmt.fraction_bits)
        coarse = max(2.0 ** (fmt.emin + 3), 2.0**-11) if is_a else 2.0**fmt.emin
        tails = [smallest, 2 * smallest] if is_a else [smallest, 2 * smallest, 3 * smallest]
    k = np.indices(draw.control.shape, sparse=True)[-1 if is_a else -2]
    present = draw.bits(1, 16) < np.where(k == 0, _ALL, np.where(k == 1, _ALL * 3 // 4, _ALL // 2)).astype(np.uint64)
    levels = []
    for large, middle, small in (odd_levels, ([coarse], [coarse], tails)):
        rest = np.where(k == 1, draw.one_of(middle), draw.one_of(small))
        levels.append(np.where(k == 0, draw.one_of(large), rest))
    return np.where(present, np.where(draw.odd_tile, levels[0], levels[1]), draw.zero())


def _zeros(draw: _Draw) -> Patterns:
    one = draw.one_of([1.0])
    if draw.operand == "c":
        even = draw.mix((_ALL // 16, np.zeros_like(draw.control)), rest=np.full_like(draw.control, draw.fmt.sign_mask))
        return np.where(draw.odd_tile, draw.mix((_ALL // 4, one), rest=draw.zero()), even)
    if draw.operand == "a":
        even = np.full_like(draw.control, draw.fmt.sign_mask)
        return np.where(draw.odd_tile, draw.mix((_ALL // 4, one), rest=draw.zero()), even)
    even = draw.mix((_ALL // 2, np.zeros_like(draw.control)), rest=draw.normal(-1, 1) & ~np.uint64(draw.fmt.sign_mask))
    return np.where(draw.odd_tile, draw.mix((_ALL // 2, one), rest=draw.zero()), even)


def _integer(draw: _Draw, generator: str) -> Patterns:
    fmt, mask = draw.fmt, np.uint64(draw.fmt.mask)
    raw = draw.payload & mask
    if generator == "raw":
        return raw
    if draw.operand != "c":
        if generator == "normal":
            return raw
        extremes = np.array([fmt.max_integer, fmt.min_integer, fmt.max_integer, fmt.min_integer + 1], np.int64)
        chosen = extremes[draw.between(0, 3)].view(np.uint64) & mask
        return draw.mix((_ALL // 8, raw), rest=chosen)
    if generator == "normal":
        return ((draw.payload & np.uint64((1 << 21) - 1)) - np.uint64(1 << 20)) & mask
    multiplicand = draw.instruction.format("a")
    largest = max(multiplicand.max_integer, -multiplicand.min_integer) ** 2 * draw.instruction.k
    distance = (draw.payload >> np.uint64(8)) % np.uint64(largest + 1) >> draw.bits(34, 2)
    near_max = np.uint64(fmt.max_integer) - distance
    near_min = (np.uint64(1 << 31) + distance) & mask
    return np.where(draw.sign != 0, near_min, near_max)
