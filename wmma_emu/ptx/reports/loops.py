# SPDX-License-Identifier: MIT
"""Which instructions of a program stand in a loop."""

from collections.abc import Sequence

from wmma_emu.ptx.program.program import Instruction, Target

__all__ = ["loops_of"]


def loops_of(code: Sequence[Instruction]) -> list[range]:
    """List the loops of a program: from where a branch jumps back to, as far as the branch.

    Examples
    --------
    >>> from wmma_emu.ptx.program.program import Instruction, Target
    >>> add = Instruction("add.u32", "add", ("u32",), (), None, 3, 1)
    >>> back = Instruction("bra", "bra", (), (Target(1, "LOOP"),), None, 5, 1)
    >>> loops_of([add, add, add, back, add])
    [range(1, 4)]
    """
    jumps = ((i, x.index) for i, one in enumerate(code) for x in one.operands if isinstance(x, Target))
    return [range(target, i + 1) for i, target in jumps if target <= i]
