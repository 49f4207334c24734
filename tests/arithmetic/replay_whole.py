# SPDX-License-Identifier: MIT
"""Recalculation of integer products and population counts."""

import re

from tests.arithmetic.replay_numbers import (
    INTEGERS,
    check,
    integer,
    read_pattern,
)
from tests.arithmetic.replay_reader import HEX, Reader


class WholeReplay(Reader):
    def integer_step(self, ks: range, c: str) -> None:
        step = self.opening()
        check(self.next() == f"{step}: products of {self.a} and {self.b}, and {c}, added exactly", "the head of", step)
        products: dict[int, int] = {}
        operand = r"k=(\d+) +(0x\S+) x (0x\S+) = (-?\d+) x (-?\d+) = (-?\d+)"
        while self.peek().startswith("    k="):
            line = self.next()
            check(re.fullmatch(rf"    (?:{operand} *)+", line) is not None, "a row of products:", line)
            for k, x, y, left, right, product in re.findall(operand, line):
                a, b = integer(read_pattern(x, self.a), self.a), integer(read_pattern(y, self.b), self.b)
                check((int(left), int(right), int(product)) == (a, b, a * b) and a * b != 0, "product of k =", k)
                check(int(k) not in products and int(k) < self.k, "twice, or beyond K: k =", k)
                products[int(k)] = a * b
                self.note(int(k), (int(x, 16), int(y, 16)), (None, None))
        if self.peek().startswith("    zero:"):
            for k, pair in self.listed(self.block("    zero:", 12), r"(\S+ x \S+)"):
                x, y = pair.split(" x ")
                bits = read_pattern(x, self.a), read_pattern(y, self.b)
                check(0 in bits and k not in products and (k < self.k or bits == (0, 0)), "zero product of k =", k)
                products[k] = 0
                self.note(k, bits, (None, None))
        check(sorted(products) == list(ks), "the k of", step)
        self.total("products", sum(products.values()), c, step)

    def bit_step(self, ks: range, c: str) -> None:
        step = self.opening()
        found = self.match(
            rf"{step}: bits set in a (xor|and) b, counted, and {re.escape(c)}; 32 k a word, lowest first"
        )
        check(f".{found[0]}.popc" in self.mnemonic and self.a == self.b == "b1", "the operation")
        check(self.next().split() == ["k", "a", "b", "a", found[0], "b", "count"], "the heading")
        total = 0
        for start in range(ks.start, ks.stop, 32):
            word = r"(0x[0-9a-f]{8})"
            first, last, a, b, combined, count = self.match(rf" +(\d+)\.\.(\d+)  {word}  {word}  {word} +(\d+)")
            check((int(first), int(last)) == (start, start + 31), "the k of a word")
            x, y = int(a, 16), int(b, 16)
            check(int(combined, 16) == (x ^ y if found[0] == "xor" else x & y), "a word")
            beyond = max(min(self.k - start, 32), 0)
            check(not (x | y) >> beyond, "what fills k is not 0")
            for i in range(32):
                self.note(start + i, (x >> i & 1, y >> i & 1), (None, None))
            check(int(count) == bin(int(combined, 16)).count("1"), "the count of a word")
            total += int(count)
        self.total("count", total, c, step)

    def total(self, what: str, expected: int, c: str, step: str) -> None:
        [amount] = self.match(rf"    {what} +([+-]\d+)")
        check(int(amount) == expected, what, amount)
        value, bits = self.match(rf"    {re.escape(c)} +([+-]\d+) \(({HEX})\)")
        check(read_pattern(bits, self.c) == self.values[c] and int(value) == integer(self.values[c], self.c), "c")
        amount, words = self.match(r"    total +([+-]\d+), (.+)")
        total = expected + int(value)
        check(int(amount) == total, "the total", amount)
        size, _ = INTEGERS[self.d]
        low, high = -(1 << (size - 1)), (1 << (size - 1)) - 1
        if low <= total <= high:
            result, reason = total, "within the format's range"
        elif "satfinite" in self.mnemonic:
            result = high if total > high else low
            reason = f"clamped (.satfinite) to the {'highest' if total > high else 'lowest'} number, {result}"
        else:
            result, reason = integer(total % (1 << size), self.d), f"wrapped: the low {size} bits stay"
        check(words == reason, "the conversion of the total:", words)
        bits, value = self.match(rf"    -> ({HEX}) = ([+-]\d+)")
        self.values[step] = read_pattern(bits, self.d)
        check(integer(self.values[step], self.d) == result == int(value), "the result of", step)
