# SPDX-License-Identifier: MIT
"""Descriptions of lanes, warps and other numbers as ranges."""

from collections.abc import Iterable, Sequence

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
