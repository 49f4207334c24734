# SPDX-License-Identifier: MIT
"""The table of input generators: one entry each, with its inputs and the arithmetic that they expose."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from wmma_emu.generators import alignment, cancellation, integers, limits, ordinary, specials
from wmma_emu.generators.draws import Draw
from wmma_emu.generators.facts import Facts
from wmma_emu.generators.words import Words


@dataclass(frozen=True, slots=True)
class InputGenerator:
    """One input generator.

    Parameters
    ----------
    name : str
    kind : {"float", "integer", "bit"}
        The kind of the formats of A that it applies to.
    description : str
        The inputs.
    sees : str
        The properties of the arithmetic that they expose.
    make : callable
        Makes the patterns of one operand.
    pairing : {"", "random", "halves", "byte_pairs"}
        The positions of k that cancel.
    applies : callable
        Returns whether the generator applies to an instruction's formats and shape.
    scales : str
        The kind of block scales, if the instruction has them: one of `wmma_emu.generators.block_scales.PATTERNS`.
    """

    name: str
    kind: Literal["float", "integer", "bit"]
    description: str
    sees: str
    make: Callable[[Draw], Words]
    pairing: str = ""
    applies: Callable[[Facts], bool] = lambda facts: True
    scales: str = "mixed"


_ENTRIES = (
    InputGenerator("normal", "float",
        "random significands, exponents in a narrow band",
        "what every program uses",
        ordinary.normal),
    InputGenerator("wide", "float",
        "random significands, exponents in a wide band",
        "alignment in general",
        ordinary.wide),
    InputGenerator("wide_c", "float",
        "ordinary products; c from far below them to far above",
        "when and how c is added",
        ordinary.wide_c),
    InputGenerator("raw", "float",
        "uniform bit patterns and zeros; half of the lines without infinities and NaN",
        "cases that no other generator covers",
        ordinary.raw),
    InputGenerator("near_one", "float",
        "a few last places from one, both signs; small integers as c",
        "fused products, the last bits of a sum that cancels",
        ordinary.near_one, scales="level"),
    InputGenerator("mostly_zero", "float",
        "one product in a row, at each position of k in turn; or the products of half of k",
        "which positions of A and B are multiplied, unused positions",
        ordinary.mostly_zero),
    InputGenerator("one_large", "float",
        "one or two large products, or c, and many small ones around the last bit kept",
        "how many bits are kept, and how the others are rounded",
        alignment.one_large, scales="far"),
    InputGenerator("single_bits", "float",
        "powers of two: a large one, and a few near the last place of result and sum",
        "the last bit kept, exactly",
        alignment.single_bits, scales="level"),
    InputGenerator("ties", "float",
        "a number, half of its last place, and single lower bits",
        "the rounding of results, and that they are rounded once",
        alignment.ties, scales="level"),
    InputGenerator("largest_significands", "float",
        "largest significands, mostly one sign, exponents by row and column",
        "the width of the sum and its carries",
        alignment.largest_significands, scales="level"),
    InputGenerator("zero_times_huge", "float",
        "zeros multiplied by huge numbers, and small terms",
        "that a zero product has no exponent",
        alignment.zero_times_huge),
    InputGenerator("cancel_pairs", "float",
        "products that cancel in shuffled pairs; small products and c remain",
        "normalisation, when c is added, steps of k",
        cancellation.cancel, "random", scales="high"),
    InputGenerator("cancel_halves", "float",
        "the second half of k cancels the first; c remains",
        "steps of k and the rounding between them",
        cancellation.cancel, "halves", scales="high"),
    InputGenerator("cancel_byte_pairs", "float",
        "k % 4 >= 2 cancels k % 4 < 2; c remains",
        "FP8 executed as f16: its two steps",
        cancellation.cancel, "byte_pairs", Facts.in_byte_pairs, scales="high"),
    InputGenerator("subnormal_operands", "float",
        "subnormal operands times ordinary ones",
        "flushing of operands, the exponents of subnormals",
        limits.subnormal_operands),
    InputGenerator("small_products", "float",
        "products near the accumulator's smallest number; c is zero",
        "underflow, the alignment floor",
        limits.small_products, applies=Facts.underflows),
    InputGenerator("small_products_and_c", "float",
        "products near the accumulator's smallest number; c is subnormal",
        "the exponent of a subnormal c",
        limits.small_products_and_c, applies=Facts.underflows),
    InputGenerator("floor_bits", "float",
        "the lowest bit of the accumulator's subnormals and single bits far below; c is zero",
        "the alignment floor, exactly",
        limits.floor_bits, applies=Facts.reaches_the_floor),
    InputGenerator("subnormal_results", "float",
        "sums among the accumulator's subnormals",
        "subnormal results, a subnormal c",
        limits.subnormal_results, applies=Facts.reaches_subnormals),
    InputGenerator("lone_underflow", "float",
        "one product below the accumulator's smallest number",
        "the sign of a zero that rounding produces",
        limits.lone_underflow, applies=Facts.underflows),
    InputGenerator("straddle_overflow", "float",
        "few products near the accumulator's largest number; c is near it",
        "overflow of results and of products",
        limits.straddle_overflow, applies=Facts.overflows),
    InputGenerator("overflow_pairs", "float",
        "products too large for the accumulator that cancel in shuffled pairs",
        "overflow inside a step",
        cancellation.overflow_and_cancel, "random", Facts.overflows, scales="high"),
    InputGenerator("overflow_halves", "float",
        "products too large for the accumulator; the second half of k cancels the first",
        "overflow between steps",
        cancellation.overflow_and_cancel, "halves", Facts.overflows, scales="high"),
    InputGenerator("largest_results", "float",
        "the accumulator's largest number, half of its last place, and lower bits",
        "where overflow begins",
        limits.largest_results, applies=Facts.overflows),
    InputGenerator("specials", "float",
        "NaN with payloads, infinities, zeros, largest numbers, at each position of k and in c",
        "the results of specials",
        specials.specials, "random", scales="level"),
    InputGenerator("signed_zeros", "float",
        "products that are zeros of one sign or of both, or cancel; c is a zero",
        "the sign of zero",
        specials.signed_zeros, "random", scales="level"),
    InputGenerator("c_alone", "float",
        "products that are all zero; any c",
        "the effect of a step on c",
        specials.c_alone),
    InputGenerator("scales_far", "float",
        "ordinary numbers; one block scale of each row and column is far above the rest",
        "alignment between blocks, the exponent that aligns a group's sum",
        ordinary.wide_c, applies=Facts.has_scales, scales="far"),
    InputGenerator("scales_limits", "float",
        "ordinary numbers; block scales whose products reach both ends of the range",
        "overflow and underflow by scales",
        limits.scaled_to_the_ends, applies=Facts.has_scales, scales="limits"),
    InputGenerator("scales_special", "float",
        "ordinary numbers; NaN, 0, the smallest and the largest among the block scales",
        "the effect of a NaN scale, and of a scale of zero",
        ordinary.mostly_zero, applies=Facts.has_scales, scales="special"),
    InputGenerator("scales_raw", "float",
        "ordinary numbers; uniform patterns as block scales",
        "cases that no other generator covers",
        ordinary.normal, applies=Facts.has_scales, scales="raw"),
    InputGenerator("integer_normal", "integer",
        "any elements, a moderate c",
        "which elements are multiplied",
        integers.integer_normal),
    InputGenerator("integer_limits", "integer",
        "smallest and largest elements; c near the ends of its range",
        "wrapping and clamping, signs of operands",
        integers.integer_limits),
    InputGenerator("integer_raw", "integer",
        "uniform bit patterns",
        "wrapping",
        integers.integer_raw),
    InputGenerator("integer_mostly_zero", "integer",
        "one element in a row of A, at each position of k in turn",
        "which elements are multiplied",
        integers.integer_mostly_zero),
    InputGenerator("bit_raw", "bit",
        "uniform bits",
        "the operation",
        integers.integer_raw),
    InputGenerator("bit_limits", "bit",
        "mostly ones; c near the ends of its range",
        "wrapping",
        integers.integer_limits),
    InputGenerator("bit_mostly_zero", "bit",
        "one bit in a row of A, at each position of k in turn",
        "which elements are multiplied",
        integers.integer_mostly_zero),
)  # fmt: skip

GENERATORS: dict[str, InputGenerator] = {entry.name: entry for entry in _ENTRIES}
"""Every input generator by name. `wmma_emu.testing.generators.generators_of` returns those of an instruction."""
