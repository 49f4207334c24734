# SPDX-License-Identifier: MIT
"""The steps of a long explanation that are drawn: the first, the last and the least exact, without no-op steps."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

from wmma_emu.arithmetic.explanation.steps import AlignedSum, BitCount, IntegerSum, MultiplyAdd, Rounding, Step

_MOST = 16
_AT_ENDS = 4
_WORST = 4
_LEAST_IDLE = 3


class Stretch(NamedTuple):
    """A range of steps that are not drawn; only the first range gives its reason, ``why``."""

    first: int
    last: int
    idle: bool
    why: bool

    @property
    def words(self) -> str:
        """The sentence that replaces them."""
        one = self.first == self.last
        which = f"Step {self.first}" if one else f"Steps {self.first} to {self.last}"
        if self.idle:
            text = f"{which} add products that are zero, and change nothing"
        else:
            text = f"{which} {'is' if one else 'are'} not drawn"
            if self.why:
                text += f": only the first {_AT_ENDS}, the last {_AT_ENDS} and {_WORST} inexact steps are"
        if self.why:
            text += f". draw_explanation(explanation, step={self.first}) draws {'it' if one else 'any one'}"
        return f"{text}."


def chosen_steps(steps: Sequence[Step]) -> list[Step | Stretch]:
    """Return the steps with an effect, or a selection if there are too many; omitted ranges are `Omitted` items."""
    idle = _idle(steps)
    busy = [i for i in range(len(steps)) if i not in idle]
    drawn = set(busy)
    if len(busy) > _MOST:
        drawn = {*busy[:_AT_ENDS], *busy[-_AT_ENDS:]}
        # Among equal losses, the earlier steps.
        drawn |= set(sorted(busy[_AT_ENDS:-_AT_ENDS], key=lambda i: (-loss(steps[i]), i))[:_WORST])
    found: list[Step | Stretch] = []
    said: set[bool] = set()
    for is_drawn, run in groupby(range(len(steps)), key=lambda i: i in drawn):
        places = list(run)
        if is_drawn:
            found += [steps[i] for i in places]
        elif numbers := [steps[i].number for i in places if steps[i].number]:
            nothing = all(i in idle for i in places)
            found.append(Stretch(numbers[0], numbers[-1], nothing, nothing not in said))
            said.add(nothing)
    return found


def _idle(steps: Sequence[Step]) -> set[int]:
    """Find runs of multiply-adds with a zero product that return their addend, as where K is padded with +0."""
    found: set[int] = set()
    for is_idle, run in groupby(range(len(steps)), key=lambda i: _does_nothing(steps[i])):
        places = list(run)
        if is_idle and len(places) >= _LEAST_IDLE:
            found |= set(places)
    return found


def _does_nothing(step: Step) -> bool:
    if not isinstance(step, MultiplyAdd) or step.operation != "fma" or step.special is not None:
        return False
    a, b, addend = step.operands
    return "zero" in (a.kind, b.kind) and step.result == addend.bits


def loss(step: Step) -> Fraction:
    """Return the distance of a step's result from the exact one; infinities and NaN are ignored.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> A, B = np.array([[1, 2**-13]], np.float16), np.array([[1], [2**-13]], np.float16)
    >>> e = we.explain("m16n8k16.f32.f16.f16.f32", A, B, row=0, col=0, arch="a100")
    >>> loss(e.steps[0]) == Fraction(1, 2**26)
    True
    """
    match step:
        case AlignedSum():
            cut = _rounded_away(step.rounding)
            for t in step.terms:
                cut += _power(t.exponent - t.fraction_bits) * (-t.cut if t.sign else t.cut)
            return abs(cut)
        case IntegerSum() | BitCount():
            return Fraction(abs(step.total - step.value))
    return abs(_rounded_away(step.rounding))


def _rounded_away(r: Rounding | None) -> Fraction:
    if r is None:
        return Fraction(0)
    difference = r.significand * _power(r.exponent) - r.kept * _power(r.kept_exponent)
    return -difference if r.sign else difference


def _power(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)
