# SPDX-License-Identifier: MIT
"""Accesses that poll: a loop around them goes on, or ends, by the value that they read."""

from typing import NamedTuple

from wmma_emu.ptx.program.flow import reads, registers_in, writes
from wmma_emu.ptx.program.program import Instruction, KernelProgram, Target

__all__ = ["NO_POLLS", "Polls", "polls_of"]

_STRONG = {"volatile", "relaxed", "acquire", "mmio"}


class Polls(NamedTuple):
    """Accesses whose value decides whether a loop around them goes round again, as the `id` of their instructions.

    ``waits`` are loads and atomic operations that wait for what another thread writes, ``takings`` those by
    ``atom.cas``, which take a lock, or try again.
    """

    waits: frozenset[int]
    takings: frozenset[int]

    def __bool__(self) -> bool:
        return bool(self.waits or self.takings)


NO_POLLS = Polls(frozenset(), frozenset())


def polls_of(program: KernelProgram) -> Polls:
    """Find the strong accesses of a program that poll.

    A loop is what lies between a jump back and its target. The value is followed through the registers of the loop to
    a jump in it that leads out of it, or back to its beginning.

    Examples
    --------
    >>> from wmma_emu.ptx.program.program import AddressOperand, Predicate, Register, Symbol
    >>> flag, p = Register(0, "%r1", "b32"), Register(1, "%p1", "pred")
    >>> where = AddressOperand(Symbol("shared", 0, "flag", 4))
    >>> load = Instruction("ld.volatile.shared.u32", "ld", ("volatile", "shared", "u32"), (flag, where), None, 1, 1)
    >>> test = Instruction("setp.eq.u32", "setp", ("eq", "u32"), (p, flag, flag), None, 2, 1)
    >>> jump = Instruction("bra", "bra", (), (Target(0, "L"),), Predicate(p, False), 3, 1)
    >>> program = KernelProgram("k", (), 0, (flag, p), (load, test, jump), (), 4, None, 0, None, None, ())
    >>> polls_of(program).waits == {id(load)}, polls_of(program).takings
    (True, frozenset())
    """
    code = program.instructions
    reading = [i for i, x in enumerate(code) if x.mnemonic == "atom" or _is_strong_load(x)]
    if not reading:
        return NO_POLLS
    branches = [(i, x) for i, x in enumerate(code) if x.mnemonic == "bra"]
    jumps = [(i, to.index) for i, x in branches for to in x.operands if isinstance(to, Target)]
    spans = [range(target, i + 1) for i, target in jumps if target <= i]
    found = [code[x] for x in reading if any(x in span and _decides(code, x, span, jumps) for span in spans)]
    takes = frozenset(id(x) for x in found if "cas" in x.modifiers)
    return Polls(frozenset(id(x) for x in found) - takes, takes)


def _is_strong_load(instruction: Instruction) -> bool:
    return instruction.mnemonic == "ld" and not _STRONG.isdisjoint(instruction.modifiers)


def _decides(code: tuple[Instruction, ...], load: int, span: range, jumps: list[tuple[int, int]]) -> bool:
    """Tell whether what a load reads reaches the guard of a jump that ends the loop or begins it again."""
    known = set(writes(code[load]))
    while True:
        more = {r for i in span if known.intersection(reads(code[i])) for r in writes(code[i])} - known
        if not more:
            break
        known |= more
    ends = [i for i, target in jumps if i in span and (target not in span or target == span.start)]
    ends += [i for i in span if code[i].mnemonic in ("ret", "exit")]
    return any(not known.isdisjoint(registers_in(code[i].guard)) for i in ends)
