# SPDX-License-Identifier: MIT
"""Block scales for each input generator: scales that preserve its structure, and scales that are under test."""

from collections.abc import Callable
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits
from wmma_emu.generators.facts import Facts
from wmma_emu.generators.words import Int64s, Words, numbers_between, random_words


class Scales(NamedTuple):
    """Pools of block scales, one for each pool of matrices: uint8 patterns of the instruction's scale format.

    Parameters
    ----------
    a : uint8 array, shape (a_tiles, m, scale_vec)
    b : uint8 array, shape (b_tiles, scale_vec, n)
    """

    a: Bits
    b: Bits


class Lines:
    """Random words and numbers for the scales of one operand.

    Shapes are (tiles, lines, blocks), a line being a row of A or a column of B.
    """

    def __init__(self, facts: Facts, fmt: Format, operand: str, key: str, tiles: int) -> None:
        self.fmt = fmt
        self.operand, self.key = operand, key
        self.shape = (tiles, facts.m if operand == "a" else facts.n, facts.scale_vec)

    def _words(self, name: str, shape: tuple[int, ...]) -> Words:
        return random_words(f"{self.key}|scale_{self.operand}|{name}", prod(shape)).reshape(shape)

    @cached_property
    def _of_block(self) -> Words:
        return self._words("block", self.shape)

    @cached_property
    def _of_line(self) -> Words:
        return self._words("line", (*self.shape[:2], 1))

    @cached_property
    def _of_all(self) -> Words:
        """Random words that A and B share: one for each block, and one more."""
        return random_words(f"{self.key}|scales", self.shape[-1] + 1)

    @property
    def wide(self) -> bool:
        """Whether the format has only exponent bits, and many of them."""
        return self.fmt.exponent_bits >= 8

    @property
    def raw(self) -> Int64s:
        """Uniform patterns."""
        return (self._of_block >> np.uint64(48)).astype(np.int64) & self.fmt.mask

    def between(self, low: int, high: int) -> Int64s:
        """Draw a uniform integer for each block of each line, both ends included."""
        return numbers_between(self._of_block, low, high)

    def line_number(self, low: int, high: int, start: int = 0) -> Int64s:
        """Draw a uniform integer for each line, from 16 bits of its word."""
        return numbers_between(self._of_line >> np.uint64(start), low, high)

    @property
    def fraction(self) -> Int64s:
        """Random fraction bits for each block."""
        return (self._of_block >> np.uint64(40)).astype(np.int64) & ((1 << self.fmt.fraction_bits) - 1)

    @property
    def line_fraction(self) -> Int64s:
        """Random fraction bits for each line."""
        return (self._of_line >> np.uint64(40)).astype(np.int64) & ((1 << self.fmt.fraction_bits) - 1)

    @property
    def tilt(self) -> Int64s:
        """Exponents by block, opposite in A and B, so that the product of scales is the same in all blocks.

        Zero in half of the draws.
        """
        each = (self._of_all[:-1] & np.uint64(7)).astype(np.int64) % 7 - 3
        each = each * int(self._of_all[-1] & np.uint64(1))
        return each if self.operand == "a" else -each

    @property
    def chosen(self) -> NDArray[np.bool_]:
        """A mask of one block: the same block in A and in B, and an independent one in a quarter of the lines."""
        blocks = self.shape[-1]
        common = int(self._of_all[-1] >> np.uint64(32)) % blocks
        own = self.line_number(0, blocks - 1, start=16)
        mask: NDArray[np.bool_] = np.arange(blocks) == np.where(self.line_number(0, 3, start=32) == 0, own, common)
        return mask

    def number(self, exponent: Int64s | int, fraction: Int64s | int = 0) -> Int64s:
        """Make scales with the given exponents, subnormal below the smallest normal one.

        Exponents out of range are clipped.
        """
        fmt = self.fmt
        e = np.clip(np.asarray(exponent, np.int64), fmt.emin - fmt.fraction_bits, fmt.emax)
        significand = (np.asarray(fraction, np.int64) | 1 << fmt.fraction_bits) >> np.maximum(fmt.emin - e, 0)
        field = np.maximum(e, fmt.emin) + (fmt.bias - 1)
        return np.broadcast_to(np.minimum((field << fmt.fraction_bits) + significand, fmt.max_finite), self.shape)


