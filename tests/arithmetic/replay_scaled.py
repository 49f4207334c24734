# SPDX-License-Identifier: MIT
"""Recalculation of aligned sums with block scales: scales, sums of groups, then the common part of aligned sums."""

import re
from fractions import Fraction
from typing import NamedTuple

from tests.arithmetic.replay_aligned import AlignedReplay
from tests.arithmetic.replay_numbers import EXACT, FLOATS, Parts, check, multiply, read_exact, read_pattern, take_apart
from tests.arithmetic.replay_reader import HEX

SCALES = {"ue8m0": (8, 0, 127), "ue4m3": (4, 3, 7)}
"""The exponent bits, the fraction bits, and the bias."""


class Block(NamedTuple):
    """Products that share scales."""

    name: str
    ks: list[int]
    scales: tuple[int, int]
    pair: Parts
    total: Fraction


def take_scale_apart(bits: int, fmt: str) -> Parts:
    exponent_bits, fraction_bits, bias = SCALES[fmt]
    bits &= (1 << (exponent_bits + fraction_bits)) - 1
    if bits == (1 << (exponent_bits + fraction_bits)) - 1:
        return Parts("nan", 0, 0, Fraction(0))
    field, tail = bits >> fraction_bits, Fraction(bits & ((1 << fraction_bits) - 1), 1 << fraction_bits)
    if field or fmt == "ue8m0":
        return Parts("finite", 0, field - bias, 1 + tail)
    return Parts("finite" if tail else "zero", 0, 1 - bias, tail)


