# SPDX-License-Identifier: MIT
"""Second run of a launch that has races: which accesses race, and where the loaded values are used.

The first run finds some race at each byte that has one. For these bytes only, the second run compares every load with
every store; another run lets the loads that race give undefined bits, and finds where these are used.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.definedness.origins import Origins
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.findings import Place, place_of
from wmma_emu.ptx.memory.masks import wide
from wmma_emu.ptx.memory.races.byte_accesses import ByteAccesses, KnownAccesses, each_once
from wmma_emu.ptx.memory.races.race import is_plain
from wmma_emu.ptx.memory.resolved_access import Access, ResolvedAccess
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Array

_Keys = NDArray[np.int64]
_Numbers = Callable[[NDArray[np.int64]], NDArray[np.int64]]

_MOST_ACCESSES = 1 << 22
_MOST_PAIRS = 1 << 28
"""Limits on the accesses that are recorded, and the pairs that are compared: beyond them, nothing is decided."""


class Suspects:
    """Loads and stores of the watched bytes, whose numbers are ``watched``, in order.

    ``undefined`` gives, by the id of a load instruction, the bytes and threads for which it gives undefined bits, in
    the form of ``racing``: the loads that race with a store. By lines, ``readers`` has the loads with which a store
    races, ``met`` the positions in the source of all instructions with which one races, and ``uses`` the first
    instruction that uses the value of a load (None: an unknown load). ``others`` are lines of stores that race with a
    read other than a plain load. ``is_whole`` is whether everything could be compared, and ``check_time`` checks the
    time limit.
    """

    def __init__(self, watched: NDArray[np.int64], undefined: Mapping[int, _Keys] | None = None) -> None:
        self._bytes, self.undefined = watched, undefined
        self.instructions: dict[int, PtxInstruction] = {}
        self.begin()

    def begin(self) -> None:
        """Discard everything: the launch begins."""
        self.racing: dict[int, _Keys] = {}
        self.readers: dict[int, set[int]] = {}
        self.met: dict[int, set[Place]] = {}
        self.others: set[int] = set()
        self.uses: dict[int | None, PtxInstruction] = {}
        self.is_whole = True
        self._loads: dict[tuple[int, bool], KnownAccesses] = {}
        self._stores: dict[tuple[int, bool], KnownAccesses] = {}
        self._pairs = 0
        self.check_time: Callable[[], None] = lambda: None

    # The accesses that race.

    def load(self, access: Access, numbers: _Numbers, order: CausalityOrder, *, shared: bool) -> None:
        """Compare a read with the stores before it, and record it."""
        found = self._meet(access, numbers, order)
        if found is None or not self.is_whole:
            return
        own = self._of(self._loads, access, shared=shared)
        for store in self._stores.values():
            if store.shared == shared:
                _, entries, count = store.racing(found, access.strength, order, self.check_time)
                self._note(access, own.instruction, store.instruction, found.keys[entries], count)
        own.add(found)
        self._limit(own, order)

    def store(
        self, access: Access, numbers: _Numbers, order: CausalityOrder, *, shared: bool, arrives: bool = True
    ) -> None:  # fmt: skip
        """Compare a write with the loads before it, and record it if it ``arrives`` now."""
        found = self._meet(access, numbers, order)
        if found is None or not self.is_whole:
            return
        for load in self._loads.values():
            if load.shared == shared:
                keys, _, count = load.racing(found, access.strength, order, self.check_time)
                reader = access._replace(instruction=load.instruction, strength=load.strength)
                self._note(reader, load.instruction, access.instruction, keys, count)
        if arrives:
            own = self._of(self._stores, access, shared=shared)
            own.add(found)
            self._limit(own, order)

    def _of(self, accesses: dict[tuple[int, bool], KnownAccesses], access: Access, *, shared: bool) -> KnownAccesses:
        instruction = access.instruction
        known = accesses.get((id(instruction), shared))
        if known is None:
            self.instructions[id(instruction)] = instruction
            known = accesses[id(instruction), shared] = KnownAccesses(instruction, access.strength, shared=shared)
        return known

    def _limit(self, grown: KnownAccesses, order: CausalityOrder) -> None:
        if len(grown) > _MOST_ACCESSES:
            grown.settle(order)
            self.is_whole = self.is_whole and len(grown) <= _MOST_ACCESSES

    def _note(self, reader: Access, load: PtxInstruction, store: PtxInstruction, keys: _Keys, count: int) -> None:
        self._pairs += count
        if self._pairs > _MOST_PAIRS:
            self.is_whole = False
        if not len(keys):
            return
        self.met.setdefault(load.line, set()).add(place_of(store))
        self.met.setdefault(store.line, set()).add(place_of(load))
        if not is_plain(reader):
            self.others.add(store.line)
            return
        self.readers.setdefault(store.line, set()).add(load.line)
        known = self.racing.get(id(load))
        self.racing[id(load)] = each_once(keys if known is None else np.concatenate((known, keys)))

    def _meet(self, access: Access, numbers: _Numbers, order: CausalityOrder) -> ByteAccesses | None:
        """Return which watched bytes an access uses, and by which threads; None if it uses none."""
        watched, positions = self._bytes, access.positions
        if access.stamps is None or not len(watched) or not positions.size:
            return None
        first = numbers(positions)
        next_one = watched[np.minimum(np.searchsorted(watched, first), len(watched) - 1)]
        near = (next_one >= first) & (next_one < first + access.size)
        if access.mask is not None:
            near = near & access.mask
        if not near.any():
            return None
        shape = np.broadcast_shapes(near.shape, access.stamps.shape)
        index = np.flatnonzero(wide(near, shape))
        start = np.broadcast_to(first, shape).reshape(-1)[index]
        numbered = start[:, None] + np.arange(access.size)
        rank = np.minimum(np.searchsorted(watched, numbered), len(watched) - 1)
        row, byte = np.nonzero(watched[rank] == numbered)
        local = index[row] % access.stamps.size
        stamps = access.stamps.reshape(-1)[local].astype(np.uint64)
        found = ByteAccesses((index[row], byte), rank[row, byte], local, stamps, order)
        self.is_whole = self.is_whole and found.is_numbered
        return found

    # The values that they load.

    def lost(
        self, resolved: ResolvedAccess, numbers: _Numbers, order: CausalityOrder, origins: Origins
    ) -> Undefined | None:
        """Return the bits of a load that are undefined because it races; None if there are none."""
        access = resolved.access
        keys = None if self.undefined is None else self.undefined.get(id(access.instruction))
        found = None if keys is None else self._meet(access, numbers, order)
        if keys is None or found is None or access.stamps is None:
            return None
        known = keys[np.minimum(np.searchsorted(keys, found.keys), len(keys) - 1)] == found.keys
        if not known.any():
            return None
        shape = np.broadcast_shapes(access.positions.shape, access.stamps.shape)
        lost = np.zeros((*shape, access.size), np.uint8)
        index, byte = found.at
        lost.reshape(-1, access.size)[index[known], byte[known]] = 0xFF
        bits: Array = np.moveaxis(lost.view(f"u{resolved.size}"), -1, 0)
        origin = origins.of_race(access.instruction, resolved.space, resolved.numbers)
        return Undefined(bits, np.broadcast_to(origin, bits.shape))

    def use(self, instruction: PtxInstruction, origins: Origins, found: Array) -> None:
        """Record that an instruction uses undefined bits of some origins."""
        for number in np.unique(found).tolist():
            self.uses.setdefault(origins.line_of_race(int(number)), instruction)

    def goes_beyond(self, other: "Suspects") -> bool:
        """Return whether loads race in this run that do not in another."""
        return any(
            key not in other.racing or not np.isin(keys, other.racing[key]).all() for key, keys in self.racing.items()
        )
