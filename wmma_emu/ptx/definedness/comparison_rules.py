# SPDX-License-Identifier: MIT
"""Comparisons whose result is determined although some bits of the operands are undefined."""

import re
from typing import Any

import numpy as np

from wmma_emu.ptx.definedness.bit_rules import ElementRule, Rule, Sources, by_elements
from wmma_emu.ptx.definedness.undefined import everywhere
from wmma_emu.ptx.threads import Array

_INTEGER = re.compile(r"[bus](16|32|64)\Z")
_JOINS = ("and", "or", "xor")
_EQUALITY = ("eq", "ne")


def comparison(words: tuple[str, ...], halves_are_results: bool) -> Rule:
    """Make the rule of ``setp`` and ``set``; the halves of a packed type are separate results, or parts of one.

    ``words`` are the modifiers: the comparison, optionally the operation that joins it with a predicate, and last the
    type of the operands. The results of two halves are two predicates if ``halves_are_results`` (``setp``), else the
    halves of a word (``set``).
    """
    operation, kind = words[0], words[-1]
    join = next((x for x in words if x in _JOINS), "")
    if kind.endswith("x2") or (not halves_are_results and words[-2].endswith("x2")):
        return _of_halves(bool(join), halves_are_results)

    def rule(sources: Sources) -> tuple[Array, ...]:
        lost = _undecided(sources, operation, kind, join)
        if not join:
            return tuple(everywhere(lost, dtype) for dtype in sources.results)
        holds = _compared(sources, sources.values[:2], join)
        lost_with = sources.lost(2)
        found = []
        for dtype, now in zip(sources.results, (holds, ~holds), strict=False):
            undecided = lost | lost_with
            if join != "xor":
                decides = join == "or"
                by_comparison = ~lost & (now == decides)
                by_predicate = ~lost_with & (sources.values[2] == decides)
                undecided = undecided & ~by_comparison & ~by_predicate
            found.append(everywhere(undecided, dtype))
        return tuple(found)

    return rule


def _of_halves(joins: bool, as_predicates: bool) -> Rule:
    """Make the rule of packed types: each half is compared separately, and a joined predicate affects both."""
    more = ((2, 0, 0),) * joins
    halves = [((0, shift, 16), (1, shift, 16), *more) for shift in (0, 16)]
    if as_predicates:
        return by_elements(*(ElementRule(i, 0, 1, reads) for i, reads in enumerate(halves)))
    return by_elements(*(ElementRule(0, 16 * i, 16, reads) for i, reads in enumerate(halves)))


def _compared(sources: Sources, pair: list[Array], join: str) -> Array:
    neutral: list[Array] = [np.full((1, 1, 1), join == "and")] if join else []
    result = sources.computed([*pair, *neutral])[0]
    return result if result.dtype.kind == "b" else np.asarray(result != 0)


def _undecided(sources: Sources, operation: str, kind: str, join: str) -> Array:
    if not _INTEGER.match(kind):
        return sources.lost(0, 1)
    nothing: Any = sources.values[0].dtype.type(0)
    a, b = sources.values[:2]
    lost_a, lost_b = (nothing if x is None else x for x in sources.bits[:2])
    if operation in _EQUALITY:
        lost = lost_a | lost_b
        return np.asarray((lost != 0) & ((a ^ b) & ~lost == 0))
    # An order comparison has one result for all possible values if it has the same result for the extremes.
    sign: Any = nothing.dtype.type(1 << (8 * nothing.dtype.itemsize - 1) if kind[0] == "s" else 0)
    least, most = [], []
    for value, bits in ((a, lost_a), (b, lost_b)):
        least.append((value & ~bits) | (bits & sign))
        most.append(((value | bits) & ~sign) | (value & ~bits & sign))
    one = _compared(sources, [least[0], most[1]], join)
    return np.asarray(one != _compared(sources, [most[0], least[1]], join))