def level(lines: Lines) -> Int64s:
    """Draw one moderate scale for each line, or different ones in each block that give the same products.

    Nothing changes over k.
    """
    return lines.number(lines.line_number(-2, 2) + lines.tilt, lines.line_fraction)


def high(lines: Lines) -> Int64s:
    """Draw scales as `level` does, but far above one: terms that cancel do so far above c."""
    return lines.number(lines.line_number(0, 18 if lines.wide else 4) + lines.tilt, lines.line_fraction)


def mixed(lines: Lines) -> Int64s:
    """Draw a separate scale for each block, in a narrow band."""
    return lines.number(lines.between(-2, 2), lines.fraction)


def far(lines: Lines) -> Int64s:
    """Draw scales far above the rest in one block of each line, by any distance."""
    low, reach = (-4, 24) if lines.wide else (-6, 14)
    height = low + lines.line_number(0, reach)
    return lines.number(np.where(lines.chosen, height, low + lines.between(0, 1)), lines.fraction)


def limits(lines: Lines) -> Int64s:
    """Draw scales whose products reach either end of the accumulator's range.

    Some are at the ends of the scale format's own range.
    """
    fmt, kind = lines.fmt, lines.line_number(0, 7)
    near_top, near_bottom = (62, -72) if lines.wide else (7, -7)
    below = lines.between(-16 if lines.wide else -2, 0)  # one block that contributes; others down to any floor
    exponent = np.where(kind % 2 == 0, near_top + lines.between(-2, 1), near_bottom + below)
    ends = np.where(lines.between(0, 1) == 0, lines.number(fmt.emin - fmt.fraction_bits), fmt.max_finite)
    return np.where((kind >= 6) & lines.chosen, ends, lines.number(exponent, lines.fraction))


def special(lines: Lines) -> Int64s:
    """Draw ordinary scales, and in most lines one special: NaN, the pattern 0, the smallest, the largest, or one."""
    fmt, kind = lines.fmt, lines.line_number(0, 9)
    some = np.where(kind < 2, fmt.mask & ~_padding(fmt), np.where(kind < 4, 0, np.where(kind < 5, fmt.max_finite, 1)))
    some = np.where(kind == 6, lines.number(0), some)
    if fmt.fraction_bits:
        some = np.where(kind == 7, lines.fraction, some)  # subnormal, zero among them
        some = np.where(lines.line_number(0, 7, start=48) == 0, some | _padding(fmt), some)
    return np.where(lines.chosen & (kind < 8), some, mixed(lines))


def raw(lines: Lines) -> Int64s:
    """Draw uniform patterns, padding bits included; half of the lines are moderate instead."""
    return np.where(lines.line_number(0, 1) == 1, lines.raw, lines.number(lines.between(-40, 40), lines.fraction))


def _padding(fmt: Format) -> int:
    """Return the bits of the byte that the format does not read."""
    return 0x80 if fmt.name == "ue4m3" else 0


PATTERNS: dict[str, Callable[[Lines], Int64s]] = {
    x.__name__: x for x in (level, high, mixed, far, limits, special, raw)
}
"""The kinds of scales by name; an entry of the table of input generators names one."""


def scale_pools(facts: Facts, fmt: Format, pattern: str, key: str, a_tiles: int, b_tiles: int) -> Scales:
    """Draw the scales of pools of A and B in a format."""
    key = f"{key}|{fmt}|{facts.scale_vec}"
    a, b = (
        np.ascontiguousarray(np.broadcast_to(PATTERNS[pattern](x), x.shape)).astype(np.uint8)
        for x in (Lines(facts, fmt, "a", key, a_tiles), Lines(facts, fmt, "b", key, b_tiles))
    )
    return Scales(a, np.ascontiguousarray(b.swapaxes(-1, -2)))
