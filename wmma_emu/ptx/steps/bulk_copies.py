# SPDX-License-Identifier: MIT
"""``cp.async.bulk`` and ``cp.reduce.async.bulk``: bulk copies, their groups, and the copies of tensors among them."""

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.program import Immediate, Operand, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.addresses import address_operand, addresses_of
from wmma_emu.ptx.steps.barrier_accesses import barrier_accesses, barrier_operand
from wmma_emu.ptx.steps.bulk_reductions import REDUCTIONS, SHARED_REDUCTIONS, needs_noftz
from wmma_emu.ptx.steps.chunk_copies import CHUNK_BYTES, CopiedChunks, load_chunks, require_own_block
from wmma_emu.ptx.steps.chunk_stores import combine_chunks, store_chunks
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.steps.issuers import Issuers, issuers_of
from wmma_emu.ptx.steps.lane_operations import Active, Step
from wmma_emu.ptx.steps.loads import require_values
from wmma_emu.ptx.steps.repeated_copies import note_repeated
from wmma_emu.ptx.steps.tensor_copies import tensor_load, tensor_prefetch, tensor_store

_SIZE_BITS = 0xFFFF0
"""The bits of a size that an H200 uses (driver 580.159.04, 2026-11-28: ``tests/ptx/tensor_maps``)."""

_PACKET = 128
"""The bytes that a bulk copy completes at a time; assumed: 512 are whole packets, 16 and 1008 are not."""

_TYPE = re.compile(r"([bsu](32|64)|b?f16|f32|f64)\Z")


def bulk_copy(instruction: PtxInstruction) -> Step:
    """Build the step of an instruction that begins with cp.async.bulk or cp.reduce.async.bulk."""
    kind, operands = instruction.modifiers, list(instruction.operands)
    if "commit_group" in kind:
        return lambda state, active: state.memory.bulk_groups.commit(active)
    if "wait_group" in kind:
        return _wait(instruction, operands)
    _require_count(instruction)
    if "L2::cache_hint" in kind:
        operands.pop()
    mask = operands.pop() if "multicast::cluster" in kind else None
    reduction = next((x for x in kind if x in REDUCTIONS), "") if "reduce" in kind else ""
    if "tensor" in kind:
        if "prefetch" in kind:
            return tensor_prefetch(instruction, operands)
        is_load = "bulk_group" not in kind
        return tensor_load(instruction, operands, mask) if is_load else tensor_store(instruction, operands, reduction)
    if "prefetch" in kind:
        return lambda state, active: None
    if "mbarrier::complete_tx::bytes" in kind:
        return _load(instruction, operands, mask, reduction)
    if "bulk_group" not in kind:
        raise refusal(instruction, "needs .mbarrier::complete_tx::bytes or .bulk_group, by which it completes")
    return _store(instruction, operands, reduction)


def _require_count(instruction: PtxInstruction) -> None:
    """Raise an error about a wrong number of operands."""
    kind = instruction.modifiers
    is_tensor, is_prefetch, is_load = "tensor" in kind, "prefetch" in kind, "mbarrier::complete_tx::bytes" in kind
    expected = (1 if is_prefetch else 3 if is_load else 2) if is_tensor else 2 if is_prefetch else 4 if is_load else 3
    expected += sum(x in kind for x in ("im2col", "multicast::cluster", "L2::cache_hint"))
    if len(instruction.operands) != expected:
        raise refusal(instruction, f"expects {expected} operands, not {len(instruction.operands)}")


def _wait(instruction: PtxInstruction, operands: list[Operand | None]) -> Step:
    number = operands[0] if operands else None
    if not isinstance(number, Immediate) or number.kind != "int" or number.value < 0:
        raise refusal(instruction, "expects a number of pending groups from 0 upwards")
    pending, read_only = number.value, "read" in instruction.modifiers
    return lambda state, active: state.memory.bulk_groups.wait(pending, active, read_only=read_only)


