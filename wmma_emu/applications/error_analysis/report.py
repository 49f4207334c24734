# SPDX-License-Identifier: MIT
"""The rounding errors of a product of matrices: every error, its contributions, and its bound."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import isfinite
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.applications.error_analysis.bounds import REFERENCE, Bound, bound_of
from wmma_emu.applications.error_analysis.elements import Oracle, compute
from wmma_emu.applications.error_analysis.exact import as_fraction, fractions_of, numbers_of
from wmma_emu.applications.error_analysis.ledger import KINDS, Kind
from wmma_emu.applications.error_analysis.operands import Multiplication, read_operands
from wmma_emu.applications.error_analysis.summary import ErrorSummary, as_float, summarize, ulp_of
from wmma_emu.arithmetic.explanation import Explanation
from wmma_emu.display import render
from wmma_emu.errors import OptionError, OutOfBoundsError, UnknownNameError, shorten
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.formats import format_of
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.formats.libraries import Carrier, Library, in_library, library_of, takes_tensors
from wmma_emu.gemm import Factors, explain
from wmma_emu.instructions import Arch, Instruction
from wmma_emu.warp import BoundInstruction

Fractions = NDArray[np.object_]
"""A `fractions.Fraction` for each element; None for an omitted element."""


@dataclass(frozen=True, slots=True, eq=False)
class ErrorReport(Carrier, Sourced):
    """The errors of D = A B + C as one instruction computes it. ``str()`` gives a table.

    Every array has the shape of D. Elements whose row of A, column of B or c has an infinity or NaN, and elements that
    overflow, are omitted: they are None, or NaN in arrays of floats.

    Parameters
    ----------
    instruction, arch, model : str
    evidence : Evidence
        The evidence for the model.
    k : int
        The K of the matrices.
    format : str
        The format of D.
    result : array
        D, in its dtype: the bits that `wmma_emu.gemm` gives. For operands of torch or JAX it is an array of that
        library; all other arrays are NumPy's.
    exact, errors : object arrays of fractions.Fraction
        The exact A B + C, and D minus the exact value.
    ulps : float64 array
        The errors in ulps of D's format, as `ErrorSummary` defines them.
    contributions : dict
        The contribution of each kind of loss to the errors. The sum is exact: in every element, the kinds add up to the
        error. `wmma_emu.applications.error_analysis.MEANINGS` describes the kinds.
    bounds : object array of fractions.Fraction
        An upper bound on the error of each element, whatever its operands' signs and last bits.
    ratios : float64 array
        Absolute errors over bounds, at most 1.
    bound : Bound
        The bound of the instruction.
    summary : ErrorSummary
    specials, overflows : int
        The numbers of omitted elements: for an infinity or NaN among the operands; because a sum overflowed.
    """

    instruction: str
    arch: str
    model: str
    evidence: Evidence
    k: int
    format: str
    result: NDArray[Any]
    exact: Fractions
    errors: Fractions
    ulps: NDArray[np.float64]
    contributions: Mapping[Kind, Fractions]
    bounds: Fractions
    ratios: NDArray[np.float64]
    bound: Bound
    summary: ErrorSummary
    specials: int
    overflows: int
    _explain: Callable[[tuple[int, ...]], Explanation] = field(repr=False)

    @property
    def worst(self) -> tuple[int, ...] | None:
        """The index of the largest error in ulps."""
        return self.summary.worst

    @property
    def library(self) -> Library | None:
        """The library of the result array; None for NumPy's."""
        return library_of(self.result)

    def in_library(self, library: Library | None) -> Self:
        """Return the same report with the result as an array of torch or JAX, or of NumPy."""
        plain = from_bits(to_bits(self.result, self.format, "D"), self.format)
        return replace(self, result=in_library(plain, library))

    def explain(self, *where: int) -> Explanation:
        """Explain one element, by default the worst, as `wmma_emu.explain` does: every term, every truncated bit.

        Raises
        ------
        UnsupportedInstructionError
            If no index is given, and no element has an error.
        OutOfBoundsError
            If D has no such element.
        """
        shape = self.result.shape
        if where and (len(where) != len(shape) or not all(0 <= i < n for i, n in zip(where, shape, strict=True))):
            raise OutOfBoundsError(f"the element {list(where)} does not exist in D, which has shape {shape}")
        place = where or self.worst
        if place is None:
            raise OptionError("no counted element has an error; name one, report.explain(row, column)")
        return self._explain(tuple(place))

    def largest_ratio(self) -> tuple[float, tuple[int, ...]] | None:
        """Return the largest ratio of an error to its bound, and its index; None if nothing is counted."""
        if not self.summary.count:
            return None
        flat = int(np.nanargmax(self.ratios))
        where = tuple(int(i) for i in np.unravel_index(flat, self.ratios.shape))
        return float(self.ratios[where]), where

    def in_ulps(self, kind: Kind) -> NDArray[np.float64]:
        """Return one kind of loss in ulps of D, signed as the errors: negative if D is too small.

        Raises
        ------
        UnsupportedInstructionError
            If the kind does not exist.
        """
        if kind not in self.contributions:
            raise UnknownNameError(f"the kind {shorten(kind)} does not exist; the kinds are {', '.join(KINDS)}")
        return _in_ulps(self.contributions[kind], self.exact, self.format)

    def to_dict(self) -> dict[str, Any]:
        """Return data for JSON: the figures, without the arrays; None for an infinite figure."""
        largest = self.largest_ratio()
        kinds = {kind: np.abs(self.in_ulps(kind)) for kind in KINDS}
        count = max(self.summary.count, 1)
        return {
            "instruction": self.instruction, "arch": self.arch, "model": self.model, "status": self.status,
            "source": self.source, "shape": list(self.result.shape), "k": self.k, "format": self.format,
            "count": self.summary.count, "specials": self.specials, "overflows": self.overflows,
            "max_ulps": _finite(self.summary.max_ulps), "mean_ulps": _finite(self.summary.mean_ulps),
            "bias_ulps": _finite(self.summary.bias_ulps), "relative_rms": _finite(self.summary.relative_rms),
            "correctly_rounded": self.summary.correctly_rounded,
            "worst": None if self.worst is None else list(self.worst),
            "lost": {
                kind: {
                    "elements": sum(x is not None and x != 0 for x in self.contributions[kind].flat),
                    "mean_ulps": _finite(float(np.nansum(x) / count)),
                    "max_ulps": _finite(float(np.nanmax(x, initial=0.0))),
                }
                for kind, x in kinds.items()
            },
            "bound": str(self.bound), "bound_reference": REFERENCE,
            "largest_ratio": None if largest is None else _finite(largest[0]),
        }  # fmt: skip

    def __str__(self) -> str:
        return str(render("errors.txt", self))


