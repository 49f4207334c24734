# SPDX-License-Identifier: MIT
"""``malloc`` and ``free``: blocks of the device heap."""

import numpy as np

from wmma_emu.ptx.machine.driver_arguments import read_argument, write_result
from wmma_emu.ptx.memory.access_messages import block_text
from wmma_emu.ptx.memory.address_map import HEAP
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.threads import Active


def allocate(state: State, instruction: PtxInstruction, active: Active) -> bool:
    """Execute ``malloc``: return a block for each thread, whose bytes are uninitialised; 0 if the heap is exhausted."""
    sizes = read_argument(state, instruction, instruction.operands[1], active)
    participants = np.broadcast_to(state.live if active is None else active, state.shape)
    found = np.zeros(state.shape, np.uint64)
    found[participants] = [_allocate(state, instruction, size) for size in sizes[participants].tolist()]
    write_result(state, instruction, instruction.operands[0], found, active)
    return True


def _where(instruction: PtxInstruction) -> str:
    return f"line {instruction.line}" if instruction.source is None else str(instruction.source)


def _allocate(state: State, instruction: PtxInstruction, size: int) -> int:
    heap = state.memory.heap
    address = 0 if heap.device_heap is None else heap.device_heap.allocate(size, _where(instruction))
    if address and heap.follows_writes:
        heap.uninitialised.kept[address - HEAP : address - HEAP + size] = 0xFF
    return address


def release(state: State, instruction: PtxInstruction, active: Active) -> bool:
    """Execute ``free``: release the block of each thread. A null pointer is legal; other addresses are a finding."""
    addresses = read_argument(state, instruction, instruction.operands[0], active)
    participants = np.broadcast_to(state.live if active is None else active, state.shape)
    heap = state.memory.heap.device_heap
    released = {}
    wrong = np.zeros(state.shape, np.bool_)
    for index in zip(*np.nonzero(participants & (addresses != 0)), strict=True):
        address = int(addresses[index])
        if heap is None or not heap.release(address, _where(instruction)):
            wrong[index] = True
            released[index] = _described(state, address)
    if wrong.any():
        note(state, instruction, "illegal operand", wrong, lambda *thread: f"free of {released[thread]}")
    return True


def _described(state: State, address: int) -> str:
    heap = state.memory.heap.device_heap
    block = heap.find(address) if heap is not None and heap.owns(address) else None
    if block is None or address >= block.address + block.bytes:
        return f"{address:#x}, which malloc has not returned"
    if address != block.address:
        return f"byte {address - block.address} of {block_text(block)}; expected the address that malloc returned"
    return f"{block_text(block)}"
