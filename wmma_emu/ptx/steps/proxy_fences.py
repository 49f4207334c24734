# SPDX-License-Identifier: MIT
"""``fence.proxy``: fences between the generic proxy and the one of asynchronous copies, or of tensor maps."""

import numpy as np

from wmma_emu.ptx.memory.generic import classify
from wmma_emu.ptx.memory.masks import fit
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.addresses import address_operand, addresses_of
from wmma_emu.ptx.steps.lane_operations import Active, Step
from wmma_emu.ptx.tensor_maps.encoding import MAP_BYTES
from wmma_emu.ptx.threads import Array

_TENSOR_MAP = "tensormap::generic"


def proxy_fence(instruction: PtxInstruction) -> Step:
    """Build the step of a fence between proxies: it changes no value, and the checks of proxies note it."""
    if _TENSOR_MAP in instruction.modifiers and "acquire" in instruction.modifiers:
        return _acquire(instruction)

    def step(state: State, active: Active) -> None:
        proxies = state.memory.proxies
        if proxies is None:
            return
        who = state.live if active is None else active
        if _TENSOR_MAP in instruction.modifiers:
            proxies.map_releases.execute(who)
        else:
            proxies.fence(instruction, who)

    return step


def _acquire(instruction: PtxInstruction) -> Step:
    """Build the step of the acquire of a tensor map, whose address is an operand."""
    address = address_operand(instruction, instruction.operands[0] if instruction.operands else None)

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, address, active, "the address of the tensor map")
        who = np.broadcast_to(state.live if active is None else active & state.live, state.shape)
        if state.memory.proxies is not None and who.any():
            positions, inside = positions_of_maps(state, addresses_of(state, address), who)
            state.memory.proxies.acquire_map(positions, who & inside)

    return step


def positions_of_maps(state: State, addresses: Array, active: Active) -> tuple[Array, Array]:
    """Return the positions of tensor maps in global memory, and which of the addresses belong to it."""
    positions = np.zeros(state.shape, np.int64)
    inside = np.zeros(state.shape, np.bool_)
    for part in classify(addresses, fit(active, addresses.shape)):
        if part.space != "global":
            continue
        used = fit(active, part.addresses.shape)
        where = state.memory.globals.locate(0, part.addresses, MAP_BYTES, 1, used, False)
        good = np.ones((1, 1, 1), np.bool_) if where.used is None else where.used
        there = np.broadcast_to(good, state.shape)
        np.copyto(positions, np.broadcast_to(where.positions, state.shape), where=there)
        inside |= there
    return positions, inside