def _load(
    instruction: PtxInstruction, operands: list[Operand | None], mask: Operand | None, reduction: str
) -> Step:  # fmt: skip
    """Build the step of a copy, or a reduction, to the shared memory of the block's cluster: of the block itself."""
    space = "global" if "global" in instruction.modifiers else "shared"
    target = address_operand(instruction, operands[0], ("shared",))
    source, size = address_operand(instruction, operands[1], (space,)), operands[2]
    element = _element(instruction, reduction, SHARED_REDUCTIONS) if reduction else ""
    barrier = barrier_operand(instruction, operands[3])
    require_values(instruction, size)

    def step(state: State, active: Active) -> None:
        require_own_block(state, instruction, mask, active)
        if space == "shared":
            _require_cluster(state, instruction, active)
        for operand in (target, source, size):
            state.require_defined(instruction, operand, active, "an operand")
        note_repeated(state, instruction, active, (addresses_of(state, source), addresses_of(state, target)))
        for issuers in issuers_of(active, state.threads.exists, state.shape):
            ends = addresses_of(state, source), addresses_of(state, target)
            chunks, sizes = _chunks(state, instruction, issuers, *(ends[::-1] if reduction else ends), size)
            chunks = chunks._replace(space=space)
            accesses = barrier_accesses(state, instruction, barrier, chunks.issuers.mask(), write=False)
            amounts = np.zeros(state.shape, np.int64)
            amounts[chunks.issuers.blocks, chunks.issuers.warps, chunks.issuers.lanes] = sizes
            bytes_of = accesses.of(amounts, state.shape)
            if reduction:
                combine_chunks(state, instruction, chunks, accesses, bytes_of, reduction, element)
            else:
                load_chunks(state, instruction, chunks, accesses, bytes_of, packet=_PACKET)

    return step


def _require_cluster(state: State, instruction: PtxInstruction, active: Active) -> None:
    """Report copies within the shared memory of a cluster by a kernel that is not launched as one.

    An H200 stops such a kernel, also if it copies to its own block (driver 580.159.04, 2026-11-28; error 715).
    """
    if state.memory.program.required_cluster is None:
        wrong = state.live if active is None else state.live & active
        text = "copies from shared memory to shared memory need a launch of clusters (.reqnctapercluster 1, 1, 1)"
        note(state, instruction, "illegal operand", wrong, text)


def _store(instruction: PtxInstruction, operands: list[Operand | None], reduction: str) -> Step:
    target = address_operand(instruction, operands[0], ("global",))
    source, size = address_operand(instruction, operands[1], ("shared",)), operands[2]
    require_values(instruction, size)
    element = _element(instruction, reduction, REDUCTIONS) if reduction else ""
    if reduction and needs_noftz(reduction, element) and "noftz" not in instruction.modifiers:
        raise refusal(instruction, f"does not exist without .noftz: .{reduction}.noftz.{element}")

    def step(state: State, active: Active) -> None:
        for operand in (target, source, size):
            state.require_defined(instruction, operand, active, "an operand")
        if reduction:
            note_repeated(state, instruction, active, (addresses_of(state, source), addresses_of(state, target)))
        for issuers in issuers_of(active, state.threads.exists, state.shape):
            chunks, _ = _chunks(
                state, instruction, issuers, addresses_of(state, target), addresses_of(state, source), size
            )
            store_chunks(state, instruction, chunks, reduction, element)

    return step


def _element(instruction: PtxInstruction, reduction: str, types: Mapping[str, tuple[str, ...]]) -> str:
    """Return the type of a reduction's elements, if the operation has it."""
    element = next((x for x in instruction.modifiers if _TYPE.match(x)), "")
    if element not in types.get(reduction, ()):
        legal = ", ".join("." + x for x in types.get(reduction, ()))
        raise refusal(instruction, f".{reduction} does not reduce .{element}; legal types are {legal}")
    return element


def _chunks(
    state: State, instruction: PtxInstruction, issuers: Issuers, in_global: NDArray[np.uint64],
    in_shared: NDArray[np.uint64], size: Operand | None,
) -> tuple[CopiedChunks, NDArray[np.int64]]:  # fmt: skip
    """Return the chunks of some threads, and their sizes; an illegal size is a finding."""
    given = issuers.of(state.read(size, "u32")).astype(np.int64)
    sizes = given & _SIZE_BITS
    wrong = given != sizes
    note(
        state, instruction, "illegal operand", issuers.only(wrong).mask(),
        f"the size is not a multiple of {CHUNK_BYTES} bytes below 1 MiB; an H200 ignores all other bits of it",
    )  # fmt: skip
    starts = np.arange(0, max(int(sizes.max(initial=0)), CHUNK_BYTES), CHUNK_BYTES, dtype=np.int64)[:, None]
    step = starts.astype(np.uint64)
    inside = np.where(starts < sizes, CHUNK_BYTES, -1)
    return CopiedChunks(issuers, issuers.of(in_global) + step, issuers.of(in_shared) + step, inside), sizes
