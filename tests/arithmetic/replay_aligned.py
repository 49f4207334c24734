# SPDX-License-Identifier: MIT
"""Recalculation of aligned sums: terms, alignment, truncation, sum, rounding."""

import re
from fractions import Fraction

from tests.arithmetic.replay_chain import CANONICAL, ONE_SIGN, OPPOSED, ChainReplay
from tests.arithmetic.replay_numbers import (
    FLOATS,
    NAN,
    Parts,
    check,
    expanded,
    fixed_point,
    multiply,
    read_pattern,
    take_apart,
)

NAN_SCALE = "a NaN scale gives NaN for all of its products, even zeros; every NaN result is canonical"


class AlignedReplay(ChainReplay):
    what, heads = "products", "a b"
    """The terms of a step, and the headings of their operands."""

    def fraction_bits(self, name: str, formats: tuple[str, ...]) -> int:
        """Return the fraction bits of a term's significand."""
        return sum(FLOATS[fmt].fraction_bits for fmt in formats)

    def counted(self, model: re.Match[str], products: dict[str, Parts]) -> dict[str, Parts]:
        """Return the terms that count for the largest exponent."""
        return {name: parts for name, parts in products.items() if parts.kind == "finite"}

    def aligned_instruction(self, model: re.Match[str], ks: range, c: str) -> None:
        output = model["output"]
        accumulator = "f32" if output == "e8m13" else output
        formats = (model["operands"] or self.a, model["operands"] or self.b)
        a, b = self.operands(ks, self.a, formats[0], "A"), self.operands(ks, self.b, formats[1], "B")
        self.convert_c(c, accumulator)
        order = [list(ks)]
        if model["pairs"]:
            order = [[k for k in ks if k % 4 < 2], [k for k in ks if k % 4 >= 2]]
        size = int(model["terms"])
        groups = [half[i : i + size] for half in order for i in range(0, len(half), size)]
        check(bool(model["c_first"]) != bool(model["c_last"]), "where c joins")
        running, sums = c if model["c_first"] else "+0", []
        for group in groups:
            running = self.aligned_step(model, group, running, formats, accumulator, (a, b))
            if model["added"]:
                sums.append(running)
                running = "+0"
        if sums:
            running = sums[0]
            for other in sums[1:]:
                running = self.add(running, other, accumulator)
        if model["c_last"]:
            running = self.add(c, running, accumulator)
        self.convert_d(running, accumulator)

    def aligned_step(
        self, model: re.Match[str], group: list[int], addend: str, formats: tuple[str, str], accumulator: str,
        converted: tuple[dict[int, int] | None, ...],
    ) -> str:  # fmt: skip
        self.nan_scales, self.by_scale = [], set()
        step = self.opening()
        head = self.next()
        special = head == f"{step}: {len(group)} products and {addend}, infinities or NaN among them"
        rows = self.special_rows() if special else self.table()
        terms = self.gather(rows, formats, accumulator, addend)
        check([name for name in terms if name != addend] == [f"k={k}" for k in group], "the k of", step, list(terms))
        check(terms.pop(addend)[0] == self.values[addend], "the bits of", addend)
        products: dict[str, Parts] = {}
        for name, (x, y) in terms.items():
            k = int(name[2:])
            self.note(k, (x, y), converted)
            check(k < self.k or (x, y) == (0, 0), "what fills k is not +0:", name)
            products[name] = multiply(take_apart(x, formats[0]), take_apart(y, formats[1]))
        products[addend] = take_apart(self.values[addend], accumulator)
        if special:
            self.special_step(rows, products, model["output"], formats, terms)
        else:
            self.finite_step(model, head, step, rows, products, addend, formats, accumulator)
        self.finish(step, accumulator)
        check(self.values[step] == self.expected, step, "gives", hex(self.values[step]), "and not", hex(self.expected))
        return step

    def gather(
        self, rows: dict[str, str], formats: tuple[str, str], accumulator: str, addend: str
    ) -> dict[str, tuple[int, ...]]:
        """Return the bits of every term, products by k, from its row or from the lists below the rows."""
        found: dict[str, tuple[int, ...]] = {}
        self.listed_kinds: dict[str, str] = {}
        for name, row in rows.items():
            words = row.split()
            if name == addend:
                found[name] = (read_pattern(words[0], accumulator),)
            else:
                found[name] = self.read_operand(words[0], formats[0]), self.read_operand(words[1], formats[1])
        for kind in ("nan", "finite", "zero"):
            head = f"    {'NaN' if kind == 'nan' else kind}:"
            if not self.peek().startswith(head):
                continue
            text = self.block(head, 12)
            for part in re.split(r",\s+", text):
                if part.startswith(f"{addend} "):
                    found[addend] = (read_pattern(part.removeprefix(f"{addend} "), accumulator),)
                    self.listed_kinds[addend] = kind
                    continue
                for name, pair in self.named(part):
                    x, y = pair.split(" x ")
                    check(name not in found, name, "twice")
                    found[name] = self.read_operand(x, formats[0]), self.read_operand(y, formats[1])
                    self.listed_kinds[name] = kind
        return dict(sorted(found.items(), key=lambda item: (item[0] == addend, _k(item[0]))))

    def named(self, part: str) -> list[tuple[str, str]]:
        """Return the terms of a list by name."""
        return [(f"k={k}", pair) for k, pair in self.listed(part, r"(\S+ x \S+)")]

    def read_operand(self, text: str, fmt: str) -> int:
        """Read an operand of a term."""
        return read_pattern(text, fmt)

    def table(self) -> dict[str, str]:
        """Return the rows of a finite step by name; heading and sum are stored separately."""
        self.heading = self.next()
        self.sum = ""
        rows = {}
        while found := re.fullmatch(r"    (k=[\d.]+|c|\+0|step \d+|sum) +(\S.*)", self.peek()):
            self.next()
            if found[1] == "sum":
                self.sum = found[2]
                break
            check(found[1] not in rows, "two rows of", found[1])
            rows[found[1]] = found[2]
        return rows

    def special_rows(self) -> dict[str, str]:
        rows = {}
        while found := re.fullmatch(r"    (k=[\d.]+|c|\+0|step \d+) +(0x.*)", self.peek()):
            self.next()
            check(found[1] not in rows, "two rows of", found[1])
            rows[found[1]] = found[2]
        return rows

    def kind_of(self, bits: int, fmt: str) -> str:
        """Return the kind of an operand of a term."""
        return take_apart(bits, fmt).kind

    def special_step(
        self, rows: dict[str, str], products: dict[str, Parts], output: str, formats: tuple[str, str],
        terms: dict[str, tuple[int, ...]],
    ) -> None:  # fmt: skip
        for name, parts in products.items():
            check(self.listed_kinds.get(name, parts.kind) == parts.kind, "the kind of", name)
            listed = parts.kind not in ("infinity", "nan") or name in self.by_scale
            check((name in rows) != listed, "a row of", name)
            if name in rows:
                words = "NaN" if parts.kind == "nan" else f"{'-' if parts.sign else '+'}infinity"
                if name in terms:
                    kinds = [self.kind_of(x, fmt) for x, fmt in zip(terms[name], formats, strict=True)]
                    words += f" ({kinds[0]} x {kinds[1]})"
                check(" ".join(rows[name].split()).endswith(f" {words}"), "the row of", name)
        nans = [name for name, parts in products.items() if parts.kind == "nan"]
        infinite = [name for name, parts in products.items() if parts.kind == "infinity"]
        signs = {products[name].sign for name in infinite}
        if self.nan_scales:
            words, self.expected = f"nan: {NAN_SCALE} ({', '.join(self.nan_scales)})", NAN[output]
        elif nans:
            words, self.expected = f"nan: {CANONICAL} ({', '.join(nans)})", NAN[output]
        elif len(signs) == 2:
            words, self.expected = f"nan: {OPPOSED} ({', '.join(infinite)})", NAN[output]
        else:
            words = f"infinity: {ONE_SIGN} ({', '.join(infinite)})"
            self.expected = FLOATS[output].infinity | (FLOATS[output].sign_bit if signs.pop() else 0)
        check(self.next() == f"    = {words}", "why it is special")

    def finite_step(
        self, model: re.Match[str], head: str, step: str, rows: dict[str, str], products: dict[str, Parts], addend: str,
        formats: tuple[str, str], accumulator: str,
    ) -> None:  # fmt: skip
        places, floor = int(model["places"]), int(model["floor"])
        finite = {name: parts for name, parts in products.items() if parts.kind == "finite"}
        check(list(rows) == list(finite), "the rows of", step)
        check(set(self.listed_kinds.values()) <= {"zero"}, "what is listed")
        counted = self.counted(model, products)
        highest = max((parts.exponent for parts in counted.values()), default=floor - 1)
        exponent = max(highest, floor)
        why = "the lowest that the unit aligns to"
        if highest >= floor:
            first = next(name for name, parts in counted.items() if parts.exponent == highest)
            why = f"the largest exponent ({first})"
        check(
            head == f"{step}: {len(products) - 1} {self.what} and {addend} aligned to 2^{exponent}, {why}; "
            f"cut toward zero at 2^{exponent - places}, {places} bits below",
            "the alignment:", head,
        )  # fmt: skip
        words = self.heading.split()
        check(
            words == f"term {self.heads} exp shift significand bits x 2^{exponent} |cut".split(), "the heading", words
        )
        total = Fraction(0)
        for name, parts in finite.items():
            bits = FLOATS[accumulator].fraction_bits if name == addend else self.fraction_bits(name, formats)
            cut_bits = max(bits + exponent - parts.exponent - places, 0)
            total += self.term_row(rows[name], name, parts, exponent, places, cut_bits)
        if not total:
            check(not self.sum and self.next() == "    the sum is zero: +0", "the sum")
            self.expected = 0
            return
        found = re.fullmatch(r"([+-]) ([01.]+)\|", self.sum)
        check(found is not None and found[1] == "+-"[total < 0], "the sum", self.sum)
        check(fixed_point(found[2]) == (abs(total), places), "the sum", self.sum)
        self.rounded_row(model, total, exponent, places)

    def term_row(self, row: str, name: str, parts: Parts, exponent: int, places: int, cut_bits: int) -> Fraction:
        """Check a term's exponent, shift, significand, kept and truncated bits; return the kept part in 2**exponent."""
        words = row.split()[2 if name.startswith("k=") else 1 :]
        check(len(words) == 5, "the row of", name)
        check(words[0] == str(parts.exponent) and words[1] == str(exponent - parts.exponent), "exponent of", name)
        whole, tail = words[2].removeprefix("0x").split(".")
        significand = Fraction(int(whole + tail, 16), 16 ** len(tail))
        check(words[2].startswith("0x") and significand == parts.significand, "significand of", name)
        check(words[3] == "+-"[parts.sign], "sign of", name)
        stays, _, cut = words[4].partition("|")
        value, digits = fixed_point(stays)
        cut = expanded(cut)
        aligned = parts.significand / Fraction(2) ** (exponent - parts.exponent)
        check(digits == places and len(cut) == cut_bits, "places of", name)
        behind = Fraction(int(cut or "0", 2), 1 << (places + len(cut)))
        check(value + behind == aligned, "the bits of", name)
        check(behind < Fraction(1, 1 << places), "the cut of", name)
        return -value if parts.sign else value

    def rounded_row(self, model: re.Match[str], total: Fraction, exponent: int, places: int) -> None:
        output, mode = model["output"], model["mode"]
        sign, digits = self.match(rf"    {output} +([+-]) ([01.]+)")
        r = self.rounding_line(total * Fraction(2) ** exponent, output, mode, with_kept=False, last=exponent - places)
        value, shown = fixed_point(digits)
        check(sign == "+-"[total < 0] and value * Fraction(2) ** exponent == r.kept, "what is kept:", digits)
        check(shown == max(min(places, exponent - r.quantum), 0), "the last place kept:", digits)
        self.expected = r.bits if r.kept else 0


def _k(name: str) -> int:
    return int(name[2:].partition("..")[0]) if name.startswith("k=") else 0
