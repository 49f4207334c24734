# SPDX-License-Identifier: MIT
"""The lost bits of one element of D: the reference arithmetic, executed by a datapath that records its errors.

Every operation of a dot product returns the exact sum of its inputs plus an error. The error of D is therefore the sum
of these errors: no error is amplified, because every later operation is an addition. The ledger sums them by kind, as
integers over one power of two.
"""

from collections.abc import Sequence
from typing import Literal

from wmma_emu.arithmetic import DotProduct, reference
from wmma_emu.formats import Format
from wmma_emu.formats.reference import unpack

Kind = Literal["conversion", "products_cut", "addend_cut", "accumulation", "joining", "output"]

MEANINGS: dict[Kind, str] = {
    "conversion": "conversions of operands and of c at the input",
    "products_cut": "bits of products below the last bit that alignment keeps",
    "addend_cut": "bits of c, or of the running sum, below that bit",
    "accumulation": "roundings of sums that a later operation uses",
    "joining": "roundings of additions outside the steps: partial sums, c added last",
    "output": "the last rounding",
}
"""The possible sources of an error."""

KINDS: tuple[Kind, ...] = tuple(MEANINGS)


class _Running(int):
    """Bits of c, or of a sum that contains it, as opposed to elements of A or B."""


class Ledger(reference.Datapath):
    """The reference's datapath, with a record of each operation's error.

    Everything is recorded in units of ``2**low``, and every possible number is a multiple of it. The last `run` sets
    the errors by kind in ``lost``; in ``products`` the exact sum of the products that the datapath received; in
    ``overflow`` whether a sum left the range of its format, or a special took part.

    Examples
    --------
    One, and 2**-26, which is below the 25 bits that a Hopper GPU aligns to:

    >>> from wmma_emu.arithmetic import dot_product_of
    >>> from wmma_emu.instructions import lookup
    >>> ledger = Ledger(dot_product_of(lookup("m16n8k16.f32.f16.f16.f32"), "sm_90"))
    >>> one, small = 0x3C00, 0x0800
    >>> hex(ledger.run([one, small] + [0] * 14, [one, small] + [0] * 14, 0))
    '0x3f800000'
    >>> {kind: error * 2.0**ledger.low for kind, error in ledger.lost.items() if error}
    {'products_cut': -1.4901161193847656e-08}
    """

    def __init__(self, product: DotProduct) -> None:
        self.product = product
        model = product.model
        a, b = product.operand_formats
        formats = (product.c, product.d, model.accumulator_format, model.output_format)
        chain = (model.chain_format,) if model.arithmetic == "fma_chain" else ()
        places = [_last_place(x) for x in (*formats, *chain)]
        # Converted operands may have another power of two than the original ones.
        places += [_last_place(x) + _last_place(y) for x in (a, product.a) for y in (b, product.b)]
        places += [2 * _last_place(x) for x in chain]
        if product.scale is not None:
            places.append(min(places) + 2 * _last_place(product.scale))
        if model.arithmetic == "aligned_sum":
            places.append(model.min_exponent - model.fraction_bits)
        self.low = min(places)
        self._into = (model.chain_format if model.arithmetic == "fma_chain" else model.accumulator_format).name
        self._converted: dict[tuple[int, str, str], int] = {}
        self.run([], [], 0)

    def run(self, a: list[int], b: list[int], c: int, scale_a: Sequence[int] = (), scale_b: Sequence[int] = ()) -> int:
        """Compute one element, instruction after instruction over k, with a new record."""
        self.lost: dict[Kind, int] = dict.fromkeys(KINDS, 0)
        self.products = 0
        self.overflow = False
        self._pending: tuple[Kind, int] | None = None
        running: int = _Running(c)
        k = self.product.k
        for start in range(0, len(a), k):
            here = slice(start, start + k)
            number = start // k
            blocks = slice(number * self.product.scale_vec, (number + 1) * self.product.scale_vec)
            running = reference.dot(self.product, a[here], b[here], running, self, scale_a[blocks], scale_b[blocks])
        if self._pending is not None:
            self.lost["output"] += self._pending[1]
        return int(running)

    def convert(self, bits: int, source: Format, target: Format) -> int:
        """Convert a number; the errors of elements of A and B are visible in their products."""
        if not isinstance(bits, _Running):
            key = bits, source.name, target.name
            if key not in self._converted:
                self._converted[key] = super().convert(bits, source, target)
            return self._converted[key]
        result = super().convert(bits, source, target)
        before = self.number(bits, source)
        if target.name == self._into:  # c, at the input
            self._check(before, target)
            self.lost["conversion"] += self.number(result, target) - before
        else:
            self._book("accumulation", before, result, target, (before,))
        return _Running(result)

    def fused_step(
        self, product: DotProduct, a: list[int], b: list[int], c: int,
        scale_a: Sequence[int] = (), scale_b: Sequence[int] = (),
    ) -> int:  # fmt: skip
        """Record the bits that alignment truncates from products, or groups, and from the addend.

        Then the sum's rounding.
        """
        result = super().fused_step(product, a, b, c, scale_a, scale_b)
        model, terms = product.model, reference.step_terms(product, a, b, c, scale_a, scale_b)
        if any(term.is_special for term in terms):
            self.overflow = True
            return _Running(result)
        exponent = reference.alignment_exponent(model, terms)
        place = exponent - model.fraction_bits - self.low
        exact, kept = [], []
        for term in terms:
            # A zero may have any exponent.
            shift = term.exponent - term.fraction_bits - self.low if term.significand else 0
            size = term.significand << shift
            exact.append(-size if term.sign else size)
            kept.append(reference.cut(term, exponent, model.fraction_bits) << place)
        self.products += sum(exact[:-1])
        self.lost["products_cut"] += sum(kept[:-1]) - sum(exact[:-1])
        self.lost["addend_cut"] += kept[-1] - exact[-1]
        self._book("accumulation", sum(kept), result, model.output_format, (exact[-1],), model.accumulator_format)
        return _Running(result)

    def fma(self, product: DotProduct, a: int, b: int, c: int) -> int:
        """Record one multiply-add of a chain."""
        result, fmt = super().fma(product, a, b, c), product.model.chain_format
        addend = self.number(c, fmt)
        self._book("accumulation", self._multiplied(a, b, fmt) + addend, result, fmt, (addend,))
        return _Running(result)

    def mul(self, a: int, b: int, fmt: Format) -> int:
        """Record the product that begins a chain."""
        result = super().mul(a, b, fmt)
        self._book("accumulation", self._multiplied(a, b, fmt), result, fmt, ())
        return _Running(result)

    def add(self, a: int, b: int, fmt: Format) -> int:
        """Record an addition outside the steps."""
        result = super().add(a, b, fmt)
        numbers = self.number(a, fmt), self.number(b, fmt)
        self._book("joining", sum(numbers), result, fmt, numbers)
        return _Running(result)

    def number(self, bits: int, fmt: Format) -> int:
        """Return the value of a pattern in units of the ledger; 0 for a special, which is recorded as overflow."""
        u = unpack(bits, fmt)
        if u.kind in ("infinity", "nan"):
            self.overflow = True
            return 0
        size = u.significand << (u.exponent - fmt.fraction_bits - self.low)
        return -size if u.sign else size

    def _multiplied(self, a: int, b: int, fmt: Format) -> int:
        x, y = unpack(a, fmt), unpack(b, fmt)
        if {x.kind, y.kind} & {"infinity", "nan"}:
            self.overflow = True
            return 0
        size = (x.significand * y.significand) << (x.exponent + y.exponent - 2 * fmt.fraction_bits - self.low)
        value = -size if x.sign ^ y.sign else size
        self.products += value
        return value

    def _check(self, exact: int, fmt: Format) -> None:
        """Record a number beyond a format's range, which may be rounded to its largest one."""
        if abs(exact).bit_length() - 1 + self.low > fmt.emax:
            self.overflow = True

    def _book(
        self, kind: Kind, exact: int, result: int, rounded_to: Format, operands: tuple[int, ...],
        stored: Format | None = None,
    ) -> None:  # fmt: skip
        """Record a rounding as the last one so far; its kind is final only when another follows.

        An operation that returns a number unchanged, having added only zeros, does not count.
        """
        self._check(exact, rounded_to)
        error = self.number(result, stored or rounded_to) - exact
        if error == 0 and exact in operands:
            return
        if self._pending is not None:
            earlier, amount = self._pending
            self.lost[earlier] += amount
        self._pending = kind, error


def _last_place(fmt: Format) -> int:
    """Return the exponent of a format's smallest number; 0 for integers."""
    return fmt.emin - fmt.fraction_bits if fmt.is_float else 0
