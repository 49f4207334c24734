# SPDX-License-Identifier: MIT
"""``cp.async.bulk.tensor``: copies of boxes of a tensor (TMA), which a tensor map describes."""

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import WmmaEmuError
from wmma_emu.ptx.memory.generic import is_in
from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.operand_kinds import describe
from wmma_emu.ptx.program.program import AddressOperand, Operand, PtxInstruction, VectorOperand
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.addresses import address_operand, addresses_of, space_of
from wmma_emu.ptx.steps.barrier_accesses import barrier_accesses, barrier_operand
from wmma_emu.ptx.steps.bulk_reductions import type_for
from wmma_emu.ptx.steps.chunk_copies import CHUNK_BYTES, CopiedChunks, load_chunks, require_own_block
from wmma_emu.ptx.steps.chunk_stores import store_chunks
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.steps.issuers import Issuers, issuers_of
from wmma_emu.ptx.steps.lane_operand_rules import require_source
from wmma_emu.ptx.steps.lane_operations import Active, Step
from wmma_emu.ptx.steps.proxy_fences import positions_of_maps
from wmma_emu.ptx.steps.repeated_copies import note_repeated
from wmma_emu.ptx.tensor_maps.boxes import box_bytes, chunks_of, spatial_dimensions, swizzled
from wmma_emu.ptx.tensor_maps.encoding import MAP_BYTES, TensorMapFields
from wmma_emu.ptx.tensor_maps.fills import fill_word, rounded
from wmma_emu.ptx.threads import Array

_MAP_ALIGNMENT, _BOX_ALIGNMENT = 64, 128
_MODES = {"tile": False, "im2col": True, "im2col_no_offs": True}
_RANKS = {f"{n}d": n for n in range(1, 6)}
_WRONG_SPACES = {
    "local": "declare the parameter `const __grid_constant__ CUtensorMap map`, since the compiler copies a parameter "
    "without __grid_constant__ to local memory when its address is taken",
    "shared": "copy it to global memory with tensormap.cp_fenceproxy, and use that copy",
}
"""The spaces in which no tensor map may be (PTX ISA 9.1, Tensor-map), and how to repair the kernel."""


class _TensorOperand(NamedTuple):
    """``[map, {coordinates}]``, the mode, and the offsets of an im2col load."""

    address: AddressOperand
    rank: int
    is_im2col: bool
    offsets: tuple[Operand | None, ...]


class _Boxes(NamedTuple):
    """The boxes that some threads copy by one tensor map."""

    fields: TensorMapFields
    issuers: Issuers
    coordinates: NDArray[np.int64]
    offsets: NDArray[np.int64] | None

    def only(self, chosen: NDArray[np.bool_]) -> "_Boxes":
        offsets = None if self.offsets is None else self.offsets[:, chosen]
        return _Boxes(self.fields, self.issuers.only(chosen), self.coordinates[:, chosen], offsets)


def tensor_load(instruction: PtxInstruction, operands: list[Operand | None], mask: Operand | None) -> Step:
    """Build the step of a copy of boxes to shared memory, which completes transactions of mbarriers."""
    target = address_operand(instruction, operands[0], ("shared",))
    barrier = barrier_operand(instruction, operands[2])
    tensor = _tensor_operand(instruction, operands[1], operands[3] if len(operands) > 3 else None)

    def step(state: State, active: Active) -> None:
        require_own_block(state, instruction, mask, active)
        note_repeated(state, instruction, active, _operands_of(state, tensor, target))
        for boxes in _boxes(state, instruction, tensor, active):
            fields = boxes.fields
            chunks = _chunks(state, instruction, boxes, target, is_store=False)
            accesses = barrier_accesses(state, instruction, barrier, chunks.issuers.mask(), write=False)
            amounts = np.full(len(accesses.positions), box_bytes(fields), np.int64)
            rounding = partial(rounded, fields=fields)
            load_chunks(state, instruction, chunks, accesses, amounts, fill_word(fields), rounding)

    return step


def tensor_store(instruction: PtxInstruction, operands: list[Operand | None], reduction: str) -> Step:
    """Build the step of a copy of boxes to global memory, or of a reduction, which belongs to a bulk group."""
    tensor = _tensor_operand(instruction, operands[0], None)
    source = address_operand(instruction, operands[1], ("shared",))

    def step(state: State, active: Active) -> None:
        if reduction:
            note_repeated(state, instruction, active, _operands_of(state, tensor, source))
        for boxes in _boxes(state, instruction, tensor, active):
            if not reduction:
                store_chunks(state, instruction, _chunks(state, instruction, boxes, source, is_store=True))
                continue
            element = boxes.fields.element
            kind = type_for(reduction, element)
            if kind is not None:
                chunks = _chunks(state, instruction, boxes, source, is_store=True)
                store_chunks(state, instruction, chunks, reduction, kind)
                continue
            text = f"the tensor map has elements of {element.name}, which .{reduction} does not reduce"
            note(state, instruction, "illegal operand", boxes.issuers.mask(), text)

    return step


