# SPDX-License-Identifier: MIT
"""Constant propagation: the registers with a known value at each instruction.

A value is known if it is the same on every path to the instruction. Paths that a known predicate excludes, and paths on
which the register is uninitialised, do not count. ptxas does the same after unrolling loops.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from types import EllipsisType

from wmma_emu.ptx.program.flow import NO_FALL_THROUGH, Blocks, reads, registers_in, targets_of, writes
from wmma_emu.ptx.program.program import Operand, PtxInstruction

Values = dict[int, int | None]
"""The values of registers: None for an unknown value; registers that are absent are uninitialised."""

Compute = Callable[[int, Mapping[int, int]], Mapping[int, int]]
"""A function from the index of an instruction and the known values of its sources to the known values that it
writes."""


class ConstantFlow:
    """The values at the start of every block, at the fixed point of the data flow.

    The results of instructions whose index is not in ``producers`` are unknown.
    """

    def __init__(self, code: tuple[PtxInstruction, ...], producers: Container[int], compute: Compute) -> None:
        self._code, self._compute = code, compute
        self._reads, self._writes = [reads(x) for x in code], [writes(x) for x in code]
        counts = Counter(x for written in self._writes for x in written)
        self._several = {x for x, count in counts.items() if count > 1}
        self._spans = _spans(code)
        self._block_at = {span.start: i for i, span in enumerate(self._spans)}
        # A register with one writer has one value everywhere; other registers have one value at each end of a block.
        self._producers = producers
        self._single: Values = {}
        for pc, written in enumerate(self._writes):
            if pc not in producers:
                self._single.update((x, None) for x in written if x not in self._several)
        changing = self._several | (counts.keys() - self._single.keys())
        self._changing = [[x for x in span if not changing.isdisjoint(self._writes[x])] for span in self._spans]
        self._after: dict[int, dict[int, Values]] = {}
        self._entries = {0, *(self._block_at[x.callee] for x in code if x.callee in self._block_at)}
        self._settle()

    def _settle(self) -> None:
        changed = True
        while changed:
            changed = False
            for i, pcs in enumerate(self._changing):
                before = self._before(i)
                if before is None:
                    continue
                for pc in pcs:
                    changed |= self._execute(pc, before)
                for follower in self._followers(i, before):
                    paths = self._after.setdefault(follower, {})
                    changed |= paths.get(i) != before
                    paths[i] = before

    def found(self, pcs: Container[int]) -> Iterator[tuple[int, dict[int, int]]]:
        """Yield the known source values of the instructions at ``pcs`` that may be executed."""
        for i, span in enumerate(self._spans):
            before = self._before(i)
            if before is None:
                continue
            changing = set(self._changing[i])
            for pc in span:
                if pc in pcs:
                    yield pc, self._known(pc, before)
                if pc in changing:
                    self._execute(pc, before)

    def _before(self, block: int) -> Values | None:
        """Return the values at the start of a block; None if the block is unreachable."""
        paths = self._after.get(block)
        if paths is None:
            return {} if block in self._entries else None
        met: Values = {}
        for values in paths.values():
            for register, value in values.items():
                met[register] = value if met.get(register, value) == value else None
        return met

    def _value(self, register: int, several: Values) -> int | EllipsisType | None:
        return (several if register in self._several else self._single).get(register, ...)

    def _known(self, pc: int, several: Values) -> dict[int, int]:
        values = {x: self._value(x, several) for x in self._reads[pc]}
        return {x: value for x, value in values.items() if isinstance(value, int)}

    def _execute(self, pc: int, several: Values) -> bool:
        taken = self._taken(pc, several)
        if taken is False or all(self._single.get(x, ...) is None for x in self._writes[pc]):
            return False
        known = self._known(pc, several)
        given = self._compute(pc, known) if pc in self._producers else {}
        # A source that comes from a later part of a loop is not known yet; an unknown source makes the result unknown.
        sources = [self._value(x, several) for x in self._reads[pc]]
        uninitialised = pc in self._producers and ... in sources and None not in sources
        changed = False
        for register in self._writes[pc]:
            value = given.get(register)
            values = several if register in self._several else self._single
            if value is None and uninitialised:
                if taken is not None and register in self._several:
                    values.pop(register, None)
                continue
            if taken is None or register not in self._several:
                value = value if values.get(register, value) == value else None
            changed |= values is self._single and values.get(register, ...) != value
            values[register] = value
        return changed

    def _taken(self, pc: int, several: Values) -> bool | None:
        guard = self._code[pc].guard
        if guard is None:
            return True
        value = self._value(guard.register.index, several)
        return bool(value) ^ guard.negated if isinstance(value, int) else None

    def _followers(self, block: int, several: Values) -> Iterator[int]:
        pc = self._spans[block][-1]
        last, taken = self._code[pc], self._taken(pc, several)
        if taken is not False:
            yield from (self._block_at[x] for x in targets_of(last) if x in self._block_at)
        if block + 1 < len(self._spans) and not (taken is True and last.mnemonic in NO_FALL_THROUGH):
            yield block + 1


def _spans(code: tuple[PtxInstruction, ...]) -> list[range]:
    starts = {0}
    for pc, instruction in enumerate(code):
        targets = targets_of(instruction)
        starts.update(targets)
        if instruction.callee is not None:
            starts.add(instruction.callee)
        if targets or instruction.mnemonic in NO_FALL_THROUGH:
            starts.add(pc + 1)
    bounds = sorted({x for x in starts if x < len(code)} | {len(code)})
    return [range(a, b) for a, b in pairwise(bounds)]


_SCALED = frozenset(("rcp", "rsqrt", "sqrt", "ex2", "lg2", "div"))
"""The approximate functions that end a block without .ftz: their sequence inspects and scales the operand."""


class FreshConstants:
    """The constants available to ptxas in its first pass over an instruction: those of the same block.

    Before it propagates constants through the whole kernel, ptxas makes one pass over each block of straight-line code.
    Copies with ``.ftz`` and ``div.full.ftz`` are expanded to several instructions in this pass, and not folded later.
    """

    def __init__(self, code: tuple[PtxInstruction, ...]) -> None:
        self._code = code

    @cached_property
    def _starts(self) -> list[int]:
        """The index at which the block of each instruction begins."""
        return [span.start for span in Blocks(self._code).spans for _ in span]

    def is_fresh(self, operand: Operand | None, pc: int) -> bool:
        """Return whether an operand is computed from constants of the same block."""
        waiting = [(x, pc) for x in registers_in(operand)]
        seen = set(waiting)
        while waiting:
            made = self._maker(*waiting.pop())
            if made is None:
                return False
            more = {(x, made) for x in reads(self._code[made])} - seen
            seen |= more
            waiting += more
        return True

    def _maker(self, register: int, pc: int) -> int | None:
        for i in range(pc - 1, self._starts[pc] - 1, -1):
            instruction = self._code[i]
            kind, modifiers = instruction.mnemonic, instruction.modifiers
            is_scaled = kind in _SCALED and "approx" in modifiers and "ftz" not in modifiers
            if is_scaled or kind in ("bar", "barrier"):
                return None
            if register in writes(instruction):
                is_kept = instruction.guard is not None or (kind == "div" and "approx" in modifiers)
                return None if is_kept else i
        return None
