# SPDX-License-Identifier: MIT
"""Random words for each element of an operand, and functions that make bit patterns from them."""

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import encode
from wmma_emu.generators.facts import Facts
from wmma_emu.generators.plan import Plan
from wmma_emu.generators.words import Int64s, Words, numbers_between, random_words
from wmma_emu.instructions.spec import Operand

ALL = 1 << 16
"""The weight of all elements, in `Draw.mix`."""


class Draw:
    """The random draws for the tiles of one operand.

    The bits of an element's control word are assigned once: bit 0 is the sign, bits 1-16 a selector, bits 17-32 a
    choice, the others fractions (f64 takes a second word for its fractions).
    """

    def __init__(self, facts: Facts, plan: Plan, operand: Operand, key: str, tiles: int) -> None:
        self.facts, self.plan, self.operand = facts, plan, operand
        self.key = f"{key}|{operand}"
        self.fmt = getattr(facts, operand)
        rows = facts.terms if operand == "b" else facts.m
        columns = facts.terms if operand == "a" else facts.n
        self.shape = (tiles, rows, columns)
        self.control = self._words("control", self.shape)

    def _words(self, name: str, shape: tuple[int, ...]) -> Words:
        return random_words(f"{self.key}|{name}", prod(shape)).reshape(shape)

    # Random bits

    @cached_property
    def raw(self) -> Words:
        """Uniform patterns."""
        return self._words("raw", self.shape) & np.uint64(self.fmt.mask)

    @cached_property
    def payload(self) -> Words:
        """Random bits for fractions: 31 of them, or 64 for f64."""
        if self.fmt.bits == 64:
            return self._words("payload", self.shape)
        return self.control >> np.uint64(33)

    @cached_property
    def line(self) -> Words:
        """One random word for each row of A, each column of B, each tile of C; with the axes of the operand."""
        tiles, rows, columns = self.shape
        shape = {"a": (tiles, rows, 1), "b": (tiles, 1, columns)}.get(self.operand, (tiles, 1, 1))
        return self._words("line", shape)

    def line_number(self, low: int, high: int, start: int = 0) -> Int64s:
        """Draw a uniform integer for each line, both ends included, from 16 bits of its word."""
        return numbers_between(self.line >> np.uint64(start), low, high)

    def between(self, low: int, high: int) -> Int64s:
        """Draw uniform integers, both ends included."""
        return numbers_between(self.control >> np.uint64(17), low, high)

    @property
    def selector(self) -> Int64s:
        """A number below `ALL` for each element."""
        return ((self.control >> np.uint64(1)) & np.uint64(0xFFFF)).astype(np.int64)

    @property
    def sign(self) -> Words:
        """A random sign bit."""
        return (self.control & np.uint64(1)) * np.uint64(self.fmt.sign_mask)

    @property
    def fraction(self) -> Words:
        """Random fraction bits."""
        return self.payload & np.uint64((1 << self.fmt.fraction_bits) - 1)

    # Positions

    def along_k(self, values: NDArray[Any]) -> NDArray[Any]:
        """Reshape one value for each position to the operand's axes."""
        return values.reshape((1, 1, -1) if self.operand == "a" else (1, -1, 1))

    def at(self, positions: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return the mask of the elements at some positions of k."""
        mask = np.zeros(self.facts.terms, np.bool_)
        mask[positions] = True
        return self.along_k(mask)

    @property
    def position(self) -> NDArray[np.intp]:
        """The position of each element along k."""
        return self.along_k(np.arange(self.facts.terms))

    @property
    def line_index(self) -> NDArray[np.intp]:
        """The number of each line, counted through all tiles."""
        return np.arange(self.line.size).reshape(self.line.shape)

    def share(self, exponent: int | Int64s) -> Int64s:
        """Return this operand's part of a product's exponent: about half of it, within the range of the formats."""
        a, b = self.facts.a, self.facts.b
        whole = np.asarray(exponent, np.int64)
        of_a = np.clip(whole >> 1, a.emin, a.emax)
        of_b = np.clip(whole - of_a, b.emin - b.fraction_bits, b.emax)
        if self.operand == "a":
            of_a = np.clip(whole - of_b, a.emin - a.fraction_bits, a.emax)
        share: Int64s = of_a if self.operand == "a" else of_b
        return share

    # Patterns

    def number(self, exponent: int | Int64s, fraction: Words | int | None = None, sign: Words | None = None) -> Words:
        """Make numbers with the given exponents, subnormal below the smallest normal one.

        Exponents out of range are clipped.

        Fraction and sign are random if not given. The bits that the chip ignores are always random.
        """
        fmt = self.fmt
        fraction = self.fraction if fraction is None else np.asarray(fraction, np.uint64)
        e = np.clip(np.asarray(exponent, np.int64), fmt.emin - fmt.fraction_bits, fmt.emax)
        significand = (fraction | np.uint64(1 << fmt.fraction_bits)) >> np.maximum(fmt.emin - e, 0).astype(np.uint64)
        field = (np.maximum(e, fmt.emin) + (fmt.bias - 1)).astype(np.uint64)
        # The leading bit of a normal significand adds one to the exponent field; a subnormal has no leading bit.
        magnitude = (field << np.uint64(fmt.fraction_bits)) + significand
        if fmt.nan == "all_ones":
            magnitude = np.minimum(magnitude, np.uint64(fmt.max_finite))
        return self.signed(self.with_low_bits(magnitude), sign)

    def power(self, exponent: int | Int64s, sign: Words | None = None) -> Words:
        """Make powers of two."""
        return self.number(exponent, 0, sign)

    def signed(self, magnitude: Words | int, sign: Words | None = None) -> Words:
        """Put a sign on magnitudes: random unless given."""
        return np.asarray(magnitude, np.uint64) | (self.sign if sign is None else sign)

    def with_low_bits(self, field: Words) -> Words:
        """Append random bits below a fraction, in the bits that the chip ignores."""
        low = self.fmt.ignored_low_bits
        if not low:
            return field
        return (field << np.uint64(low)) | (
            (self.payload >> np.uint64(self.fmt.fraction_bits)) & np.uint64((1 << low) - 1)
        )

    def subnormal(self) -> Words:
        """Draw subnormal numbers, zero among them."""
        return self.signed(self.with_low_bits(self.fraction))

    def zero(self) -> Words:
        """Draw zeros of both signs."""
        return self.sign

    def largest(self) -> Words:
        """Draw the largest finite number, of both signs."""
        return self.signed(self.fmt.max_finite)

    def infinity(self) -> Words:
        """Draw infinities of both signs, or largest numbers if the format has no infinity."""
        return self.signed(self.fmt.infinity) if self.fmt.has_infinity else self.largest()

    def nan(self) -> Words:
        """Draw NaN with payloads, quiet and signalling, of both signs; largest numbers if the format has no NaN.

        Half of the NaN of tf32 have their payload only in bits that the chip ignores: it reads them as infinities.
        """
        fmt = self.fmt
        if fmt.nan == "none":
            return self.largest()
        top = (1 << fmt.exponent_bits) - 1 << fmt.fraction_bits
        if fmt.nan == "all_ones":
            return self.signed(top | (1 << fmt.fraction_bits) - 1)
        field = np.uint64(top) | np.maximum(self.fraction, np.uint64(1))
        if not fmt.ignored_low_bits:
            return self.signed(field)
        unseen = self.between(0, 1) == 1
        hidden = self.with_low_bits(np.full(self.shape, top, np.uint64)) | np.uint64(1)
        return self.signed(np.where(unseen, hidden, self.with_low_bits(field)))

    def one_of(self, values: Sequence[float]) -> Words:
        """Choose among values that the format represents exactly, with a random sign."""
        table = encode(np.array(values, np.float64), self.fmt).astype(np.uint64)
        return self.signed(table[self.between(0, len(values) - 1)])

    def mix(self, *parts: tuple[int, Words], rest: Words) -> Words:
        """Choose one of the parts for each element, by weights in units of 1 / `ALL`, or else the rest."""
        chosen, start = self.selector, 0
        result = rest
        for weight, patterns in parts:
            result = np.where((chosen >= start) & (chosen < start + weight), patterns, result)
            start += weight
        return result

    def cancelled(self, patterns: Words) -> Words:
        """Make the products of the plan's pairs cancel: the elements of A are opposite, those of B equal."""
        first, second = self.plan.first, self.plan.second
        result = np.broadcast_to(patterns, self.shape).copy()
        if self.operand == "a":
            result[:, :, second] = result[:, :, first] ^ np.uint64(self.fmt.sign_mask)
        else:
            result[:, second] = result[:, first]
        return result
