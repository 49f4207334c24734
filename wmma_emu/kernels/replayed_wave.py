# SPDX-License-Identifier: MIT
"""A wave of blocks of a trace, replayed on the machine's memory.

Warps at the same source position together, as in PTX.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wmma_emu.kernels.block import fill_of
from wmma_emu.kernels.call_machine import CallMachine, Calls
from wmma_emu.kernels.trace import Access, BlockTrace, MachineCall, Round
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.findings import Diagnosis
from wmma_emu.ptx.memory.atomic import atomic
from wmma_emu.ptx.memory.serving import Operation
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Array
from wmma_emu.warp.lane_words import FULL, has_bit

_ELEMENTS_AT_ONCE = 1 << 19
"""The number of elements of one access, over all threads, that are replayed at once."""

_CHANGE = Operation(lambda old, new: old, associative=True)
"""An atomic operation of which only the write matters for the checks."""

_Mask = NDArray[np.bool_]
_Head = tuple[int, int, Access]


class ReplayedWave:
    """Some blocks that are replayed together.

    ``bases`` maps the `id` of each array's owner to the array's base address in its address space; other arrays are
    omitted. ``order_of`` returns the position of an instruction in the order of the source, and ``machine`` executes
    calls. ``steps`` counts accesses by all warps at one position together, and ``instructions`` counts them by thread.
    """

    def __init__(
        self, memory: WaveMemory, order: CausalityOrder, bases: Mapping[int, int],
        order_of: Callable[[PtxInstruction], tuple[int, ...]], machine: CallMachine,
    ) -> None:  # fmt: skip
        self._machine = machine
        self._memory, self._order, self._bases, self._order_of = memory, order, bases, order_of
        self._threads = memory.threads
        self._live = np.ones(self._threads.shape, np.bool_)
        self.steps = self.instructions = 0

    def run(self, blocks: Sequence[BlockTrace], *, is_complete: bool) -> Diagnosis | None:
        """Replay the rounds of all blocks in order; explain a deadlock unless all warps have returned."""
        for number in range(max(len(x.rounds) for x in blocks)):
            parts = {g: x.rounds[number] for g, x in enumerate(blocks) if number < len(x.rounds)}
            self._run_round(parts)
            for g, part in parts.items():
                self._meet(g, part)
                self._machine.arrive(g, part.arrived)
            self._call([(g, w, call) for g, part in parts.items() for w, call in part.waits])
        if not is_complete:
            return self._machine.explain_deadlock()
        self._machine.finish()
        return None

    def _meet(self, g: int, part: Round) -> None:
        """Order the accesses of warps before and after a barrier that released them."""
        here = np.array([g])
        for meeting in part.meetings:
            who = np.zeros(self._threads.shape, np.bool_)
            who[g, list(meeting.warps)] = True
            self._order.arrive(meeting.number, who, self._live)
            if meeting.is_of_all:
                self._order.meet(meeting.number, here)
            else:
                self._order.complete(meeting.number, here, who, self._live)

    def _run_round(self, parts: dict[int, Round]) -> None:
        """Replay the accesses between barriers: those at the first position of the source together, as in PTX."""
        left = {(g, w): iter(each) for g, part in parts.items() for w, each in part.accesses.items()}
        at: dict[tuple[int, ...], list[tuple[int, int, Access | MachineCall]]] = {}

        def advance(g: int, w: int) -> None:
            for x in left[g, w]:
                if isinstance(x, int):
                    self._meet_lanes([(g, w)], x)
                    continue
                at.setdefault(self._order_of(x.instruction), []).append((g, w, x))
                return

        for g, w in left:
            advance(g, w)
        while at:
            heads = at.pop(min(at))
            alike: dict[tuple[object, ...], list[_Head]] = {}
            for head in heads:
                x = head[2]
                if isinstance(x, Access):
                    key = id(x.instruction), id(x.owner), x.lanes is None, x.offsets.shape, x.values is None
                    alike.setdefault(key, []).append((head[0], head[1], x))
            self._call([(g, w, x) for g, w, x in heads if isinstance(x, MachineCall)])
            for group in alike.values():
                self._access(group)
            for g, w, _ in heads:
                advance(g, w)

    def _meet_lanes(self, warps: Iterable[tuple[int, int]], mask: int = int(FULL)) -> None:
        masks = np.full((1, 1, 1), mask, np.uint32)
        who = np.zeros(self._threads.shape, np.bool_)
        for g, w in warps:
            who[g, w] = has_bit(masks[0, 0], np.arange(LANES, dtype=np.uint32))
        self._order.meet_lanes(who, masks, self._live)

    def _call(self, calls: Calls) -> None:
        """Execute calls; a call of an elected lane is between two ``__syncwarp()``."""
        each: dict[int, list[tuple[int, int, MachineCall]]] = {}
        for one in calls:
            each.setdefault(id(one[2].instruction), []).append(one)
        for alike in each.values():
            self._meet_lanes((g, w) for g, w, _ in alike)
            self._machine.run(alike)
            self._meet_lanes((g, w) for g, w, _ in alike)
            self.steps += 1
            self.instructions += sum(LANES if x.by_all else 1 for _, _, x in alike)

    def _access(self, group: Sequence[_Head]) -> None:
        """Replay the accesses of several warps at one position with equal numbers of elements."""
        first = group[0][2]
        if id(first.owner) not in self._bases:
            return
        if first.lanes is None:
            self._meet_lanes((g, w) for g, w, _ in group)
        offsets = np.stack([_spread(x.offsets + x.begin, x.lanes) for _, _, x in group])
        lead = offsets.shape[1]
        each = _piece(first.size)
        values = None
        if first.values is not None:
            values = np.stack([_words(x.values, each, x.lanes) for _, _, x in group if x.values is not None])
        g, w = (np.array([x[axis] for x in group]) for axis in (0, 1))
        active = np.zeros(self._threads.shape, np.bool_)
        for a, b, x in group:
            active[a, b, slice(x.offsets.size) if x.lanes is None else x.lanes] = True
        step = max(1, _ELEMENTS_AT_ONCE // active.size)
        for i in range(0, lead, step):
            part = None if values is None else values[:, :, i : i + step]
            self._apply_access(first, (g, w), offsets[:, i : i + step], part, active)
        self.steps += lead
        self.instructions += first.offsets.size * len(group)
        if first.lanes is None:
            self._meet_lanes((a, b) for a, b, _ in group)

    def _apply_access(
        self, access: Access, where: tuple[NDArray[np.int64], NDArray[np.int64]], offsets: Array, values: Array | None,
        active: _Mask,
    ) -> None:  # fmt: skip
        memory, space, instruction = self._memory, access.owner.space, access.instruction
        base = np.uint64(self._bases[id(access.owner)])
        addresses = np.full((offsets.shape[1], *self._threads.shape), base, np.uint64)
        addresses[:, where[0], where[1]] = np.moveaxis(offsets, 0, 1).astype(np.uint64) + base
        each = _piece(access.size)
        if values is not None:
            words = np.zeros((values.shape[1], *addresses.shape), values.dtype)
            words[:, :, where[0], where[1]] = np.moveaxis(values, 0, 2)
        if instruction.mnemonic == "red":
            if values is not None:
                self._mark_changed(access, addresses, words, active)
            nothing = np.zeros((1, 1, 1), f"u{each}")
            for row in addresses:
                atomic(memory, instruction, space, row, (nothing,), active, lambda _: _CHANGE, each, None, "relaxed")
        elif instruction.mnemonic == "ld":
            count = access.size // each
            _, lost = memory.load(instruction, space, addresses, each, count, active, alignment=each)
            if lost is not None:
                used = (lost.bits != 0) & active
                if values is not None:
                    used &= ~self._mark_changed(access, addresses, words, active)
                memory.reporter.undefined(instruction, lost, used, "what is read")
        else:
            memory.store(instruction, space, addresses, words, active, alignment=each)

    def _mark_changed(self, access: Access, addresses: Array, found: Array, active: _Mask) -> _Mask:
        """Mark elements of shared memory as initialised if they differ from their fill value; return their mask.

        Some unobserved code has written them, unless another thread at the same position found the fill value there.
        """
        uninitialised, each = self._memory.shared_shadow.uninitialised, found.itemsize
        begun = np.frombuffer(bytes([fill_of(access.owner.dtype)]) * each, found.dtype)
        changed: _Mask = (found != begun).any(axis=0) & active
        if uninitialised is None or not changed.any():
            return changed
        where = self._memory.shared.locate(addresses, access.size, each, np.broadcast_to(active, changed.shape))
        positions = np.broadcast_to(where.positions, changed.shape)
        changed &= ~np.isin(positions, positions[active & ~changed])
        uninitialised.mark(positions[changed], access.size, each)
        return changed


def _spread(values: Array, lanes: NDArray[np.int64] | None) -> Array:
    """Distribute elements over lanes: (elements of a lane, 32).

    If the whole warp does the access, a lane with one element less repeats its last one.
    """
    flat = values.reshape(-1)
    if lanes is not None and len(lanes) < LANES:
        some = np.zeros((len(flat) // len(lanes), LANES), flat.dtype)
        some[:, lanes] = flat.reshape(-1, len(lanes))
        return some
    lead = -(-len(flat) // LANES)
    if len(flat) == lead * LANES:
        return flat.reshape(lead, LANES)
    out = np.zeros(lead * LANES, flat.dtype)
    out[: len(flat)] = flat
    if lead > 1:
        out[len(flat) :] = flat[len(flat) - LANES : (lead - 1) * LANES]
    return out.reshape(lead, LANES)


def _words(values: Array, each: int, lanes: NDArray[np.int64] | None) -> Array:
    """Return the words of some elements: (words of an element, lead, 32)."""
    words = np.ascontiguousarray(values).reshape(-1).view(f"u{each}").reshape(values.size, -1)
    return np.stack([_spread(words[:, k], lanes) for k in range(words.shape[1])])


def _piece(size: int) -> int:
    """Return the bytes of the largest word, up to eight, that divides a size."""
    return min(size & -size, 8)