def tensor_prefetch(instruction: PtxInstruction, operands: list[Operand | None]) -> Step:
    """Build the step of a prefetch, which only reads the map."""
    tensor = _tensor_operand(instruction, operands[0], operands[1] if len(operands) > 1 else None)

    def step(state: State, active: Active) -> None:
        for _ in _boxes(state, instruction, tensor, active):
            pass

    return step


def _operands_of(state: State, tensor: _TensorOperand, in_shared: AddressOperand) -> Iterator[Array]:
    """Yield what distinguishes the copies of two threads."""
    yield addresses_of(state, in_shared)
    yield addresses_of(state, AddressOperand(tensor.address.base, tensor.address.offset))
    for x in (*tensor.address.coordinates, *tensor.offsets):
        yield state.read(x, "u32")


def _tensor_operand(
    instruction: PtxInstruction, operand: Operand | None, offsets: Operand | None
) -> _TensorOperand:  # fmt: skip
    rank = next((_RANKS[x] for x in instruction.modifiers if x in _RANKS), 0)
    mode = next((x for x in instruction.modifiers if x in _MODES), "tile")
    if not rank:
        raise refusal(instruction, f"needs a number of dimensions: {', '.join('.' + x for x in _RANKS)}")
    if not isinstance(operand, AddressOperand) or not operand.coordinates:
        raise refusal(instruction, f"expects a tensor in brackets, [map, {{coordinates}}], not {describe(operand)}")
    if len(operand.coordinates) != rank:
        raise refusal(instruction, f"has {len(operand.coordinates)} coordinates; .{rank}d needs {rank}")
    for coordinate in operand.coordinates:
        require_source(instruction, coordinate, "s32")
    given = offsets.elements if isinstance(offsets, VectorOperand) else ()
    if mode == "im2col" and len(given) != rank - 2:
        raise refusal(instruction, f"has {len(given)} offsets; .im2col of .{rank}d needs {rank - 2}")
    return _TensorOperand(operand, rank, _MODES[mode], given if mode == "im2col" else ())


def _boxes(state: State, instruction: PtxInstruction, tensor: _TensorOperand, active: Active) -> Iterator[_Boxes]:
    """Yield the boxes that the active threads copy: those of one thread of each warp, by map, then of the next."""
    for operand in (*tensor.address.coordinates, *tensor.offsets):
        state.require_defined(instruction, operand, active, "a coordinate")
    coordinates = [state.read(x, "s32") for x in tensor.address.coordinates]
    offsets = [state.read(x, "u16") for x in tensor.offsets]
    for issuers in issuers_of(active, state.threads.exists, state.shape):
        maps = _maps(state, instruction, tensor.address, issuers)
        for given in np.unique(maps, axis=0):
            some = issuers.only((maps == given).all(axis=1))
            fields = _fields(state, instruction, given.tobytes(), tensor, some)
            if fields is not None:
                yield _Boxes(
                    fields, some, np.stack([_signed(some.of(x)) for x in coordinates]),
                    np.stack([some.of(x).astype(np.int64) for x in offsets]) if offsets else None,
                )  # fmt: skip


def _signed(value: Array) -> NDArray[np.int64]:
    return value.view(np.int32).astype(np.int64)


def _check_space(state: State, instruction: PtxInstruction, space: str, addresses: Array, issuers: Issuers) -> None:
    """Report maps in local and in shared memory; the copy continues with the bytes at the address."""
    for wrong, mend in _WRONG_SPACES.items():
        bad = np.full(addresses.shape, space == wrong) if space else is_in(wrong, addresses)
        text = f"the tensor map is in {wrong} memory, and must be in parameter, constant or global memory: {mend}"
        note(state, instruction, "illegal operand", issuers.mask() & bad, text)


def _maps(state: State, instruction: PtxInstruction, operand: AddressOperand, issuers: Issuers) -> NDArray[np.uint8]:
    """Read the tensor map of each issuing thread, (issuers, 128)."""
    plain = AddressOperand(operand.base, operand.offset)
    state.require_defined(instruction, plain, issuers.mask(), "the address of the tensor map")
    space = space_of(_GENERIC, plain)
    first = addresses_of(state, plain)
    _check_space(state, instruction, space, first, issuers)
    _check_maps(state, instruction, space, first, issuers)
    pieces = first[None] + np.arange(0, MAP_BYTES, CHUNK_BYTES, dtype=np.uint64).reshape(-1, 1, 1, 1)
    with state.memory.by_no_proxy():
        words, _ = state.memory.load(
            instruction, space, pieces, 4, 4, issuers.mask(), alignment=CHUNK_BYTES, ordering="weak"
        )
    threads = np.broadcast_to(words, (4, len(pieces), *issuers.shape))
    found = threads[:, :, issuers.blocks, issuers.warps, issuers.lanes]  # (4, 8, issuers)
    return np.ascontiguousarray(found.transpose(2, 1, 0)).view(np.uint8).reshape(-1, MAP_BYTES)


