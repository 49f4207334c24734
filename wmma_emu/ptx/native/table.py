# SPDX-License-Identifier: MIT
"""The table of a kernel: its basic blocks, and an entry for each operation, which the driver runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.instructions import Arch
from wmma_emu.llvm.library import NativeLibrary
from wmma_emu.ptx.machine.compile import CompiledProgram
from wmma_emu.ptx.machine.warp_sync import is_bar_warp, required_lanes
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.native import memory, operations, products
from wmma_emu.ptx.native.assignment import Unproven, is_value, unproven_registers
from wmma_emu.ptx.native.blocks import RUN_BLOCKS, define_driver
from wmma_emu.ptx.native.control import (
    Words,
    block_numbers_of,
    end_words,
    exit_words,
    followers,
    guard_of,
    has_landing,
    is_control,
    landing_words,
    sync_words,
)
from wmma_emu.ptx.native.control_words import BlockField, EntryField
from wmma_emu.ptx.native.definedness_rows import propagate, require_defined
from wmma_emu.ptx.native.landings import copy_row, votes_row
from wmma_emu.ptx.native.memory.state import AtomicChecks, checks_of
from wmma_emu.ptx.native.refusals import reason_for
from wmma_emu.ptx.native.rows import NotNativeError, Row
from wmma_emu.ptx.native.turns import may_take_turns
from wmma_emu.ptx.native.warp_image import constants_image, warp_image
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.program import Predicate, PtxInstruction
from wmma_emu.ptx.steps.lane_operations import CompileContext
from wmma_emu.ptx.steps.table import NOTHING
from wmma_emu.ptx.threads import Threads

_SOURCES = ("arithmetic", "formats", "instructions", "layouts", "llvm", "ptx/native", "ptx/steps", "scalar", "warp")
"""The packages that define native functions."""

LIBRARY = NativeLibrary(Path(__file__).parents[2] / x for x in _SOURCES)
"""The native functions of this process."""

_WARPGROUP = ("wgmma", "setmaxnreg")


class _TableEntry(NamedTuple):
    row: Row
    guard: Predicate | None


class _TableBlock(NamedTuple):
    """A basic block; ``targets`` are the blocks that an indexed branch selects from, by number."""

    words: Words
    entries: list[_TableEntry]
    targets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class KernelTable:
    """A kernel that is ready for the driver: the arrays that its basic blocks point to, and where values belong.

    ``blocks``, ``entries``, ``records`` and ``targets`` point to each other by their addresses. ``constants`` is the
    memory of a warp with the constants. ``waiting`` is the offset of the
    masks of the lanes that wait at barriers, ``driver`` the address of the driver. ``has_exact_turns`` is as in
    `WaveWord.HAS_EXACT_TURNS`. ``needs_waves`` is whether the kernel depends on the order of threads in any case,
    ``permits_waves`` whether it can run in waves. ``is_logged`` is whether a wave keeps a log, see
    `wmma_emu.ptx.native.memory.log`.
    """

    compiled: CompiledProgram
    layout: WarpLayout
    blocks: NDArray[np.int64]
    entries: NDArray[np.int64]
    records: NDArray[np.uint32]
    targets: NDArray[np.int64]
    waiting: int
    driver: int
    constants: NDArray[np.uint8]
    has_warpgroups: bool
    has_exact_turns: bool
    needs_waves: bool
    permits_waves: bool
    is_logged: bool
    _images: "dict[tuple[object, ...], NDArray[np.uint8]]" = field(default_factory=dict)

    def image(self, threads: Threads, arch: Arch, heap: GlobalMemory, dynamic_bytes: int) -> NDArray[np.uint8]:
        """Return the memory of the warps before a block begins, (warps, bytes); that of the last launch is kept."""
        addresses = tuple(heap.address_of(x) for x, _ in self.layout.symbols if x.space in ("global", "const"))
        key = threads.grid, threads.block, dynamic_bytes, heap.workspace, addresses
        found = self._images.get(key)
        if found is None:
            found = warp_image(self.layout, self.constants, threads, arch, heap, dynamic_bytes)
            self._images.clear()
            self._images[key] = found
        return found


def table_of(compiled: CompiledProgram, context: CompileContext) -> KernelTable:
    """Return the table of a kernel.

    Raises
    ------
    NotNativeError
        If the kernel has an instruction without native code.
    """
    if compiled.stack is not None:
        raise NotNativeError("it calls functions through addresses or recursively, or uses alloca")
    layout = WarpLayout(compiled.program)
    blocks = [*_TableBuilder(compiled, layout, context).blocks()]
    waiting = layout.reserve(64)
    rows = {entry.row.name: entry.row.define for block in blocks for entry in block.entries}
    addresses = LIBRARY.addresses({RUN_BLOCKS: define_driver, **rows})
    entries = [entry for block in blocks for entry in block.entries]
    records = np.array([x & 0xFFFF_FFFF for entry in entries for x in entry.row.record], np.uint32)
    table = np.zeros((len(entries), EntryField.COUNT_OF_WORDS), np.int64)
    at = records.ctypes.data
    for words, (row, guard) in zip(table, entries, strict=True):
        words[:] = addresses[row.name], at, *guard_of(guard, layout)
        at += 4 * len(row.record)
    found = np.zeros((len(blocks), BlockField.COUNT_OF_WORDS), np.int64)
    targets = np.array([x for block in blocks for x in block.targets], np.int64)
    first = target = 0
    for words, block in zip(found, blocks, strict=True):
        for name, value in block.words.items():
            words[name] = value
        words[BlockField.CODE] = table.ctypes.data + first * table.strides[0]
        words[BlockField.COUNT] = len(block.entries)
        first += len(block.entries)
        if block.targets:
            words[BlockField.THREADS] = targets.ctypes.data + target * targets.itemsize
            target += len(block.targets)
    has_warpgroups = any(x.mnemonic in _WARPGROUP for x in compiled.program.instructions)
    return KernelTable(
        compiled, layout, found, table, records, targets, waiting, addresses[RUN_BLOCKS], constants_image(layout),
        has_warpgroups, all(map(_has_exact_turns, compiled.program.instructions)), _needs_waves(compiled),
        not has_warpgroups and not any(map(_has_narrow_scope, compiled.program.instructions)),
        AtomicChecks.LOGGED in checks_of(compiled.program).atomics,
    )  # fmt: skip


def _needs_waves(compiled: CompiledProgram) -> bool:
    """Return whether results depend on the order of threads although no memory is accessed."""
    asks = any(x.mnemonic == "activemask" for x in compiled.program.instructions)
    return asks and may_take_turns(compiled.program)


def _has_narrow_scope(instruction: PtxInstruction) -> bool:
    """Return whether an atomic operation may be a race although it is atomic: the scope excludes other blocks."""
    words = set(instruction.modifiers)
    is_shared = any(x.startswith("shared") for x in words)
    return instruction.mnemonic in ("atom", "red") and not is_shared and not words.isdisjoint(("cta", "cluster"))


def _has_exact_turns(instruction: PtxInstruction) -> bool:
    """Return whether the native machine and the NumPy machine pick basic blocks equally often for an instruction."""
    if instruction.mnemonic == "call":
        return instruction.callee is None
    is_odd = instruction.mnemonic == "brx" or has_landing(instruction)
    return not is_odd and (required_lanes(instruction) is None or instruction.guard is None)


class _TableBuilder:
    """Makes the basic blocks of a kernel, with the rows of its instructions."""

    def __init__(self, compiled: CompiledProgram, layout: WarpLayout, context: CompileContext) -> None:
        self._compiled, self._layout, self._context = compiled, layout, context
        self._code = compiled.program.instructions
        self._numbers = block_numbers_of(compiled)
        self._slots = {first: layout.reserve(128) for _, first, _ in compiled.program.functions[1:]}
        self._ranges = {x: range(x, x + block.length) for x, block in compiled.basic_blocks.items()}
        following = {x: followers(pcs[-1], compiled) if pcs else () for x, pcs in self._ranges.items()}
        self._unproven = unproven_registers(compiled.program, self._ranges, following)
        followed = sorted({x for one in self._unproven.values() for part in one for x in part})
        first = layout.reserve(4 * len(followed)) if followed else 0
        self._masks = {x: first + 4 * i for i, x in enumerate(followed)}

    def blocks(self) -> Iterator[_TableBlock]:
        """Yield the basic blocks in the order of their numbers."""
        for start in self._numbers.of:
            if start in self._numbers.landings:
                yield self._landing(start)
            yield self._block(self._ranges[start])

    def _landing(self, pc: int) -> _TableBlock:
        """Return the basic block in which threads receive the results of the instruction before an index."""
        instruction = self._code[pc - 1]
        if instruction.mnemonic == "call":
            entries = [_TableEntry(copy_row(x), None) for x in instruction.copies_out]
        else:
            entries = [_TableEntry(votes_row(instruction, self._layout), None)]
        return _TableBlock(landing_words(pc, self._numbers, self._layout), entries)

    def _block(self, pcs: range) -> _TableBlock:
        if not pcs:
            return _TableBlock(exit_words(self._layout), [])
        entries = [entry for pc in pcs for entry in self._entries(pc)]
        words = end_words(pcs[-1], self._compiled, self._numbers, self._layout, self._slots)
        words |= sync_words(self._code[pcs[0]], self._layout)
        words[BlockField.LENGTH] = len(pcs)
        words[BlockField.IS_SPINNING] = self._may_spin(pcs)
        words[BlockField.POLLS] = int(pcs.start in self._compiled.spinning)
        words[BlockField.ONLY_READS] = int(pcs.start in self._compiled.reading)
        if pcs.start not in self._compiled.exiting:
            words[BlockField.IS_EXIT] = 0
        return _TableBlock(words, entries, tuple(self._numbers.of[x] for x in self._code[pcs[-1]].targets))

    def _may_spin(self, pcs: range) -> int:
        """Return whether a basic block ends a loop in which threads may wait for others."""
        last = self._code[pcs[-1]]
        targets = [x for x in followers(pcs[-1], self._compiled) if x <= pcs.start and last.mnemonic == "bra"]
        return int(any(x in self._compiled.spinning for first in targets for x in range(first, pcs.stop)))

    def _entries(self, pc: int) -> Iterator[_TableEntry]:
        """Yield the operations of an instruction."""
        instruction, unproven = self._code[pc], self._unproven.get(pc, Unproven((), (), ()))
        # The lanes that execute an instruction of a warp together are already without those that its guard excludes.
        guard = instruction.guard if required_lanes(instruction) is None else None
        if unproven.guard:
            if guard is not instruction.guard:
                raise NotNativeError(f"{instruction.opcode} with a guard that may be uninitialised")
            yield _TableEntry(require_defined(self._offsets(unproven.guard)), None)
        if unproven.read and not is_value(instruction):
            yield _TableEntry(require_defined(self._offsets(unproven.read)), guard)
        if unproven.written:  # before the instruction, which may change its own guard
            passed = unproven.read if is_value(instruction) else ()
            yield _TableEntry(propagate(self._offsets(passed), self._offsets(unproven.written)), guard)
        for row in (*self._rows(instruction), *map(copy_row, instruction.copies_in)):
            yield _TableEntry(row, guard)

    def _offsets(self, registers: Sequence[int]) -> list[int]:
        return [self._masks[x] for x in registers]

    def _rows(self, instruction: PtxInstruction) -> list[Row]:
        """Return the rows of an instruction without its guard; none if it only ends its basic block."""
        bare = replace(instruction, guard=None)
        for row_of in ROWS:
            row = row_of(bare, self._layout, self._context)
            if row is not None:
                return [row]
        if is_control(instruction) or is_bar_warp(instruction) or instruction.mnemonic in NOTHING:
            return []
        raise NotNativeError(reason_for(instruction.mnemonic, instruction.opcode))


ROWS = (operations.row_of, products.row_of, memory.row_of)
"""The functions that make rows: of lane operations, of matrix products, and of memory."""