class ScaledReplay(AlignedReplay):
    def aligned_step(
        self, model: re.Match[str], group: list[int], addend: str, formats: tuple[str, str], accumulator: str,
        converted: tuple[dict[int, int] | None, ...],
    ) -> str:  # fmt: skip
        check(bool(model["scaled"]) == bool(self.scale), "scales of", self.model)
        if not model["scaled"]:
            return super().aligned_step(model, group, addend, formats, accumulator, converted)
        self.what, self.heads = ("groups", "sA sB") if model["group"] else ("products", "a b")
        step = self.opening()
        head = self.next()
        size = int(model["group"] or min(self.block_size, len(group)))
        self.blocks = [self.block_line(model, group[i : i + size], formats) for i in range(0, len(group), size)]
        self.by_scale = set()
        self.nan_scales = [f"scales of {block.name}" for block in self.blocks if block.pair.kind == "nan"]
        row_formats = (self.scale, self.scale) if model["group"] else formats
        count = len(self.blocks) if model["group"] else len(group)
        special = head == f"{step}: {count} {self.what} and {addend}, infinities or NaN among them"
        rows = self.special_rows() if special else self.table()
        terms = self.gather(rows, row_formats, accumulator, addend)
        check(terms.pop(addend)[0] == self.values[addend], "the bits of", addend)
        products = self.group_terms(terms) if model["group"] else self.scaled_terms(terms, group, formats, converted)
        products[addend] = take_apart(self.values[addend], accumulator)
        if special:
            self.special_step(rows, products, model["output"], row_formats, terms)
        else:
            self.finite_step(model, head, step, rows, products, addend, row_formats, accumulator)
        self.finish(step, accumulator)
        check(self.values[step] == self.expected, step, "gives", hex(self.values[step]), "and not", hex(self.expected))
        return step

    def block_line(self, model: re.Match[str], ks: list[int], formats: tuple[str, str]) -> Block:
        """Read a line about scales, and the operands of a group below it."""
        tail = rf"; the sum of the products is ({EXACT}):" if model["group"] else "()"
        head = rf"    scales of (k=\d+(?:\.\.\d+)?): ({HEX}) x ({HEX}) \({self.scale}\) = "
        name, x, y, value, shown = self.match(head + r"(NaN|0|2\^-?\d+(?: x 0x[0-9a-f.]+)?)" + tail)
        check(name == (f"k={ks[0]}..{ks[-1]}" if len(ks) > 1 else f"k={ks[0]}"), "the name of a block", name)
        scales = int(x, 16), int(y, 16)
        check(len(x) == len(y) == 4, "digits of a scale")
        p, q = (take_scale_apart(bits, self.scale) for bits in scales)
        kinds = {p.kind, q.kind}
        kind = "nan" if "nan" in kinds else "zero" if "zero" in kinds else "finite"
        pair = Parts(kind, 0, p.exponent + q.exponent, p.significand * q.significand)
        if kind == "finite":
            exponent, _, significand = value.removeprefix("2^").partition(" x ")
            check(int(exponent) == pair.exponent, "the exponent of scales", value)
            whole, _, digits = significand.removeprefix("0x").partition(".")
            found = Fraction(int(whole + digits, 16), 16 ** len(digits)) if significand else Fraction(1)
            check(found == pair.significand and bool(significand) == (self.scale == "ue4m3"), "significand", value)
        else:
            check(value == {"nan": "NaN", "zero": "0"}[kind], "the value of scales", value)
        number = ks[0] // self.block_size
        check(self.scales.setdefault(number, scales) == scales, "scales of block", number)
        total = Fraction(0)
        if model["group"]:
            total = self.group_sum(ks, formats)
            check(shown[0] == "+-"[total < 0] and read_exact(shown) == total, "the sum of", name, shown)
        return Block(name, ks, scales, pair, total)

    def group_sum(self, ks: list[int], formats: tuple[str, str]) -> Fraction:
        """Read the products of a group, which are listed below its scales."""
        total, found = Fraction(0), []
        for k, text in self.listed(self.block("        ", 8), r"(\S+ x \S+)"):
            x, y = (read_pattern(word, fmt) for word, fmt in zip(text.split(" x "), formats, strict=True))
            found.append(k)
            self.note(k, (x, y), (None, None))
            check(k < self.k or (x, y) == (0, 0), "what fills k is not +0:", k)
            total += take_apart(x, formats[0]).value * take_apart(y, formats[1]).value
        check(found == ks, "the k of a group", found)
        return total

    def group_terms(self, terms: dict[str, tuple[int, ...]]) -> dict[str, Parts]:
        """Return a term for each group: its sum times both significands, with the exponents of its scales."""
        check(list(terms) == [block.name for block in self.blocks], "the groups", list(terms))
        products = {}
        for block in self.blocks:
            check(terms[block.name] == block.scales, "the scales of", block.name)
            significand = abs(block.total) * block.pair.significand
            kind = block.pair.kind if block.pair.kind == "nan" else "finite" if significand else "zero"
            products[block.name] = Parts(kind, int(block.total < 0), block.pair.exponent, significand)
        return products

    def scaled_terms(
        self, terms: dict[str, tuple[int, ...]], group: list[int], formats: tuple[str, str],
        converted: tuple[dict[int, int] | None, ...],
    ) -> dict[str, Parts]:  # fmt: skip
        """Return a term for each product, with the exponents of its scales added."""
        check(list(terms) == [f"k={k}" for k in group], "the k of a step", list(terms))
        pairs = {k: block.pair for block in self.blocks for k in block.ks}
        products = {}
        for name, (x, y) in terms.items():
            k = int(name[2:])
            self.note(k, (x, y), converted)
            check(k < self.k or (x, y) == (0, 0), "what fills k is not +0:", name)
            parts = multiply(take_apart(x, formats[0]), take_apart(y, formats[1]))
            if pairs[k].kind == "nan" and parts.kind != "nan":
                self.by_scale.add(name)
                parts = parts._replace(kind="nan")
            products[name] = parts._replace(exponent=parts.exponent + pairs[k].exponent)
        return products

    def fraction_bits(self, name: str, formats: tuple[str, ...]) -> int:
        if self.what == "products":
            return super().fraction_bits(name, formats)
        units = sum(FLOATS[fmt].fraction_bits - FLOATS[fmt].emin for fmt in (self.a, self.b))
        return units + 2 * SCALES[self.scale][1]

    def counted(self, model: re.Match[str], products: dict[str, Parts]) -> dict[str, Parts]:
        if not model["zeros"]:
            return super().counted(model, products)
        scaled = {block.name for block in self.blocks if block.pair.kind == "finite"}
        return {name: parts for name, parts in products.items() if parts.kind == "finite" or name in scaled}

    def named(self, part: str) -> list[tuple[str, str]]:
        if self.what == "products":
            return super().named(part)
        found = re.fullmatch(r"(k=\d+(?:\.\.\d+)?) (\S+ x \S+)", part)
        check(found is not None, "not a group:", part)
        return [(found[1], found[2])]

    def read_operand(self, text: str, fmt: str) -> int:
        return int(text, 16) if fmt in SCALES else super().read_operand(text, fmt)

    def kind_of(self, bits: int, fmt: str) -> str:
        return take_scale_apart(bits, fmt).kind if fmt in SCALES else super().kind_of(bits, fmt)
