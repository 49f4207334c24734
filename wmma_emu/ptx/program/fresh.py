# SPDX-License-Identifier: MIT
"""Which values ptxas knows already when it first looks at an instruction: those of the same straight-line code.

Before it follows constants through the whole kernel, ptxas goes once through each piece of straight-line code. What it
writes as several instructions then, which copies of ``.ftz`` and ``div.full.ftz`` are, is not put together again later.
"""

from functools import cached_property

from wmma_emu.ptx.program.flow import Blocks, reads, registers_in, writes
from wmma_emu.ptx.program.program import Instruction, Operand

__all__ = ["Fresh"]

_SCALED = frozenset(("rcp", "rsqrt", "sqrt", "ex2", "lg2", "div"))
"""What ends a piece without .ftz, if it is approximate: operands are looked at, and multiplied."""


class Fresh:
    """Where sources of instructions come from."""

    def __init__(self, code: tuple[Instruction, ...]) -> None:
        self._code = code

    @cached_property
    def _starts(self) -> list[int]:
        """Where the straight-line code begins that each instruction is in."""
        return [span.start for span in Blocks(self._code).spans for _ in span]

    def is_fresh(self, operand: Operand | None, place: int) -> bool:
        """Tell whether what an instruction reads is made of constants of the same piece."""
        waiting = [(x, place) for x in registers_in(operand)]
        seen = set(waiting)
        while waiting:
            made = self._maker(*waiting.pop())
            if made is None:
                return False
            more = {(x, made) for x in reads(self._code[made])} - seen
            seen |= more
            waiting += more
        return True

    def _maker(self, register: int, place: int) -> int | None:
        """Where a register was written last, before a place in the same piece; None where its value is not fresh."""
        for i in range(place - 1, self._starts[place] - 1, -1):
            instruction = self._code[i]
            kind, modifiers = instruction.mnemonic, instruction.modifiers
            is_scaled = kind in _SCALED and "approx" in modifiers and "ftz" not in modifiers
            if is_scaled or kind in ("bar", "barrier"):
                return None
            if register in writes(instruction):
                is_kept = instruction.guard is not None or (kind == "div" and "approx" in modifiers)
                return None if is_kept else i
        return None
