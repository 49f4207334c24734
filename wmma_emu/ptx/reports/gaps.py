# SPDX-License-Identifier: MIT
"""Loops of a program, where something is missing between two accesses, and which places for a barrier serve several."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from wmma_emu.ptx.program.flow import jumps_of
from wmma_emu.ptx.program.program import PtxInstruction


def loops_of(code: Sequence[PtxInstruction]) -> list[range]:
    """List the loops of a program: from where a branch jumps back to, as far as the branch.

    Examples
    --------
    >>> from wmma_emu.ptx.program.program import Instruction, Target
    >>> add = Instruction("add.u32", "add", ("u32",), (), None, 3, 1)
    >>> back = Instruction("bra", "bra", (), (Target(1, "LOOP"),), None, 5, 1)
    >>> loops_of([add, add, add, back, add])
    [range(1, 4)]
    """
    return [range(target, i + 1) for i, target in jumps_of(code) if target <= i]


class Gap(NamedTuple):
    """Where something is missing: behind one instruction and before another one, counted in those of the program.

    Where the first stands below the second, it leads around a loop, of which the range has the instructions; what is
    behind the loop, or before it, is not in the gap.

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
        """The instructions before which a barrier would stand in it: around the loop, those of its end come first."""
        if self.first < self.second:
            return (range(self.first + 1, self.second + 1),)
        return range(self.first + 1, self.loop.stop), range(self.loop.start, self.second + 1)

    def contains(self, pc: int) -> bool:
        """Whether what stands before an instruction stands in it."""
        return any(pc in x for x in self.parts)


def gap_of(first: int, second: int, loops: Sequence[range]) -> Gap:
    """Say where something is missing: around a loop if there is one, whichever thread came first if there is none.

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
    """Choose places for barriers, the one that mends most first; give the pairs that each of them mends."""
    left, found = gaps, []
    while left:
        begins = sorted(x.start for _, gap in left for x in gap.parts if x)
        ends = sorted(x.stop for _, gap in left for x in gap.parts if x)
        pcs = {x for _, gap in left for x in (gap.first + 1, gap.second)}
        pc = max(pcs, key=lambda x: (bisect_right(begins, x) - bisect_right(ends, x), -x))
        found.append({i for i, gap in left if gap.contains(pc)})
        left = [x for x in left if not x[1].contains(pc)]
    return found
