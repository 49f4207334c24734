# SPDX-License-Identifier: MIT
"""Atomic operations on memory: reads and writes that synchronise, and never race with each other."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.memory.address_map import HEAP
from wmma_emu.ptx.memory.generic import classify, in_each
from wmma_emu.ptx.memory.masks import fit
from wmma_emu.ptx.memory.serving import Operation, serve
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.orders import Order
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Active, Array


def atomic(
    memory: WaveMemory, instruction: PtxInstruction, space: str, addresses: Array, values: tuple[Array, ...],
    active: Active, look_up: Callable[[str], Operation], alignment: int, order: Order | None,
    ordering: str,
) -> tuple[Array, Undefined | None]:  # fmt: skip
    """Execute the active threads' atomics in order; return each old value, and its uninitialised bits.

    ``space`` and ``ordering`` are as for `LoadsAndStores.load`; the addresses are in global or shared memory.
    ``values`` are the operands, of the element's width. ``look_up`` returns the operation for "global" or "shared".
    ``order`` draws the order of the threads; without it, threads are ordered by block, warp and lane.
    """
    active = memory.threads.exists if active is None else active
    if space:
        return _within(
            memory, instruction, space.split("::")[0], addresses, values, active, look_up, alignment, order, ordering
        )

    def in_one(name: str, inside: Array, now: Active) -> tuple[Array, Undefined | None]:
        return _within(memory, instruction, name, inside, values, now, look_up, alignment, order, ordering)

    found, undefined = in_each(classify(addresses, fit(active, addresses.shape)), active, in_one)
    return np.zeros((1, 1, 1), values[0].dtype) if found is None else found, undefined


def _within(
    memory: WaveMemory, instruction: PtxInstruction, space: str, addresses: Array, values: tuple[Array, ...],
    active: Active, look_up: Callable[[str], Operation], alignment: int, order: Order | None,
    ordering: str,
) -> tuple[Array, Undefined | None]:  # fmt: skip
    if space not in ("global", "shared"):
        # There are no atomic operations on a thread's own memory: the address is out of bounds.
        space, addresses = "global", np.where(np.ones((1, 1, 1), np.bool_), np.uint64(HEAP), addresses)
    size, shape = values[0].dtype.itemsize, memory.threads.shape
    resolved = memory.resolve(instruction, space, addresses, size, 1, alignment, active, write=True, ordering=ordering)
    undefined = memory.note_load(resolved, active, writes_too=True)
    full = None if resolved.mask is None else np.broadcast_to(resolved.mask, shape)

    def chosen(value: Array) -> Array:
        wide = np.broadcast_to(value, shape)
        return wide.reshape(-1) if full is None else wide[full]

    positions: NDArray[np.int64] = chosen(resolved.where.positions)
    operands = tuple(chosen(value) for value in values)
    turn = None if order is None else order.permutation(len(positions))
    if turn is not None:
        positions, operands = positions[turn], tuple(x[turn] for x in operands)
    view = memory.window(space).view(size)
    index = positions // size
    operation = look_up(space)
    if undefined is not None and not operation.replaces:
        used = undefined.bits[0] != 0
        memory.reporter.undefined(instruction, undefined, used, "the old value of the atomic operation")
        undefined = None
    with np.errstate(all="ignore"):
        before, after, last = serve(index, view.take(index), operands, operation)
    memory.note_store(resolved, positions, active, None)
    memory.note_atomic_order(resolved, turn, before)
    if memory.races is not None and instruction.mnemonic == "atom":
        memory.races.observe(resolved, turn)
    view[index[last]] = after
    if memory.causality.uses_memory_order:
        at, thread_positions = memory.threads_of(resolved)
        g, w, lane = at if turn is None else tuple(x[turn] for x in at)
        how = memory.ordering_of(instruction)
        thread_positions = thread_positions if turn is None else thread_positions[turn]
        memory.causality.updated(space, (g, w, lane), thread_positions, size, how)
        if memory.locks is not None:
            if "cas" not in instruction.modifiers:
                memory.locks.released((g, w, lane), space, thread_positions, how)
            elif (won := (before == operands[0]) & (operands[1] != operands[0])).any():
                memory.locks.acquired((g[won], w[won], lane[won]), space, thread_positions[won], how)
    if turn is not None:
        unturned = np.empty_like(before)
        unturned[turn] = before
        before = unturned
    lost = None if undefined is None else _found_first(undefined, index, turn, full, shape)
    if full is None:
        return before.reshape(shape), lost
    out = np.zeros(shape, before.dtype)
    out[full] = before
    return out, lost


def _found_first(
    undefined: Undefined, index: NDArray[np.int64], turn: NDArray[np.int64] | None, full: NDArray[np.bool_] | None,
    shape: tuple[int, ...],
) -> Undefined:  # fmt: skip
    """Keep the undefined bits of the first thread at each address: the others find the value that it stored."""
    _, first = np.unique(index, return_index=True)
    flat_index = np.flatnonzero(np.ones(shape, np.bool_) if full is None else full)
    is_first = np.zeros(shape, np.bool_)
    is_first.reshape(-1)[flat_index[first if turn is None else turn[first]]] = True
    return Undefined(np.where(is_first, undefined.bits[0], undefined.bits.dtype.type(0)), undefined.origin[0])
