# SPDX-License-Identifier: MIT
"""Loops of a program, gaps between two accesses, and positions for a barrier that close several gaps."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from wmma_emu.ptx.program.flow import jumps_of
from wmma_emu.ptx.program.program import PtxInstruction


def loops_of(code: Sequence[PtxInstruction]) -> list[range]:
    """List the loops of a program: from the target of a backward branch to the branch.

    Examples
    --------
    >>> from wmma_emu.ptx.program.program import LabelTarget, PtxInstruction
    >>> add = PtxInstruction("add.u32", "add", ("u32",), (), None, 3, 1)
    >>> back = PtxInstruction("bra", "bra", (), (LabelTarget(1, "LOOP"),), None, 5, 1)
    >>> loops_of([add, add, add, back, add])
    [range(1, 4)]
    """
    return [range(target, i + 1) for i, target in jumps_of(code) if target <= i]


class Gap(NamedTuple):
    """The instructions between two accesses, by index: after ``first`` and before ``second``.

    If the first index is the larger one, the gap wraps around ``loop``; instructions before and after the loop do not
    belong to it.

    Examples
    --------
    >>> gap, around = Gap(3, 7), Gap(7, 3, range(2, 10))
    >>> [x for x in range(12) if gap.contains(x)], [x for x in range(12) if around.contains(x)]
    ([4, 5, 6, 7], [2, 3, 8, 9])
    """

    first: int
    second: int
    loop: range = range(0)

    @property
    def parts(self) -> tuple[range, ...]:
        """The instructions before which a barrier closes the gap; around a loop, its end comes first."""
        if self.first < self.second:
            return (range(self.first + 1, self.second + 1),)
        return range(self.first + 1, self.loop.stop), range(self.loop.start, self.second + 1)

    def contains(self, pc: int) -> bool:
        """Return whether a barrier before an instruction closes the gap."""
        return any(pc in x for x in self.parts)


def gap_of(first: int, second: int, loops: Sequence[range]) -> Gap:
    """Return the gap between two accesses: around a loop if both are in one, else in the order of the program.

    Examples
    --------
    >>> gap_of(7, 3, [range(2, 9)]).parts, gap_of(7, 3, [range(5, 9)]).parts, gap_of(3, 7, []).parts
    ((range(8, 9), range(2, 4)), (range(4, 8),), (range(4, 8),))
    """
    inside = [loop for loop in loops if first in loop and second in loop]
    if first > second and inside:
        return Gap(first, second, min(inside, key=len))
    return Gap(min(first, second), max(first, second))


def barrier_groups(gaps: list[tuple[int, Gap]]) -> list[set[int]]:
    """Choose positions for barriers, the one that fixes most first; return the pairs that each of them fixes."""
    left, found = gaps, []
    while left:
        begins = sorted(x.start for _, gap in left for x in gap.parts if x)
        ends = sorted(x.stop for _, gap in left for x in gap.parts if x)
        pcs = {x for _, gap in left for x in (gap.first + 1, gap.second)}
        pc = max(pcs, key=lambda x: (bisect_right(begins, x) - bisect_right(ends, x), -x))
        found.append({i for i, gap in left if gap.contains(pc)})
        left = [x for x in left if not x[1].contains(pc)]
    return found
