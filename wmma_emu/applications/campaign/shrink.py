# SPDX-License-Identifier: MIT
"""Reduction of a mismatch: to the fewest terms that still differ, then to the simplest numbers in them.

Many candidates are tried at once, because a GPU call costs the same for one as for hundreds.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice

from wmma_emu.applications.campaign.cases import Case, plain_indices
from wmma_emu.applications.campaign.registers import Variant
from wmma_emu.applications.campaign.simplify import cost_of_number, rebuilt, simpler
from wmma_emu.applications.campaign.simplify_scales import cost_of_scales, simpler_scales, terms_that_cancel
from wmma_emu.warp import BoundInstruction

Results = Callable[[Sequence[Case]], list[tuple[int, int]]]
"""A function from cases to the bits of both sides."""

_AT_ONCE = 256
_ROUNDS = 200
_TRIES = 120_000
_FEW = 3
"""The number of terms to which every mismatch so far could be reduced."""

C = -1
"""The number of c among the terms."""


def shrink(ins: BoundInstruction, results: Results, case: Case) -> Case:
    """Shrink a case while its sides differ; return it with the results of both sides.

    ``results`` executes and emulates cases that share the position and the variant.
    """
    best = case
    for plainer in (replace(case, variant=Variant()), replace(case, variant=replace(case.variant, a_shared=False))):
        if plainer != best:
            best = _first(results, [plainer]) or best
    best = _improve(ins, results, best, lambda x: _fewer_terms(ins, x))
    if len(active_terms(best)) > _FEW and ins.product.scale is None:  # its sizes ignore scales
        tries = islice(rebuilt(ins, best, active_terms(best), _FEW), _TRIES)
        best = _first(results, tries) or best
    return _improve(ins, results, best, lambda x: [*_fewer_terms(ins, x), *simpler(ins, x, active_terms(x))])


def active_terms(case: Case) -> list[int]:
    """Return the terms that are not all zero bits; -1 is c.

    Examples
    --------
    >>> active_terms(Case(0, 0, 0, (1, 0, 5), (1, 0, 0), 7, None, Variant()))
    [0, 2, -1]
    """
    terms = [i for i, a in enumerate(case.a) if a or case.b[case.k_of(i)]]
    return terms + ([C] if case.c else [])


def without(case: Case, terms: Iterable[int]) -> Case:
    """Return the case with some terms set to zero."""
    a, b, c = list(case.a), list(case.b), case.c
    for term in terms:
        if term == C:
            c = 0
        else:
            a[term] = b[case.k_of(term)] = 0
    return replace(case, a=tuple(a), b=tuple(b), c=c)


def _fewer_terms(ins: BoundInstruction, case: Case) -> list[Case]:
    """Propose cases without runs of terms, or with only them.

    Without unread elements, block scales, or sparse choices.
    """
    active = active_terms(case)
    candidates = []
    size = len(active) // 2
    while size:
        for start in range(0, len(active), size):
            run = active[start : start + size]
            candidates.append(without(case, run))
            if size > 1:
                candidates.append(without(case, set(active) - set(run)))
        size //= 2
    for pair in islice(terms_that_cancel(ins, case, active), _AT_ONCE):
        candidates += [without(case, set(active) - {*pair, C}), without(case, pair)]
    if ins.product.scale is not None:
        candidates += simpler_scales(ins, case)
    if case.indices is not None:
        read = set(case.indices)
        candidates.append(replace(case, b=tuple(x if k in read else 0 for k, x in enumerate(case.b))))
        plain = tuple(plain_indices(ins.instruction).tolist())
        if case.indices != plain:
            b = [0] * len(case.b)
            for term, k in enumerate(plain):
                b[k] = case.b[case.indices[term]]
            candidates.append(replace(case, b=tuple(b), indices=plain))
    return candidates


def _cost(ins: BoundInstruction, case: Case) -> tuple[float, ...]:
    """Return the size of a case: the number of terms, then unusual metadata, then complex numbers."""
    product = ins.product
    terms = active_terms(case)
    unread = 0
    moved = 0
    if case.indices is not None:
        unread = sum(1 for k, x in enumerate(case.b) if x and k not in set(case.indices))
        moved = sum(1 for x, y in zip(case.indices, plain_indices(ins.instruction).tolist(), strict=True) if x != y)
    numbers = cost_of_number(case.c, product.c)
    for term in terms:
        if term != C:
            numbers += cost_of_number(case.a[term], product.a) + cost_of_number(case.b[case.k_of(term)], product.b)
            numbers += term / 1000  # low positions are easier to read
    return len(terms) + unread, moved, numbers + cost_of_scales(ins, case)


def _improve(ins: BoundInstruction, results: Results, case: Case, moves: Callable[[Case], Iterable[Case]]) -> Case:
    """Take the cheapest candidate that still differs, as long as it is cheaper."""
    for _ in range(_ROUNDS):
        before = _cost(ins, case)
        cheaper = sorted((x for x in dict.fromkeys(moves(case)) if _cost(ins, x) < before), key=lambda x: _cost(ins, x))
        found = _first(results, cheaper)
        if found is None:
            break
        case = found
    return case


def _first(results: Results, candidates: Iterable[Case]) -> Case | None:
    """Return the first candidate whose sides differ, with their bits."""
    remaining = iter(candidates)
    while batch := list(islice(remaining, _AT_ONCE)):
        for candidate, (theirs, ours) in zip(batch, results(batch), strict=True):
            if theirs != ours:
                return candidate.with_results(theirs, ours)
    return None