@takes_tensors
def error_report(
    ins: BoundInstruction | Instruction | str | None,
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None = None,
    *,
    arch: str | Arch | None = None,
    lowering: str | None = None,
    a_format: str | None = None,
    b_format: str | None = None,
    model: str | None = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
) -> ErrorReport:
    """Compare D = A B + C, as a chip computes it, with exact rational arithmetic, and report where bits were lost.

    Parameters
    ----------
    ins : BoundInstruction, Instruction, str or None
        An instruction bound to a chip; or an entry of the table, a mnemonic, or ``"fma.f32"``; None is the default for
        the matrices.
    A : array, shape (..., M, K)
    B : array, shape (..., K, N)
    C : array, shape (..., M, N), optional
        Arrays of NumPy, PyTorch (on the CPU) or JAX, of any size, as for `wmma_emu.gemm`: K is padded with +0, and
        instructions follow one another over ascending k. The reference computes everything, on Python's integers: a few
        microseconds for each product.
    arch, lowering
        The chip and the compiler's sequence, if ``ins`` is not bound.
    a_format, b_format : str, optional
        Formats of packed 4-bit matrices, given as uint8.
    model : str, optional
        The entry of the table of models, if sources disagree and ``ins`` is not bound.
    scale_a : array, shape (..., M, K / block), optional
    scale_b : array, shape (..., K / block, N), optional
        Block scales, as for `wmma_emu.gemm`: they are part of the exact product.

    Returns
    -------
    ErrorReport

    Raises
    ------
    UnsupportedInstructionError
        For integer and b1 instructions, whose products are exact; and if an instruction or a chip does not exist.
    FragmentMismatchError
        If shapes or dtypes do not match.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.full((1, 17), 2.0**-13, np.float16); A[0, 0] = 1
    >>> B = np.full((17, 1), 2.0**-13, np.float16); B[0, 0] = 1
    >>> print(error_report(None, A, B, arch="h200"))
    D 1 x 1 (f32), K = 17: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 on sm_90
    errors of 1 element in ulps of f32: max 2, mean 2, bias -2; relative rms 2.38e-07; 0 correctly rounded
    <BLANKLINE>
    lost bits     elements  mean |ulps|  max |ulps|  share
    products_cut         1            2           2  100 %  bits of products below the last bit kept
    <BLANKLINE>
    bound    |error| <= 2^-22 s + 2^-19.91 W + 2^-148;  s = |c| + sum |a||b|,  W = max(2^E, s, 2^-126)
             the largest error is 0.19 of its bound, at [0, 0]
    worst    D[0, 0] = 0x3f800000 = 1.0, error -2 ulps, all of it products_cut
             report.explain() shows every step, as wmma_emu.explain(ins, A, B, row=0, col=0) does
    """
    factors = Factors(A, B, scale_a, scale_b, a_format, b_format)
    m = read_operands(ins, factors, C, arch, lowering, model)
    bound = bound_of(m.product, m.k)
    oracle = Oracle(m)
    work, inside = compute(m), m.c.shape
    exact, errors, bounds, ratios = _none(inside), _none(inside), _none(inside), np.full(inside, np.nan)
    contributions: dict[Kind, Fractions] = {kind: _none(inside) for kind in KINDS}
    d = numbers_of(work.bits, m.product.d)
    results, low = fractions_of(d.integers, d.exponent), work.low
    counted = ~(oracle.is_special | work.overflow)
    for where in np.argwhere(counted).tolist():
        here = tuple(where)
        exact[here] = as_fraction(oracle.total[here], oracle.exponent)
        errors[here] = results[here] - exact[here]
        bounds[here] = limit = bound.of(*oracle.sizes(here))
        ratios[here] = float(abs(errors[here]) / limit) if limit else float(errors[here] != 0)
        for kind in KINDS:
            contributions[kind][here] = as_fraction(work.lost[kind][here], low)
        # The errors of converted operands are visible in the exact sum of their products.
        fed = as_fraction(work.products[here], low) - as_fraction(oracle.products[here], oracle.exponent)
        contributions["conversion"][here] += fed
    exact, errors, bounds = (x.reshape(m.shape) for x in (exact, errors, bounds))
    bits = work.bits.reshape(m.shape)
    entry = m.product.model
    return ErrorReport(
        instruction=m.name, arch=m.arch, model=entry.describe(), evidence=entry.evidence,
        k=m.a.shape[-1], format=m.product.d.name, result=from_bits(bits, m.product.d), exact=exact, errors=errors,
        ulps=_in_ulps(errors, exact, m.product.d.name),
        contributions={kind: x.reshape(m.shape) for kind, x in contributions.items()}, bounds=bounds,
        ratios=ratios.reshape(m.shape), bound=bound, summary=summarize(bits, m.product.d, exact),
        specials=int(oracle.is_special.sum()),
        overflows=int((work.overflow & ~oracle.is_special).sum()),
        _explain=partial(_explained, ins, m, arch, lowering, model, C is not None),
    )  # fmt: skip


