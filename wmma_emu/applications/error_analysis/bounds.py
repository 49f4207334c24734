# SPDX-License-Identifier: MIT
"""A-priori error bounds of D, from the model's parameters and the sizes of the operands.

The derivation is docs/explanation/error-bounds.md. Let ``s = |c| + sum |a||b|`` of one element, and let the computation
take T aligned steps of n products, which keep F bits, and roundings of unit roundoff u_i and underflow error eta_i
(half of the smallest number, or all of it). Then

    |error| <= U g (s + H) + H + T (n + 1) 2**-F W

with ``U = sum u_i``, ``H = sum eta_i``, ``g >= prod (1 + u_i)`` over the roundings that may increase a magnitude, and W
at least as large as any power of two that a step aligns to: the largest of 2**E, where E is the largest exponent of a
non-zero product, of the accumulator's smallest normal number, and of the bound on c or a running sum.

With block scales, products are of scaled elements. If a datapath sums groups of products and aligns them by their
scales, n counts groups and 2**E is the largest product of two scales' powers of two.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic import DotProduct
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.formats import Format

REFERENCE = (
    "derived for this model in docs/explanation/error-bounds.md, after P. Blanchard, N. J. Higham, F. Lopez, T. Mary "
    "and S. Pranesh, SIAM J. Sci. Comput. 42(3), C124-C141, 2020"
)

_GRAIN = 1 << 40


@dataclass(frozen=True, slots=True)
class Bound:
    """The a-priori bound of an instruction, or of several over k: the part that does not depend on the operands.

    Parameters
    ----------
    steps, terms : int
        The number of aligned steps of an element, and of terms of each: its products, and c or the running sum.
    fraction_bits : int
        F: the number of bits that each step keeps below the exponent that it aligns to.
    roundings : int
        The number of roundings of an element.
    unit_roundoffs : Fraction
        U, the sum of their unit roundoffs.
    growth : Fraction
        g, the factor by which they may increase a magnitude.
    underflow : Fraction
        H, the sum of their errors below the smallest normal number.
    floor : Fraction
        The smallest W.
    carries : {"", "c", "sum"}
        The terms of a step in addition to products: none; c alone; or a running sum.

    Examples
    --------
    Two steps of eight products and c or the running sum, which keep 24 bits, each truncated to f32:

    >>> from wmma_emu.arithmetic import dot_product_of
    >>> from wmma_emu.instructions import lookup
    >>> bound = bound_of(dot_product_of(lookup("m16n8k16.f32.f16.f16.f32"), "sm_80"), 16)
    >>> bound.steps, bound.terms, bound.fraction_bits, bound.unit_roundoffs
    (2, 9, 24, Fraction(1, 4194304))
    >>> print(bound)
    |error| <= 2^-22 s + 2^-19.83 W + 2^-148;  s = |c| + sum |a||b|,  W = max(2^E, s, 2^-126)
    >>> float(bound.of(Fraction(0), Fraction(1), exponent=0)) == 2**-22 + 18 * 2**-24
    True
    """

    steps: int
    terms: int
    fraction_bits: int
    roundings: int
    unit_roundoffs: Fraction
    growth: Fraction
    underflow: Fraction
    floor: Fraction
    carries: str

    @property
    def alignment(self) -> Fraction:
        """The factor of W: each term of each step loses less than ``2**-F`` of it."""
        return Fraction(self.steps * self.terms, 1 << self.fraction_bits)

    def of(self, c: Fraction, products: Fraction, exponent: int | None) -> Fraction:
        """Bound one element.

        Parameters
        ----------
        c, products : Fraction
            ``|c|`` and ``sum |a||b|``.
        exponent : int, optional
            E, the largest exponent of a product: the sum of its factors' exponents, a subnormal having that of the
            smallest normal number. None if all products are zero.
        """
        reach = self.growth * (c + products + self.underflow)
        rounded = self.unit_roundoffs * reach + self.underflow
        if not self.steps:
            return rounded
        widest = max(self.floor, {"": self.floor, "c": c, "sum": reach}[self.carries])
        if exponent is not None:
            widest = max(widest, Fraction(2) ** exponent)
        return rounded + self.alignment * widest

    def __str__(self) -> str:
        s = "s" if self.growth == 1 or self.unit_roundoffs * (self.growth - 1) < self.unit_roundoffs / 100 else "g s"
        parts = [f"{_power(self.unit_roundoffs)} {s}"]
        legend = ["s = |c| + sum |a||b|"]
        if s == "g s":
            legend.append(f"g = {float(self.growth):.4g}")
        if self.steps:
            parts.append(f"{_power(self.alignment)} W")
            carried = {"": "", "c": "|c|, ", "sum": "s, " if s == "s" else "g s, "}[self.carries]
            legend.append(f"W = max(2^E, {carried}{_power(self.floor)})")
        if self.underflow:
            parts.append(_power(self.underflow))
        return f"|error| <= {' + '.join(parts)};  {',  '.join(legend)}"


def bound_of(product: DotProduct, k: int) -> Bound:
    """Bound an element of K products, where K is a multiple of the instruction's k.

    Raises
    ------
    UnsupportedInstructionError
        For integers, which have no error; and for a model whose datapath converts operands with loss.
    """
    model = product.model
    if model.arithmetic not in ("aligned_sum", "fma_chain"):
        raise UnsupportedInstructionError(
            f"{product.a} sums are exact, modulo 2**32 or clamped: there is no rounding to bound"
        )
    aligned = model.arithmetic == "aligned_sum"
    inner = model.accumulator_format if aligned else model.chain_format
    for name, source, target in zip(
        "ABc", (product.a, product.b, product.c), (*(product.operand_formats), inner), strict=True
    ):
        if not is_exact(source, target):
            raise UnsupportedInstructionError(
                f"{name} is {source}, but the datapath converts it to {target} with loss; the bound requires exact "
                "operands, as in every entry of the table"
            )
    mode = model.rounding if aligned else product.rounding
    step = _rounding(model.output_format if aligned else inner, mode)
    add = _Rounding(_rounding(inner, "RNE").unit, Fraction(0), True)  # a subnormal sum of two numbers is exact
    one: list[tuple[int, _Rounding]] = []
    steps = len(product.steps)
    if aligned:
        one.append((steps, step))
        one.append(((steps - 1 if model.partial_sums == "added" else 0) + (model.c_joins == "last_add"), add))
    else:
        one.append((product.k, step))
        one.append(({"first_step": 0, "last_add": 1, "each_add": steps}[model.c_joins], add))
    if not is_exact(inner, product.d):
        one.append((1, _rounding(product.d, "RNE")))
    executions = k // product.k
    counted = [(count * executions, x) for count, x in one]
    total = sum((count * x.unit for count, x in counted), Fraction(0))
    raising = sum((count * x.unit for count, x in counted if x.raises), Fraction(0))
    carries = ""
    if aligned and executions:
        alone = steps * executions == 1
        starts = model.c_joins == "last_add" and (steps == 1 or model.partial_sums == "added")
        carries = "" if starts else "c" if alone else "sum"
    return Bound(
        steps=steps * executions if aligned else 0,
        terms=max((_terms_of(product, len(x)) for x in product.steps), default=0) + 1,
        fraction_bits=model.fraction_bits,
        roundings=sum(count for count, _ in counted),
        unit_roundoffs=total,
        growth=_exponential(raising),
        underflow=sum((count * x.underflow for count, x in counted), Fraction(0)),
        floor=Fraction(2) ** max(inner.emin, model.min_exponent) if aligned else Fraction(0),
        carries=carries,
    )


def _terms_of(product: DotProduct, products: int) -> int:
    """Return the number of terms of a step's products: one each, or one per group."""
    size = product.model.group_terms if product.model.scaling == "groups" else 1
    return -(-products // size)


def is_exact(source: Format, target: Format) -> bool:
    """Return whether every number of one format is a number of the other.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> is_exact(format_of("e5m2"), format_of("f16")), is_exact(format_of("bf16"), format_of("f16"))
    (True, False)
    """
    return (
        source.fraction_bits <= target.fraction_bits
        and source.emin - source.fraction_bits >= target.emin - target.fraction_bits
        and source.emax <= target.emax
    )


def largest_exponents(
    a: NDArray[np.int64], b: NDArray[np.int64], nothing: int
) -> NDArray[np.int64]:  # fmt: skip
    """Return the largest exponent among the products of a row and a column; a zero has ``nothing`` or less."""
    result = np.full((a.shape[0], b.shape[1]), 2 * nothing, np.int64)
    for k in range(a.shape[1]):
        np.maximum(result, a[:, k, None] + b[None, k], out=result)
    return result


@dataclass(frozen=True, slots=True)
class _Rounding:
    """One rounding.

    Its relative error, its absolute error among subnormals, and whether it may increase a magnitude.
    """

    unit: Fraction
    underflow: Fraction
    raises: bool


def _rounding(fmt: Format, mode: str) -> _Rounding:
    nearest = mode in ("RNE", "RNA")
    unit = Fraction(1, 1 << (fmt.fraction_bits + nearest))
    return _Rounding(unit, unit * Fraction(2) ** fmt.emin, mode != "RZ")


def _exponential(x: Fraction) -> Fraction:
    """Return an upper bound of ``exp(x)``, where x is the sum of the u_i; no product of ``1 + u_i`` exceeds it.

    It is 1 for 0.
    """
    if not x:
        return Fraction(1)
    return Fraction(ceil(exp(float(x)) * (1 + 2.0**-40) * _GRAIN), _GRAIN)


def _power(x: Fraction) -> str:
    """Return a number as a power of two, rounded up to hundredths of the exponent."""
    if not x:
        return "0"
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    scaled = float(x / Fraction(2) ** exponent)
    hundredths = ceil((exponent + float(np.log2(scaled))) * 100 - 1e-9)
    return f"2^{hundredths / 100:g}"
