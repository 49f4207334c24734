# SPDX-License-Identifier: MIT
"""The warps that arrive last at a barrier."""

from collections.abc import Iterable
from typing import NamedTuple

_KEPT = 4


class LateWarp(NamedTuple):
    """A warp of a block for which others waited at a barrier: how often, and how many instructions in all."""

    warp: int
    times: int
    instructions: int

    def __add__(self, other: tuple[object, ...]) -> "LateWarp":
        _, times, instructions = other
        return LateWarp(self.warp, self.times + times, self.instructions + instructions)  # type: ignore[operator]

    def __str__(self) -> str:
        return f"warp {self.warp} arrives last {self.times} times, others wait {self.instructions} instructions"


def worst_of(given: Iterable[LateWarp]) -> tuple[LateWarp, ...]:
    """Return the warps for which others waited longest, those of several launches added.

    Examples
    --------
    >>> print(*worst_of([LateWarp(0, 1, 60), LateWarp(3, 2, 90), LateWarp(0, 1, 60)]), sep="; ")
    warp 0 arrives last 2 times, others wait 120 instructions; warp 3 arrives last 2 times, others wait 90 instructions
    """
    found: dict[int, LateWarp] = {}
    for x in given:
        found[x.warp] = found[x.warp] + x if x.warp in found else x
    return tuple(sorted(found.values(), key=lambda x: (-x.instructions, x.warp))[:_KEPT])
