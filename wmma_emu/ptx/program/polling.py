# SPDX-License-Identifier: MIT
"""Accesses that poll: the value that they read decides whether a loop around them continues."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from wmma_emu.ptx.program.flow import definitions, jumps_of, reads, registers_in, writes
from wmma_emu.ptx.program.program import (
    AddressOperand,
    KernelProgram,
    PtxInstruction,
    Register,
    SpecialRegister,
    Symbol,
)
from wmma_emu.ptx.program.special import CLOCKS

_STRONG = {"volatile", "relaxed", "acquire", "mmio"}
_MEETING = {"atom", "bar", "barrier", "mbarrier", "shfl", "vote", "match", "redux", "call"}


class Polls(NamedTuple):
    """The accesses whose value decides whether a loop around them repeats, as the `id` of their instructions.

    ``waits`` are loads and atomic operations that wait for a store of another thread; ``lock_attempts`` are
    ``atom.cas`` that acquire a lock or try again. Compilers move the first access of a loop that sleeps before the
    loop: it polls as well. ``cas_guesses`` are weak loads of a word whose value becomes the expected value of an
    ``atom.cas`` of that word. ``timers`` are the operands, by their `id`, that read a clock in a loop which waits
    only for time.
    """

    waits: frozenset[int]
    lock_attempts: frozenset[int]
    cas_guesses: frozenset[int] = frozenset()
    timers: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.waits or self.lock_attempts)


NO_POLLS = Polls(frozenset(), frozenset())


def polls_of(program: KernelProgram) -> Polls:
    """Find the strong accesses of a program that poll.

    A loop is the code between a backward jump and its target. The value is followed through registers to a jump in the
    loop that leads out of it, or back to its beginning.

    Examples
    --------
    >>> from wmma_emu.ptx.program.program import AddressOperand, Predicate, Register, Symbol, LabelTarget
    >>> flag, p = Register(0, "%r1", "b32"), Register(1, "%p1", "pred")
    >>> where = AddressOperand(Symbol("shared", 0, "flag", 4))
    >>> load = PtxInstruction("ld.volatile.shared.u32", "ld", ("volatile", "shared", "u32"), (flag, where), None, 1, 1)
    >>> test = PtxInstruction("setp.eq.u32", "setp", ("eq", "u32"), (p, flag, flag), None, 2, 1)
    >>> jump = PtxInstruction("bra", "bra", (), (LabelTarget(0, "L"),), Predicate(p, False), 3, 1)
    >>> program = KernelProgram("k", (), 0, (flag, p), (load, test, jump), (), 4, None, 0, None, None, ())
    >>> polls_of(program).waits == {id(load)}, polls_of(program).lock_attempts
    (True, frozenset())
    """
    code = program.instructions
    reading = [i for i, x in enumerate(code) if x.mnemonic == "atom" or _is_strong_load(x)]
    timers = [i for i, x in enumerate(code) if _clocks_in(x)] if CLOCKS.intersection(program.specials) else []
    if not reading and not timers:
        return NO_POLLS
    guesses = frozenset(id(x) for x in _guesses(code))
    jumps = [(i, target) for i, target in jumps_of(code) if code[i].mnemonic == "bra"]
    spans = [range(target, i + 1) for i, target in jumps if target <= i]
    waiting = [(x, span) for span in spans for x in timers if x in span and not _waits_for_others(code, span)]
    decisive = {x for x, span in waiting if _decides(code, x, span, jumps)}
    waits_for_time = frozenset(id(y) for x in decisive for y in _clocks_in(code[x]))
    polls = [(x, span) for span in spans for x in reading if x in span and _decides(code, x, span, jumps)]
    first = {x for x in reading for poll, span in polls if _is_first_poll(code, x, poll, span, jumps)}
    found = [code[x] for x in sorted(first.union(x for x, _ in polls))]
    takes = frozenset(id(x) for x in found if "cas" in x.modifiers)
    return Polls(frozenset(id(x) for x in found) - takes, takes, guesses, waits_for_time)


def _clocks_in(instruction: PtxInstruction) -> list[SpecialRegister]:
    return [x for x in instruction.operands if isinstance(x, SpecialRegister) and x.name in CLOCKS]


def _waits_for_others(code: tuple[PtxInstruction, ...], span: range) -> bool:
    """Return whether a loop reads memory that other threads write, or meets them: it may be a wait with a time-out."""
    return any(code[i].mnemonic in _MEETING or _is_strong_load(code[i]) for i in span)


def _is_strong_load(instruction: PtxInstruction) -> bool:
    return instruction.mnemonic == "ld" and not _STRONG.isdisjoint(instruction.modifiers)


def _decides(code: tuple[PtxInstruction, ...], load: int, span: range, jumps: list[tuple[int, int]]) -> bool:
    """Return whether the loaded value reaches the guard of a jump that ends or repeats the loop."""
    known = _derived_registers(code, load, span)
    ends = [i for i, target in jumps if i in span and (target not in span or target == span.start)]
    ends += [i for i in span if code[i].mnemonic in ("ret", "exit")]
    return any(not known.isdisjoint(registers_in(code[i].guard)) for i in ends)


def registers_of_time(code: tuple[PtxInstruction, ...]) -> set[int]:
    """Return the registers whose values are computed from a clock."""
    return set().union(*(_derived_registers(code, i, range(len(code))) for i, x in enumerate(code) if _clocks_in(x)))


def _derived_registers(code: tuple[PtxInstruction, ...], load: int, span: Iterable[int]) -> set[int]:
    known = set(writes(code[load]))
    while more := {r for i in span if known.intersection(reads(code[i])) for r in writes(code[i])} - known:
        known |= more
    return known


def _is_first_poll(
    code: tuple[PtxInstruction, ...], first: int, poll: int, span: range, jumps: list[tuple[int, int]]
) -> bool:  # fmt: skip
    """Return whether an access before a loop is the first poll, which decides whether the loop is entered."""
    if (
        first >= span.start
        or code[first].opcode != code[poll].opcode
        or _accessed_word(code[first], {}) != _accessed_word(code[poll], {})
    ):
        return False
    between = range(first + 1, span.start)
    known = _derived_registers(code, first, between)
    starts = [i for i, target in jumps if i in between and target >= span.start]
    return any(not known.isdisjoint(registers_in(code[i].guard)) for i in starts)


def _accessed_word(instruction: PtxInstruction, variables: Mapping[int, Symbol]) -> tuple[object, int] | None:
    """Return the address of an access as written: a variable or a register, and an offset."""
    found = next((x for x in instruction.operands if isinstance(x, AddressOperand)), None)
    if found is None:
        return None
    base = found.base
    return variables.get(base.index, base) if isinstance(base, Register) else base, found.offset


def _guesses(code: tuple[PtxInstruction, ...]) -> list[PtxInstruction]:
    """Return the weak loads whose value an ``atom.cas`` of the same word compares, which detects stale values."""
    takings = [x for x in code if x.mnemonic == "atom" and "cas" in x.modifiers]
    if not takings:
        return []
    # Registers that contain only the address of a variable.
    writers = definitions(code)
    moved = ((x.operands[1], writes(x)) for x in code if x.mnemonic == "mov" and x.guard is None)
    variables = {to[0]: x for x, to in moved if isinstance(x, Symbol) and len(to) == 1 and len(writers[to[0]]) == 1}
    expected = [(_accessed_word(x, variables), x.operands[2]) for x in takings]
    moves = [i for i, x in enumerate(code) if x.mnemonic == "mov"]
    found = []
    for i, x in enumerate(code):
        words = {r for word, value in expected if word == _accessed_word(x, variables) for r in registers_in(value)}
        if x.mnemonic == "ld" and words and not _is_strong_load(x) and words & _derived_registers(code, i, moves):
            found.append(x)
    return found
