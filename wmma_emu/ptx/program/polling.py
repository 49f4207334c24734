# SPDX-License-Identifier: MIT
"""Loads that poll: a loop around them goes on, or ends, by the value that they read."""

from wmma_emu.ptx.program.flow import reads, registers_in, writes
from wmma_emu.ptx.program.program import Instruction, KernelProgram, Target

__all__ = ["polling_loads"]


def polling_loads(program: KernelProgram) -> frozenset[int]:
    """Return the places of volatile loads whose value decides whether a loop around them goes round again.

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
    >>> polling_loads(program)
    frozenset({0})
    """
    code = program.instructions
    loads = [i for i, x in enumerate(code) if x.mnemonic == "ld" and "volatile" in x.modifiers]
    if not loads:
        return frozenset()
    branches = [(i, x) for i, x in enumerate(code) if x.mnemonic == "bra"]
    jumps = [(i, to.index) for i, x in branches for to in x.operands if isinstance(to, Target)]
    spans = [range(target, i + 1) for i, target in jumps if target <= i]
    return frozenset(x for x in loads if any(x in span and _decides(code, x, span, jumps) for span in spans))


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
