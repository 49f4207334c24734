# SPDX-License-Identifier: MIT
"""wmma.load, wmma.store and wmma.mma: fragments of a warp, loaded, stored and multiplied."""

from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import Arch
from wmma_emu.layouts import fragment_layout
from wmma_emu.layouts.wmma_table import FRAGMENTS, MemoryLayout, Use
from wmma_emu.ptx.definedness.undefined import Undefined, origin_of_warp
from wmma_emu.ptx.program.flow import registers_in
from wmma_emu.ptx.program.program import AddressOperand, Operand, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.addresses import address_operand, space_of
from wmma_emu.ptx.steps.collectives import (
    defined_addresses,
    executing,
    note,
    operands_of,
    read_registers,
    require_spelling,
    uniform_value,
)
from wmma_emu.ptx.steps.lane_operations import Active, Array, BoundStep, CompileContext, MachineStep, Step
from wmma_emu.ptx.steps.loads import require_values
from wmma_emu.ptx.steps.matrix_operands import sources_of, targets_of
from wmma_emu.ptx.steps.mma_steps import multiply
from wmma_emu.ptx.steps.wmma_tiles import Tile

_WORD_BYTES = 4
_SPACES = ("", "global", "shared", "shared::cta")
_USES: dict[str, Use] = {"a": "matrix_a", "b": "matrix_b", "c": "accumulator", "d": "accumulator"}


class TileTransfer(NamedTuple):
    """A wmma.load or wmma.store: its tile, state space and operands."""

    tile: Tile
    space: str
    address: AddressOperand
    vector: Operand | None
    stride: Operand | None

    @classmethod
    def of(cls, instruction: PtxInstruction, context: CompileContext) -> "TileTransfer":
        """Decode the opcode and the operands of an instruction."""
        tile = tile_of(instruction, context.arch)
        given = operands_of(instruction, 2, 3)
        require_values(instruction, *given[2:])
        vector, pointer = given[:2] if instruction.modifiers[0] == "load" else given[1::-1]
        address = address_operand(instruction, pointer)
        stride = given[2] if len(given) == 3 else None
        return cls(tile, space_of(instruction, address), address, vector, stride)


def tile_of(instruction: PtxInstruction, arch: Arch | str) -> Tile:
    """Return the tile of a wmma.load or wmma.store on a chip."""
    _, letter, order, shape, _, kind = _words(instruction)
    m, n, k = (int(x) for x in shape[1:].replace("n", " ").replace("k", " ").split())
    use = _USES[letter]
    stored = cast(MemoryLayout, order)
    return Tile(fragment_layout(use, m, n, k, kind, None if use == "accumulator" else stored, arch), stored)


def _words(instruction: PtxInstruction) -> tuple[str, str, str, str, str, str]:
    """Decode an opcode to direction, matrix, order, shape, state space and type."""
    words = instruction.opcode.split(".")
    if len(words) == 8:
        words.insert(7, "")
    if len(words) == 9 and words[0] == "wmma" and words[3:5] == ["sync", "aligned"] and words[7] in _SPACES:
        direction, letter, order, shape, space, kind = (*words[1:3], *words[5:])
        entry = FRAGMENTS.get((shape, _USES.get(letter, "matrix_a"), kind))
        is_load = direction == "load" and letter in "abc"
        if entry and (is_load or (direction, letter) == ("store", "d")) and order in ("row", "col"):
            return direction, letter, order, shape, space, kind
    legal = [
        f"wmma.{name}.sync.aligned.{order}.{shape}.global.{kind}"
        for shape, use, kind in FRAGMENTS
        for name in {"matrix_a": ["load.a"], "matrix_b": ["load.b"], "accumulator": ["load.c", "store.d"]}[use]
        for order in ("row", "col")
    ]
    require_spelling(instruction, legal)
    raise UnsupportedInstructionError(f"{instruction.opcode} does not exist")


def _addresses(state: State, instruction: PtxInstruction, transfer: TileTransfer, now: Active) -> tuple[Array, bool]:
    """Return the address of each lane's vectors, (passes, blocks, warps, 32), and whether all vectors are aligned."""
    tile = transfer.tile
    pointer = defined_addresses(state, instruction, transfer.address, now)
    pointer = uniform_value(state, instruction, pointer, now, "the pointer")
    is_aligned = _check(
        state, instruction, "misaligned", pointer % np.uint64(tile.pointer_bytes) != 0, now,
        lambda: f"the pointer is not a multiple of {tile.pointer_bytes} bytes, which this instruction requires",
    )  # fmt: skip
    if transfer.stride is None:
        return pointer + tile.offsets(tile.extent), is_aligned
    state.require_defined(instruction, transfer.stride, now, "the stride")
    stride = state.read(transfer.stride, "b32").astype(np.uint64)
    stride = uniform_value(state, instruction, stride, now, "the stride")
    multiple = np.uint64(tile.stride_multiple)
    is_legal = _check(
        state, instruction, "illegal operand", (stride % multiple != 0) | (stride < np.uint64(tile.extent)), now,
        lambda: f"the stride is not a multiple of {tile.stride_multiple} elements, or is less than the {tile.extent} "
        f"elements of a {'row' if tile.order == 'row' else 'column'} of the tile",
    )  # fmt: skip
    offsets = tile.offsets(stride.item()) if stride.size == 1 else tile.offsets_of(stride)
    return pointer + offsets, is_aligned and is_legal


