# SPDX-License-Identifier: MIT
"""The accumulators of wgmma: proof that only wgmma uses them before a wait, on every path through a program."""

from collections.abc import Iterator

from wmma_emu.ptx.native.rows import NotNativeError
from wmma_emu.ptx.program.flow import NO_FALL_THROUGH, reads, registers_in, targets_of
from wmma_emu.ptx.program.program import Immediate, KernelProgram, PtxInstruction

_Ages = dict[int, int]
"""The number of groups that were committed since each register was written by a product in flight, at least."""

_OLDEST = 64
"""The age at which counting ends: a wait leaves fewer groups in flight."""

_proved: dict[int, KernelProgram] = {}
"""The programs without faults, by their identity; few, the last ones."""


def require_waits(program: KernelProgram) -> None:
    """Raise an error unless a wait follows every product on every path to another use of its accumulators.

    Raises
    ------
    NotNativeError
        The NumPy machine then runs the kernel, and reports what it finds.
    """
    if _proved.get(id(program)) is program:
        return
    code = program.instructions
    returns = [pc + 1 for pc, x in enumerate(code) if x.mnemonic == "call"]
    before: dict[int, _Ages] = {0: {}}
    left = [0]
    while left:
        pc = left.pop()
        if pc >= len(code):
            continue
        after = _after(code[pc], before[pc])
        for following in _followers(code[pc], pc, returns):
            known = before.get(following)
            joined = after if known is None else _joined(known, after)
            if joined != known:
                before[following] = joined
                left.append(following)
    _proved.clear()
    _proved[id(program)] = program


def _followers(instruction: PtxInstruction, pc: int, returns: list[int]) -> Iterator[int]:
    yield from targets_of(instruction)
    if instruction.mnemonic == "call" and instruction.callee is not None:
        yield instruction.callee
    if instruction.mnemonic == "ret":
        yield from returns
    if instruction.mnemonic not in NO_FALL_THROUGH or instruction.guard is not None:
        yield pc + 1


def _joined(x: _Ages, y: _Ages) -> _Ages:
    return {register: min(z[register] for z in (x, y) if register in z) for register in x.keys() | y.keys()}


def _after(instruction: PtxInstruction, ages: _Ages) -> _Ages:
    """Return the ages after an instruction, or raise an error if it uses an accumulator in flight."""
    modifiers = instruction.modifiers
    if instruction.mnemonic != "wgmma":
        used = {*reads(instruction), *(x for operand in instruction.operands for x in registers_in(operand))}
        if not used.isdisjoint(ages):
            raise NotNativeError(f"line {instruction.line} may use an accumulator before a wgmma.wait_group")
        return ages
    if "mma_async" in modifiers:
        _, *others = instruction.operands
        if any(x in ages for operand in others for x in registers_in(operand)):
            raise NotNativeError(f"line {instruction.line} may read an accumulator in flight")
        return ages | {x: 0 for x in registers_in(instruction.operands[0])}
    if "commit_group" in modifiers and instruction.guard is None:
        return {x: min(age + 1, _OLDEST) for x, age in ages.items()}
    if "wait_group" in modifiers and instruction.guard is None:
        count = instruction.operands[0]
        most = count.value if isinstance(count, Immediate) else _OLDEST
        return {x: age for x, age in ages.items() if age <= most}
    return ages
