# SPDX-License-Identifier: MIT
"""The search for the arithmetic that gives a library's bits: on a part of the rows first, then on all elements."""

import time
from typing import Any, NamedTuple

import torch

from tools.model_products.orders import INSTRUCTIONS, Candidate, Sums, candidates, finished
from tools.model_products.tasks import Task
from wmma_emu.gemm import KOrder

_FIRST = 48
"""Rows on which a candidate is tried first, if a product is large."""

_LARGE = 1 << 28


class Explained(NamedTuple):
    """The candidate that gives the most elements, all if ``differ`` is 0.

    ``plain_differ`` and ``split_differ`` count the elements that a plain loop and two ranges of k do not give, which
    shows whether the operands distinguish orders.
    """

    candidate: Candidate
    differ: int
    plain_differ: int
    elements: int
    tried: int
    split_differ: int = 0
    equal_on_rows: tuple[Candidate, ...] = ()


def explained(task: Task, deadline: float) -> Explained:
    """Look for the candidate that gives every bit of a task's result.

    After the deadline, only plain loops and the presets' orders are tried.
    """
    dtype = task.wanted.dtype
    plain = Candidate(INSTRUCTIONS[str(dtype).removeprefix("torch.")][0], KOrder())
    best: tuple[Candidate, int] = (plain, task.wanted.numel() + 1)
    tried = 0
    near: list[Candidate] = []
    for wide in (False, True):
        for layout in task.layouts:
            a, b = task.factors(layout)
            rows, k = _rows(task, a), a.shape[-1]
            sums = Sums(a if rows is None else a[..., rows, :], b)
            for one in candidates(str(dtype).removeprefix("torch."), k, layout, task.addend is not None, wide):
                if wide and time.monotonic() > deadline:
                    break
                tried += 1
                differ = _differ(task, sums, one, rows)
                if differ < best[1]:
                    best = (one, differ)
                if differ:
                    continue
                if rows is None or not _differ(task, Sums(a, b), one, None):
                    return _result(task, one, plain, tried, ())
                near.append(one)
            if wide and time.monotonic() > deadline:
                break
    return _result(task, near[0] if near else best[0], plain, tried, tuple(near))


def _result(task: Task, found: Candidate, plain: Candidate, tried: int, near: tuple[Candidate, ...]) -> Explained:
    split = plain._replace(order=KOrder(tile=64, splits=2))
    return Explained(
        found, _whole(task, found), _whole(task, plain), task.wanted.numel(), tried,
        _whole(task, split) if task.depth > 64 else 0, near,
    )  # fmt: skip


def _rows(task: Task, a: Any) -> Any:
    """Return the rows that are tried first; None for all, and for convolutions, whose results are rearranged."""
    if task.convolves or a.dim() > 2 or task.work < _LARGE or a.shape[-2] <= _FIRST:
        return None
    return torch.linspace(0, a.shape[-2] - 1, _FIRST, device=a.device).long()


def _whole(task: Task, candidate: Candidate) -> int:
    return _differ(task, Sums(*task.factors(candidate.layout)), candidate, None)


def _differ(task: Task, sums: Sums, candidate: Candidate, rows: Any) -> int:
    """Return the number of elements of the result, or of some rows, that a candidate does not give."""
    wanted, addend = task.wanted, task.addend
    if rows is not None:
        wanted = wanted[rows]
        addend = addend[rows] if addend is not None and addend.dim() == 2 and addend.shape[0] > 1 else addend
    found = task.assembled(candidate.layout, finished(sums.of(candidate), addend, candidate.form, wanted.dtype))
    return int((found.reshape(wanted.shape).view(torch.int16) != wanted.view(torch.int16)).sum())
