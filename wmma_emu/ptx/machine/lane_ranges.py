# SPDX-License-Identifier: MIT
"""Descriptions of lanes, warps and other numbers as ranges."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from wmma_emu.display import runs_of
from wmma_emu.layouts.spec import LANES


def lanes_text(lanes: Sequence[int]) -> str:
    """Describe lanes of a warp, given in ascending order.

    Examples
    --------
    >>> lanes_text([5]), lanes_text([0, 1, 2, 7]), lanes_text(range(1, 32, 2))
    ('lane 5', 'lanes 0-2, 7', 'the 16 odd lanes')
    """
    for first, name in enumerate(("even", "odd")):
        every = range(first, LANES, 2)
        if list(lanes) == list(every):
            return f"the {len(every)} {name} lanes"
    return f"lane{'s' * (len(lanes) > 1)} {ranges(lanes)}"


def ranges(numbers: Iterable[int]) -> str:
    """Format ascending numbers as ranges.

    Examples
    --------
    >>> ranges([0, 1, 2, 5])
    '0-2, 5'
    """
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs_of(numbers))


def name_threads(participants: NDArray[np.bool_], live: NDArray[np.bool_]) -> tuple[str, bool]:
    """Name whole warps, or lanes of warps, grouped by equal lanes; return also whether it is one warp or lane.

    Threads are masks, (warps, 32); a whole warp consists of the threads that are ``live``.

    Examples
    --------
    >>> live = np.ones((3, 32), np.bool_)
    >>> name_threads(live & (np.arange(3) < 2)[:, None], live), name_threads(live & (np.arange(32) < 1), live)
    (('warps 0-1', False), ('lane 0 of each of warps 0-2', False))
    """
    whole = [w for w in range(len(participants)) if participants[w].any() and (participants[w] == live[w]).all()]
    names = [f"warp{'s' * (len(whole) > 1)} {ranges(whole)}"] if whole else []
    parts: dict[str, list[int]] = {}
    for w in np.flatnonzero(participants.any(axis=1)).tolist():
        if w not in whole:
            parts.setdefault(lanes_text(np.flatnonzero(participants[w]).tolist()), []).append(w)
    names += [
        f"{lanes} of {'each of ' * (len(warps) > 1)}warp{'s' * (len(warps) > 1)} {ranges(warps)}"
        for lanes, warps in parts.items()
    ]
    is_one = len(names) == 1 and (len(whole) == 1 or (not whole and int(np.count_nonzero(participants)) == 1))
    return " and ".join(names), is_one
