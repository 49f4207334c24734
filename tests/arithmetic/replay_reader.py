# SPDX-License-Identifier: MIT
"""The reader of a replay: lines, lists by k, conversions and roundings, for all models."""

import re
from collections.abc import Sequence
from fractions import Fraction

from tests.arithmetic.replay_numbers import (
    EXACT,
    FLOATS,
    Rounded,
    check,
    check_shown,
    convert,
    expanded,
    read_exact,
    read_pattern,
    round_to,
    take_apart,
)

VALUE = rf"(?:NaN|[+-]infinity|{EXACT})"
NAME = r"(?:c|\+0|step \d+)"
HEX = r"0x[0-9a-f]+"


class Reader:
    """A reader of lines."""

    def __init__(self, lines: list[str]) -> None:
        self.lines, self.at = lines, 0
        self.values: dict[str, int] = {"+0": 0}
        self.inputs: dict[str, dict[int, int]] = {"A": {}, "B": {}}
        self.numbered = 0

    def next(self) -> str:
        self.at += 1
        return self.lines[self.at - 1]

    def peek(self) -> str:
        return self.lines[self.at]

    def match(self, pattern: str) -> tuple[str, ...]:
        line = self.next()
        found = re.fullmatch(pattern, line)
        check(found is not None, "line", self.at, repr(line), "is not", pattern)
        return found.groups()

    def block(self, head: str, indent: int) -> str:
        """Read a paragraph that continues on indented lines."""
        line = self.next()
        check(line.startswith(head), repr(line), "does not begin with", repr(head))
        parts = [line[indent:]]
        while self.at < len(self.lines) and self.peek().startswith(" " * indent) and self.peek()[indent] != " ":
            parts.append(self.next()[indent:])
        return " ".join(parts)

    def finish(self, name: str, fmt: str) -> str:
        """Read the line ``-> 0x...``, and name the step's result."""
        [bits] = self.match(rf"    -> ({HEX})")
        self.values[name] = read_pattern(bits, fmt)
        return name

    def opening(self) -> str:
        """Return the name of the next step."""
        self.numbered += 1
        return f"step {self.numbered}"

    def operands(self, ks: range, source: str, target: str, which: str) -> dict[int, int] | None:
        """Return the operands by k after their conversion; None without a conversion, if the steps list them."""
        if source == target:
            return None
        check(self.next() == f"{which} converted from {source} to {target}, exactly:", "the conversion of", which)
        found = {}
        for k, text in self.listed(self.block("    ", 4), r"(\S+ -> \S+)"):
            before, after = text.split(" -> ")
            check(k not in found, "k =", k, "twice")
            self.inputs[which][k] = read_pattern(before, source)
            found[k] = read_pattern(after, target)
            check(found[k] == convert(self.inputs[which][k], source, target), which, k, text)
        check(list(found) == list(ks), which, "has k", list(found))
        return found

    def note(self, k: int, bits: Sequence[int], converted: tuple[dict[int, int] | None, ...]) -> None:
        """Return the operands of a step: converted operands, or inputs."""
        for which, x, known in zip("AB", bits, converted, strict=True):
            if known is None:
                self.inputs[which][k] = x
            else:
                check(known[k] == x, "the converted operand of k =", k)

    def listed(self, text: str, item: str) -> list[tuple[int, str]]:
        """Return items by k; ``k=3..9`` stands for several."""
        out = []
        for part in re.split(r",\s+", text):
            found = re.fullmatch(rf"k=(\d+)(?:\.\.(\d+))? {item}", part)
            check(found is not None, "not an item:", part)
            first, last, what = found.groups()
            check(last is None or int(last) > int(first), "no range:", part)
            out += [(k, what) for k in range(int(first), int(last or first) + 1)]
        return out

    def convert_c(self, name: str, target: str) -> None:
        if self.c == target:
            return
        check(self.next() == f"{name} converted from {self.c} to {target}, exactly:", "the conversion of c")
        before, after = self.match(rf"    ({HEX}) -> ({HEX})")
        check(read_pattern(before, self.c) == self.values[name], "c before its conversion")
        self.values[name] = read_pattern(after, target)
        check(self.values[name] == convert(int(before, 16), self.c, target), "c after its conversion")

    def convert_d(self, name: str, source: str) -> None:
        if self.d == source:
            return
        step = self.opening()
        check(self.next() == f"{step}: {name} converted from {source} to {self.d}", "the conversion of d")
        bits, shown = self.match(rf"    ({HEX}) = ({VALUE})")
        before = read_pattern(bits, source)
        check(before == self.values[name], "d before its conversion")
        check_shown(shown, before, source)
        parts = take_apart(before, source)
        if parts.kind == "finite":
            self.rounding_line(parts.value, self.d, "RNE", with_kept=True)
        else:
            check(self.next() == "    not rounded", "the rounding of", parts.kind)
        self.finish(step, self.d)
        check(self.values[step] == convert(before, source, self.d), "d after its conversion")

    def rounding_line(
        self, value: Fraction, fmt: str, mode: str, *, with_kept: bool, last: int | None = None
    ) -> Rounded:
        """Read the line about a rounding. ``last`` is the exponent of the exact number's last bit (default: last 1)."""
        r = round_to(value, fmt, mode, infinite_overflow=not with_kept)
        kept = rf"keeps ({EXACT}), " if with_kept else "()"
        found = self.match(
            rf"    rounded {mode} to {fmt}: {kept}drops (?:nothing|(\d+) bits?, (\S+): ([a-z, ]+?)"
            r"(?:, magnitude (up|cut))?)(; beyond the largest number|; zero|; subnormal)?(; a zero result is \+0)?"
        )
        exact, count, digits, place, way, remark, zero = found
        if with_kept:
            check(exact[0] == "+-"[value < 0] and abs(read_exact(exact)) == r.kept, "keeps", exact)
        if last is None:
            odd = abs(value)
            last = -(odd.denominator.bit_length() - 1)
            last += (odd.numerator & -odd.numerator).bit_length() - 1
        # A carry into the next binade does not change what was dropped.
        quantum = r.quantum - (r.up and r.kept == Fraction(2) ** (r.quantum + FLOATS[fmt].fraction_bits)
                               and round_to(value, fmt, "RZ").quantum < r.quantum)  # fmt: skip
        self.check_dropped(count, digits, max(quantum - last, 0), r)
        if count is not None:
            half = Fraction(1, 2)
            words = "exact" if r.dropped == 0 else "half" if r.dropped == half else ""
            words = words or ("above half" if r.dropped > half else "below half")
            words += ", to even" if words == "half" and mode == "RNE" else ""
            check(place == words, "the dropped bits:", place)
            check(way == (None if r.dropped == 0 else "up" if r.up else "cut"), "the way:", way)
        top = FLOATS[fmt]
        largest = (2 - Fraction(1, 1 << top.fraction_bits)) * Fraction(2) ** top.bias
        subnormal = r.kept < Fraction(2) ** top.emin
        remarks = {r.kept > largest: "; beyond the largest number", r.kept == 0: "; zero"}
        check(remark == remarks.get(True, "; subnormal" if subnormal else None), "the remark", remark)
        check(bool(zero) == (r.kept == 0 and not with_kept), "the remark on zero")
        return r

    def check_dropped(self, count: str | None, digits: str | None, expected: int, r: Rounded) -> None:
        if count is None or digits is None:
            check(expected == 0, "something is dropped")
            return
        check(int(count) == expected > 0, "drops", count, "and not", expected)
        digits = expanded(digits)
        if digits.startswith("0x"):
            check(len(digits) == 2 - (-expected // 4), "hexadecimal digits of the dropped bits")
            dropped = int(digits, 16)
        else:
            check(len(digits) == expected, "binary digits of the dropped bits")
            dropped = int(digits, 2)
        check(Fraction(dropped, 1 << expected) == r.dropped, "what is dropped:", digits)