def _check(
    state: State, instruction: PtxInstruction, kind: str, wrong: Array, active: Active, text: Callable[[], str]
) -> bool:
    """Report a finding about the warps that execute; return whether there is none."""
    where = wrong if active is None else wrong & active
    note(state, instruction, kind, where, lambda g, w, lane: text())
    return not where.any()


def _load(instruction: PtxInstruction, context: CompileContext) -> Step:
    transfer = TileTransfer.of(instruction, context)
    tile = transfer.tile
    targets = targets_of(instruction, transfer.vector, tile.layout.num_registers)

    def step(state: State, active: Active) -> None:
        now = executing(state, active)
        where, is_whole = _addresses(state, instruction, transfer, now)
        words, undefined = _read(state, instruction, transfer, where, now, is_whole)
        values = tile.registers(words)
        lost: list[Undefined | None] = [None] * len(values)
        if undefined is not None:
            bits = np.broadcast_to(undefined.bits, (*undefined.bits.shape[:-3], *state.shape))
            lost = [Undefined(x, undefined.origin) for x in tile.registers(bits)]
        for register, value, uninitialised in zip(targets, values, lost, strict=True):
            state.write(register, value, active, uninitialised)

    return step


def _read(
    state: State, instruction: PtxInstruction, transfer: TileTransfer, where: Array, active: Active, is_whole: bool
) -> tuple[Array, Undefined | None]:
    """Load the vectors, as words (words, passes, blocks, warps, 32), and their uninitialised bits."""
    tile = transfer.tile
    if is_whole:
        words, undefined = state.memory.load(
            instruction, transfer.space, where, _WORD_BYTES, tile.words, active, alignment=tile.vector_bytes
        )
        return words, None if undefined is None else undefined._replace(origin=origin_of_warp(undefined))
    pieces = _pieces(tile, where)
    parts, undefined = state.memory.load(instruction, transfer.space, pieces, tile.element_bytes, 1, active)
    words = _joined(parts[0])
    if undefined is None:
        return words, None
    return words, Undefined(_joined(undefined.bits[0]), origin_of_warp(undefined))


def _pieces(tile: Tile, where: Array) -> Array:
    """Return the addresses of the elements of each vector: (elements, passes, blocks, warps, 32)."""
    start = np.arange(0, tile.vector_bytes, tile.element_bytes, dtype=np.uint64)
    return where + start.reshape(-1, 1, 1, 1, 1)


def _joined(parts: Array) -> Array:
    """Join elements (elements, ...) to words (words, ...)."""
    words = np.ascontiguousarray(np.moveaxis(parts, 0, -1)).view(np.uint32)
    return np.moveaxis(words, -1, 0)


def _store(instruction: PtxInstruction, context: CompileContext) -> Step:
    transfer = TileTransfer.of(instruction, context)
    tile = transfer.tile
    elements = sources_of(instruction, transfer.vector, tile.layout.num_registers)
    kind = f"b{tile.layout.register_bits}"

    def step(state: State, active: Active) -> None:
        active = executing(state, active)
        where, is_whole = _addresses(state, instruction, transfer, active)
        state.require_arrived(instruction, registers_in(transfer.vector), active)
        words = tile.lines(read_registers(state, elements, kind))
        undefined = _undefined(state, tile, elements, active)
        if is_whole:
            state.memory.store(
                instruction, transfer.space, where, words, active, alignment=tile.vector_bytes, undefined=undefined
            )  # fmt: skip
            return
        if undefined is not None:
            undefined = undefined._replace(bits=_apart(tile, undefined.bits))
        pieces = _pieces(tile, where)
        state.memory.store(instruction, transfer.space, pieces, _apart(tile, words), active, undefined=undefined)

    return step


def _apart(tile: Tile, words: Array) -> Array:
    parts = np.ascontiguousarray(np.moveaxis(words, 0, -1)).view(f"u{tile.element_bytes}")
    return np.moveaxis(parts, -1, 0)[None]


def _undefined(state: State, tile: Tile, elements: tuple[Operand | None, ...], active: Active) -> Undefined | None:
    """Return the undefined bits of the stored words."""
    dtype = np.dtype(f"u{tile.layout.register_bits // 8}")
    found = state.undefined_of(elements, dtype, active)
    if found is None:
        return None
    return Undefined(tile.lines(np.broadcast_to(found.bits, (len(elements), *state.shape))), origin_of_warp(found))


def _wmma(instruction: PtxInstruction, context: CompileContext) -> Step | BoundStep:
    kinds: dict[str, MachineStep] = {"load": _load, "store": _store, "mma": multiply}
    which = instruction.modifiers[0] if instruction.modifiers else ""
    if which not in kinds:
        message = f"{instruction.opcode} does not exist; expected wmma.load, wmma.store or wmma.mma"
        raise UnsupportedInstructionError(message)
    return kinds[which](instruction, context)


MACHINE_STEPS: dict[str, MachineStep] = {"wmma": _wmma}
"""The builders of the steps, by mnemonic."""
