# SPDX-License-Identifier: MIT
"""Exact values as patterns: products and c for the cases that are asked, and their notation."""

from collections.abc import Iterable

from wmma_emu.applications.probing.device_under_test import DeviceUnderTest, Query
from wmma_emu.formats import Format
from wmma_emu.formats.reference import round_pack, unpack

C = "c"
Leaf = int | str
"""A summand: a position of k, or c."""


class Terms:
    """Makes terms of exact values in a subject's formats."""

    def __init__(self, device: DeviceUnderTest) -> None:
        self.a, self.b, self.c = device.a, device.b, device.c
        self.top = self.a.emax + self.b.emax
        self.bottom = self.a.emin + self.b.emin

    def product(self, exponent: int, a: int = 1, b: int = 1, sign: int = 0) -> tuple[int, int] | None:
        """Patterns of factors, ``a * 2**x`` and ``b * 2**y`` with x + y = exponent; None if the formats lack them.

        Normal numbers where that is possible, the exponent shared between both; a carries the sign.
        """
        reach_a, reach_b = a.bit_length() - 1, b.bit_length() - 1
        for below_a, below_b in ((0, 0), (self.a.fraction_bits, self.b.fraction_bits)):
            low = max(self.a.emin - below_a - reach_a, exponent - self.b.emax + reach_b)
            high = min(self.a.emax - reach_a, exponent - self.b.emin + below_b + reach_b)
            for x in sorted(range(low, high + 1), key=lambda x: abs(2 * x - low - high)):
                first, second = exact(self.a, a, x, sign), exact(self.b, b, exponent - x)
                if first is not None and second is not None:
                    return first, second
        return None

    def addend(self, significand: int, exponent: int, sign: int = 0) -> int | None:
        """The pattern of ``significand * 2**exponent`` as c; None if its format lacks it."""
        return exact(self.c, significand, exponent, sign)

    def case(self, terms: Iterable[tuple[Leaf, int, int, int]]) -> Query | None:
        """A case of terms (leaf, significand, exponent, sign), products taking their significand from a and b in turn.

        None if a format lacks one of them.
        """
        products: dict[int, tuple[int, int]] = {}
        c = 0
        for leaf, significand, exponent, sign in terms:
            if leaf == C:
                addend = self.addend(significand, exponent, sign)
                if addend is None:
                    return None
                c = addend
                continue
            factors = self._factors(significand, exponent, sign)
            if factors is None:
                return None
            products[int(leaf)] = factors
        return Query(products, c)

    def _factors(self, significand: int, exponent: int, sign: int) -> tuple[int, int] | None:
        return self.product(exponent, significand, 1, sign) or self.product(exponent, 1, significand, sign)

    def text(self, case: Query) -> str:
        """The terms of a case in words, neighbours that are alike as one: ``k0: 1024 x 1.5, k1..k3: 1 x 1``."""
        runs: list[tuple[int, int, tuple[int, int]]] = []
        for k, factors in sorted(case.products.items()):
            if runs and runs[-1][1] == k - 1 and runs[-1][2] == factors:
                runs[-1] = (runs[-1][0], k, factors)
            else:
                runs.append((k, k, factors))
        parts = [
            f"k{first}{f'..k{last}' if last > first else ''}: {value_text(x, self.a)} x {value_text(y, self.b)}"
            for first, last, (x, y) in runs
        ]
        if case.c or not parts:
            parts.append(f"c: {value_text(case.c, self.c)}")
        return ", ".join(parts)


def exact(fmt: Format, significand: int, exponent: int, sign: int = 0) -> int | None:
    """The pattern of ``(-1)**sign * significand * 2**exponent``; None if the format does not have it."""
    bits = round_pack(sign, significand, exponent, fmt, "RZ", "infinity")
    u = unpack(bits, fmt)
    if u.kind != ("finite" if significand else "zero"):
        return None
    shift = u.exponent - fmt.fraction_bits - exponent
    same = u.significand << shift == significand if shift >= 0 else u.significand == significand << -shift
    return bits if same else None


def pattern_text(bits: int, fmt: Format) -> str:
    """A pattern in hexadecimal digits, as many as the format has."""
    return f"{bits:#0{2 + fmt.bits // 4}x}"


def value_text(bits: int, fmt: Format) -> str:
    """A number in a form that shows its bits: ``-1.5 * 2**10``, with its pattern where it is special."""
    u = unpack(bits, fmt)
    minus = "-" if u.sign else ""
    if u.kind == "zero":
        return f"{minus}0"
    if u.kind != "finite":
        return f"{'NaN' if u.kind == 'nan' else minus + 'infinity'} ({pattern_text(bits, fmt)})"
    low = (u.significand & -u.significand).bit_length() - 1
    odd, exponent = u.significand >> low, u.exponent - fmt.fraction_bits + low
    if -4 <= exponent <= 10 and odd < 1 << 12:
        return f"{minus}{odd * 2.0**exponent:g}"
    return f"{minus}2**{exponent}" if odd == 1 else f"{minus}{odd} * 2**{exponent}"
