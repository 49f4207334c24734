# SPDX-License-Identifier: MIT
"""Recalculation of chains of multiply-adds, and of sums of two numbers."""

import re
from fractions import Fraction

from tests.arithmetic.replay_numbers import (
    EXACT,
    FLOATS,
    NAN,
    Parts,
    check,
    check_shown,
    multiply,
    read_exact,
    read_pattern,
    take_apart,
)
from tests.arithmetic.replay_reader import HEX, VALUE, Reader

OPPOSED = "infinities of both signs are NaN"
ONE_SIGN = "infinities of the same sign are kept"
CANONICAL = "every NaN result is canonical"
PROPAGATED = "the first NaN among b, addend, a is the result, made quiet, with its sign and payload"
NEW_NAN = "infinity times zero is NaN, the canonical one"


class ChainReplay(Reader):
    def chain_instruction(self, model: re.Match[str], ks: range, c: str) -> None:
        fmt = model["format"]
        a, b = self.operands(ks, self.a, fmt, "A"), self.operands(ks, self.b, fmt, "B")
        self.convert_c(c, fmt)
        running = c
        if model["terms"]:
            size = int(model["terms"])
            for start in range(ks.start, ks.stop, size):
                chain = self.multiply_add("mul", start, "", fmt, (a, b))
                for k in range(start + 1, min(start + size, ks.stop)):
                    chain = self.multiply_add("fma", k, chain, fmt, (a, b))
                running = self.add(running, chain, fmt)
        else:
            running = "+0" if model["c_last"] else c
            for k in ks:
                running = self.multiply_add("fma", k, running, fmt, (a, b))
            if model["c_last"]:
                running = self.add(c, running, fmt)
        check(model["output"] in (None, self.d), "the format of d")
        self.convert_d(running, fmt)

    def multiply_add(
        self, operation: str, k: int, addend: str, fmt: str, converted: tuple[dict[int, int] | None, ...]
    ) -> str:
        step = self.opening()
        plus = rf" \+ {re.escape(addend)}" if operation == "fma" else ""
        self.match(rf"{step}: a\[{k}\] x b\[{k}\]{plus}")
        more = rf" \+ ({HEX})" if operation == "fma" else ""
        bits = [read_pattern(x, fmt) for x in self.match(rf"    ({HEX}) x ({HEX}){more}")]
        self.note(k, bits[:2], converted)
        check(k < self.k or bits[:2] == [0, 0], "what fills k is not +0")
        values = self.match(rf"    ({VALUE}) x ({VALUE})" + (rf" \+ ({VALUE})" if operation == "fma" else ""))
        names = [f"a[{k}]", f"b[{k}]", addend]
        if operation == "fma":
            check(bits[2] == self.values[addend], "the addend", addend)
        return self.exact_step(step, operation, bits, values, names, fmt)

    def add(self, x: str, y: str, fmt: str) -> str:
        step = self.opening()
        check(self.next() == f"{step}: {x} + {y}", "the sum of", x, y)
        bits = [read_pattern(z, fmt) for z in self.match(rf"    ({HEX}) \+ ({HEX})")]
        check(bits == [self.values[x], self.values[y]], "the bits of", x, y)
        values = self.match(rf"    ({VALUE}) \+ ({VALUE})")
        return self.exact_step(step, "add", bits, values, [x, y], fmt)

    def exact_step(
        self, step: str, operation: str, bits: list[int], values: tuple[str, ...], names: list[str], fmt: str
    ) -> str:
        """Check the exact result of a multiply-add, its rounding, and its bits."""
        for text, x in zip(values, bits, strict=True):
            check_shown(text, x, fmt)
        numbers = [take_apart(x, fmt) for x in bits]
        propagate = fmt == "f64"
        product = numbers[0] if operation == "add" else multiply(numbers[0], numbers[1])
        addend = numbers[-1] if operation != "mul" else Parts("zero", product.sign, 0, Fraction(0))
        self.mode = "RNE"
        suffix = self.mnemonic.rsplit(".", 1)[-1]
        if operation == "fma" and propagate:
            self.mode = {"rn": "RNE", "rz": "RZ", "rm": "RD", "rp": "RU"}.get(self.rounding_modifier(suffix), "RNE")
        special = self.special_chain(bits, numbers, product, addend, names, fmt)
        if special is not None:
            words, expected = special
            check(self.next() == f"    = {words}", "why it is special:", words)
        else:
            exact = product.value + addend.value
            if exact == 0:
                check(self.next() == f"    = 0 exactly; rounded {self.mode} to {fmt}", "an exact zero")
                negative = product.sign if product.sign == addend.sign else self.mode == "RD"
                expected = FLOATS[fmt].sign_bit if negative else 0
            else:
                [shown] = self.match(rf"    = ({EXACT}) exactly")
                check(read_exact(shown) == exact, "the exact result", shown)
                expected = self.rounding_line(exact, fmt, self.mode, with_kept=True).bits
        self.finish(step, fmt)
        check(self.values[step] == expected, step, "gives", hex(self.values[step]), "and not", hex(expected))
        return step

    def rounding_modifier(self, suffix: str) -> str:
        """Return the rounding in the mnemonic: at the end of mma.sync, before the types of wmma."""
        found = re.findall(r"\.(rn|rz|rm|rp)(?=\.|$)", self.mnemonic)
        return found[0] if found else suffix

    def special_chain(
        self, bits: list[int], numbers: list[Parts], product: Parts, addend: Parts, names: list[str], fmt: str
    ) -> tuple[str, int] | None:
        kinds = [x.kind for x in numbers]
        if "nan" in kinds:
            if fmt == "f64":
                first = next(i for i in (1, 2, 0) if kinds[i] == "nan")
                return f"nan: {PROPAGATED} ({names[first]})", bits[first] | 1 << 51
            causes = [name for name, kind in zip(names, kinds, strict=False) if kind == "nan"]
            return f"nan: {CANONICAL} ({', '.join(causes)})", NAN[fmt]
        if product.kind == "nan":
            return f"nan: {NEW_NAN} ({', '.join(names[:2])})", NAN[fmt]
        causes = [name for name, kind in zip(names, kinds, strict=False) if kind == "infinity"]
        if not causes:
            return None
        infinite = [x for x in (product, addend) if x.kind == "infinity"]
        if len({x.sign for x in infinite}) == 2:
            return f"nan: {OPPOSED} ({', '.join(causes)})", NAN[fmt]
        sign = FLOATS[fmt].sign_bit if infinite[0].sign else 0
        return f"infinity: {ONE_SIGN} ({', '.join(causes)})", sign | FLOATS[fmt].infinity
