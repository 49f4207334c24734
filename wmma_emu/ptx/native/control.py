# SPDX-License-Identifier: MIT
"""The ends of basic blocks: which words of a basic block tell the driver how its threads continue."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from wmma_emu.ptx.machine.barriers import decode_barrier
from wmma_emu.ptx.machine.compile import CompiledProgram
from wmma_emu.ptx.machine.control import CONTROL
from wmma_emu.ptx.machine.warp_sync import is_bar_warp, required_lanes
from wmma_emu.ptx.native.control_words import BlockField, Kind, Sync
from wmma_emu.ptx.native.refusals import reason_for
from wmma_emu.ptx.native.rows import NotNativeError
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.flow import targets_of
from wmma_emu.ptx.program.program import Immediate, KernelProgram, Predicate, PtxInstruction, Register

Words = dict[BlockField, int]

EVERYONE = 0xFFFF_FFFF
"""The mask of all lanes."""


class BlockNumbers(NamedTuple):
    """The numbers of the basic blocks of a kernel, in the order in which the driver prefers them.

    ``of`` has the number of each basic block by the index of its first instruction; ``landings`` those of the landings,
    where threads continue after a call or a barrier to receive its results, by the index of the next instruction.
    """

    of: Mapping[int, int]
    landings: Mapping[int, int]

    def after(self, pc: int) -> int:
        """Return the basic block at which threads continue that wait at an instruction, or call a function there."""
        return self.landings.get(pc + 1, self.of[pc + 1])


def block_numbers_of(compiled: CompiledProgram) -> BlockNumbers:
    """Number the basic blocks of a program."""
    landings = {pc + 1 for pc, x in enumerate(compiled.program.instructions) if has_landing(x)}
    of, landing = dict[int, int](), dict[int, int]()
    for start in sorted(compiled.basic_blocks):
        if start in landings:
            landing[start] = len(of) + len(landing)
        of[start] = len(of) + len(landing)
    return BlockNumbers(of, landing)


def has_landing(instruction: PtxInstruction) -> bool:
    """Return whether threads receive results of an instruction when they continue after it."""
    if instruction.mnemonic == "call":
        return bool(instruction.copies_out)
    return is_barrier(instruction) and "red" in instruction.modifiers


def is_barrier(instruction: PtxInstruction) -> bool:
    """Return whether an instruction is a barrier of the block."""
    return instruction.mnemonic in ("bar", "barrier") and not is_bar_warp(instruction)


def is_control(instruction: PtxInstruction) -> bool:
    """Return whether an instruction ends a basic block and sends its threads on."""
    return instruction.mnemonic in CONTROL and not is_bar_warp(instruction)


def guard_of(guard: Predicate | None, layout: WarpLayout) -> tuple[int, int]:
    """Return the offset of a guard, and the word with which it is XORed; without a guard, of a true one."""
    if guard is None:
        return layout.constant(1, 1), 0
    return layout.offset_of(guard.register), EVERYONE if guard.negated else 0


def sync_words(instruction: PtxInstruction, layout: WarpLayout) -> Words:
    """Return the words that say which lanes execute an instruction together."""
    members = required_lanes(instruction)
    words: Words = {}
    if members is None:
        return words
    words[BlockField.SYNC_GUARD], words[BlockField.SYNC_COMPLEMENT] = guard_of(instruction.guard, layout)
    if isinstance(members, str):
        words[BlockField.SYNC] = Sync.ALL if members == "all" else Sync.LIVE
    else:
        words[BlockField.SYNC] = Sync.BARRIER if is_bar_warp(instruction) else Sync.NAMED
        words[BlockField.MEMBERS] = layout.source(members, "u32")
    return words


def end_words(
    pc: int, compiled: CompiledProgram, numbers: BlockNumbers, layout: WarpLayout, slots: Mapping[int, int]
) -> Words:
    """Return the words for the end of a basic block whose last instruction has an index.

    ``slots`` are the offsets of the numbers of the basic blocks to which lanes return, by the first instruction of each
    function.
    """
    instruction = compiled.program.instructions[pc]
    if not is_control(instruction):
        return _to(numbers.of[pc + 1], layout)
    end = _Ends(pc, instruction, compiled.program, numbers, layout, slots)
    words = _ENDS[instruction.mnemonic](end)
    guard = None if required_lanes(instruction) is not None else instruction.guard
    if BlockField.GUARD not in words:
        words[BlockField.GUARD], words[BlockField.COMPLEMENT] = guard_of(guard, layout)
    words.setdefault(BlockField.NEXT, numbers.of.get(pc + 1, 0))
    return words


def landing_words(pc: int, numbers: BlockNumbers, layout: WarpLayout) -> Words:
    """Return the words of the landing before the basic block at an index."""
    return _to(numbers.of[pc], layout)


def exit_words(layout: WarpLayout) -> Words:
    """Return the words of a basic block at which threads exit."""
    guard, complement = guard_of(None, layout)
    return {
        BlockField.KIND: Kind.EXIT,
        BlockField.GUARD: guard,
        BlockField.COMPLEMENT: complement,
        BlockField.IS_EXIT: 1,
    }


def _to(number: int, layout: WarpLayout) -> Words:
    guard, complement = guard_of(None, layout)
    words: Words = {BlockField.KIND: Kind.JUMP, BlockField.GUARD: guard, BlockField.COMPLEMENT: complement}
    return words | {BlockField.TARGET: number, BlockField.NEXT: number}


class _Ends(NamedTuple):
    """The data that determine the words for the end of a basic block."""

    pc: int
    instruction: PtxInstruction
    program: KernelProgram
    numbers: BlockNumbers
    layout: WarpLayout
    slots: Mapping[int, int]


def _branch(end: _Ends) -> Words:
    (target,) = targets_of(end.instruction)
    kind = Kind.JUMP if end.instruction.guard is None else Kind.BRANCH
    return {BlockField.KIND: kind, BlockField.TARGET: end.numbers.of[target]}


def _function_of(end: _Ends) -> int:
    """Return the first instruction of the function that contains the instruction; 0 for the kernel."""
    return next((first for _, first, behind in end.program.functions if first <= end.pc < behind), 0)


def _exit(end: _Ends) -> Words:
    words: Words = {BlockField.KIND: Kind.EXIT}
    if end.instruction.guard is None:
        words[BlockField.IS_EXIT] = 1
    return words


def _return(end: _Ends) -> Words:
    function = _function_of(end)
    return _exit(end) if function == 0 else {BlockField.KIND: Kind.RETURN, BlockField.SLOT: end.slots[function]}


def _call(end: _Ends) -> Words:
    callee = end.instruction.callee
    if end.instruction.callee_name == "__assertfail":
        return {BlockField.KIND: Kind.TRAP}
    if callee is None:
        name = end.instruction.callee_name or "a function through its address"
        raise NotNativeError(reason_for(name, f"a call of {name}"))
    return {
        BlockField.KIND: Kind.CALL, BlockField.TARGET: end.numbers.of[callee], BlockField.SLOT: end.slots[callee],
        BlockField.SOURCE: end.numbers.after(end.pc),
    }  # fmt: skip


def _barrier(end: _Ends) -> Words:
    instruction, layout = end.instruction, end.layout
    if "cluster" in instruction.modifiers:
        raise NotNativeError(instruction.opcode)
    barrier = decode_barrier(instruction)
    words = {
        BlockField.KIND: Kind.BARRIER, BlockField.SLOT: layout.source(barrier.number, "u32"),
        BlockField.WAITS: int(barrier.waits),
    }  # fmt: skip
    words[BlockField.SOURCE], words[BlockField.VOTES_COMPLEMENT] = layout.constant(0, 1), 0
    if barrier.threads is not None:
        words[BlockField.THREADS] = layout.source(barrier.threads, "u32")
    if barrier.reduction and barrier.source is not None:
        if instruction.guard is not None or barrier.threads is not None:
            raise NotNativeError(f"{instruction.opcode} with a guard or a number of threads")
        source = barrier.source
        words[BlockField.SOURCE] = layout.source(source, "pred")
        words[BlockField.VOTES_COMPLEMENT] = EVERYONE if isinstance(source, Predicate) and source.negated else 0
    is_known = isinstance(barrier.number, Immediate) and barrier.threads is None
    words[BlockField.MEETS_ALL] = int(is_known and barrier.waits)
    if barrier.waits:
        words[BlockField.NEXT] = end.numbers.after(end.pc)
    return words


def _trap(end: _Ends) -> Words:
    return {BlockField.KIND: Kind.TRAP}


def _indexed(end: _Ends) -> Words:
    (index,) = end.instruction.operands
    if not isinstance(index, Register):
        raise NotNativeError(f"{end.instruction.opcode} without a register")
    return {
        BlockField.KIND: Kind.INDEXED, BlockField.SLOT: end.layout.source(index, "u32"),
        BlockField.SOURCE: len(end.instruction.targets),
    }  # fmt: skip


_ENDS: dict[str, Callable[[_Ends], Words]] = {
    "bra": _branch, "brx": _indexed, "call": _call, "exit": _exit, "ret": _return, "trap": _trap, "bar": _barrier,
    "barrier": _barrier,
}  # fmt: skip


def followers(pc: int, compiled: CompiledProgram) -> tuple[int, ...]:
    """Return the basic blocks that may run after one whose last instruction has an index, by their first ones."""
    instruction = compiled.program.instructions[pc]
    found = [*targets_of(instruction)]
    if instruction.mnemonic == "call" and instruction.callee is not None:
        found.append(instruction.callee)
    ends = instruction.mnemonic in ("bra", "brx", "ret", "exit", "trap") and instruction.guard is None
    return tuple(found) if ends else (*found, pc + 1)