def _explained(
    ins: Any, m: Multiplication, arch: str | Arch | None, lowering: str | None, model: str | None, has_c: bool,
    where: tuple[int, ...],
) -> Explanation:  # fmt: skip
    *batch, row, column = where
    index = int(np.ravel_multi_index(tuple(batch), m.shape[:-2])) if batch else 0
    a, b = from_bits(m.a[index], m.product.a), from_bits(m.b[index], m.product.b)
    c = from_bits(m.c[index], m.product.c) if has_c else None
    scales: dict[str, Any] = {}
    if m.scales is not None and m.instruction is not None:
        blocks = -(-m.a.shape[-1] // m.instruction.scale_block)  # without the padding of the last instruction
        x, y = (from_bits(bits[index], m.scales.format) for bits in m.scales[:2])
        scales = {"scale_a": x[:, :blocks], "scale_b": y[:blocks]}
    return explain(ins, a, b, c, row=row, col=column, arch=arch, lowering=lowering, model=model, **scales)


def _finite(x: float) -> float | None:
    return x if isfinite(x) else None


def _in_ulps(values: Fractions, exact: Fractions, fmt: str) -> NDArray[np.float64]:
    found = np.full(exact.shape, np.nan)
    for where, (value, x) in enumerate(zip(values.ravel().tolist(), exact.ravel().tolist(), strict=True)):
        if x is not None:
            found.flat[where] = as_float(value / ulp_of(x, format_of(fmt)))
    return found


def _none(shape: tuple[int, ...]) -> Fractions:
    return np.full(shape, None, np.object_)