def _check_maps(state: State, instruction: PtxInstruction, space: str, addresses: Array, issuers: Issuers) -> None:
    """Report maps at addresses that are not aligned, and maps that changed without fences of their proxy."""
    active = issuers.mask()
    off = np.broadcast_to(addresses % np.uint64(_MAP_ALIGNMENT) != 0, state.shape) & active
    note(state, instruction, "misaligned", off, f"the tensor map is not at a multiple of {_MAP_ALIGNMENT} bytes")
    if state.memory.proxies is None or space not in ("", "global"):
        return
    positions, inside = positions_of_maps(state, addresses, active)
    where = np.broadcast_to(addresses, state.shape)
    for number, b, w, lane in zip(
        issuers.numbers().tolist(), *(x.tolist() for x in (issuers.blocks, issuers.warps, issuers.lanes)), strict=True
    ):
        if inside[b, w, lane]:
            state.memory.proxies.check_map(instruction, int(positions[b, w, lane]), number, int(where[b, w, lane]))


_GENERIC = PtxInstruction("", "", (), (), None, 0, 0)
"""An instruction without a state space: a tensor map is at a generic address, or a variable in its own space."""


@lru_cache(256)
def _decoded(given: bytes) -> TensorMapFields | str:
    try:
        return TensorMapFields.decode(given)
    except WmmaEmuError as error:
        return str(error)


def _fields(
    state: State, instruction: PtxInstruction, given: bytes, tensor: _TensorOperand, issuers: Issuers
) -> TensorMapFields | None:
    """Decode a map; a map that is illegal, or not for this instruction, is a finding."""
    fields = _decoded(given)
    if not any(given):
        why = "all its bytes are 0, since no map was written there"
    else:
        why = fields if isinstance(fields, str) else _mismatch(fields, tensor)
    if why:
        note(state, instruction, "illegal operand", issuers.mask(), f"the tensor map is not legal here: {why}")
        return None
    return fields if isinstance(fields, TensorMapFields) else None


def _mismatch(fields: TensorMapFields, tensor: _TensorOperand) -> str:
    if fields.rank != tensor.rank:
        return f"it has {fields.rank} dimensions, the instruction {tensor.rank}"
    if (fields.window is not None) != tensor.is_im2col:
        return f"it is {'an im2col' if fields.window else 'a tiled'} map, the instruction of the other mode"
    return ""


def _chunks(
    state: State, instruction: PtxInstruction, boxes: _Boxes, operand: AddressOperand, *, is_store: bool
) -> CopiedChunks:  # fmt: skip
    """Return the chunks of boxes; boxes that the chip refuses are findings, and left out."""
    state.require_defined(instruction, operand, boxes.issuers.mask(), "the address in shared memory")
    fields, where = boxes.fields, boxes.issuers.of(addresses_of(state, operand)).astype(np.int64)
    wrong = np.zeros(len(where), np.bool_)
    for kind, bad, text in _faults(boxes, where, is_store=is_store):
        note(state, instruction, kind, boxes.issuers.only(bad).mask(), text)
        wrong |= bad
    if wrong.any():
        where, boxes = where[~wrong], boxes.only(~wrong)
    found = chunks_of(fields, boxes.coordinates, boxes.offsets)
    in_shared = swizzled(where + found.shared[:, None], fields.swizzle).astype(np.uint64)
    in_global = (found.offsets.view(np.uint64) + np.uint64(fields.address)).astype(np.uint64)
    return CopiedChunks(boxes.issuers, in_global, in_shared, found.inside)


def _faults(boxes: _Boxes, where: NDArray[np.int64], *, is_store: bool) -> Iterator[tuple[str, NDArray[np.bool_], str]]:
    """Yield the kinds, threads and messages of faults that stop a kernel on an H200 (driver 580.159.04, 2026-11-23)."""
    fields, coordinates = boxes.fields, boxes.coordinates
    off: NDArray[np.bool_] = where % _BOX_ALIGNMENT != 0
    yield "misaligned", off, f"the box in shared memory does not start at a multiple of {_BOX_ALIGNMENT} bytes"
    each = 1 if fields.interleave else CHUNK_BYTES // fields.element.bytes
    off = coordinates[0] % each != 0
    yield (
        "illegal operand", off,
        f"the first coordinate is not a multiple of {each}: the chip requires {CHUNK_BYTES} bytes of "
        f"{fields.element.name}",
    )  # fmt: skip
    if is_store:
        off = np.asarray((coordinates < 0).any(axis=0))
        yield "illegal operand", off, "a coordinate of a store is negative"
    if fields.window is not None:
        low = np.array(fields.window.lower)[:, None]
        spatial = spatial_dimensions(fields)
        high = np.array(fields.dims[spatial])[:, None] - 1 + np.array(fields.window.upper)[:, None]
        pixel = coordinates[spatial]
        off = np.asarray(((pixel < low) | (pixel > high)).any(axis=0))
        yield "illegal operand", off, "the first pixel is outside of the window of the im2col map"
