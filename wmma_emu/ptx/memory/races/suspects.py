# SPDX-License-Identifier: MIT
"""A launch that is run once more because of its races: who races with whom, and what becomes of the values loaded.

The first run finds some race at each byte that has one. For those bytes alone, this one compares every load with every
store; a further one lets the loads that are in a race give undefined bits, and sees where these are used.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.definedness.origins import Origins
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.findings import Place, place_of
from wmma_emu.ptx.memory.masks import wide
from wmma_emu.ptx.memory.races.encounters import Accesses, Encounter, each_once
from wmma_emu.ptx.memory.races.race import is_plain
from wmma_emu.ptx.memory.resolved_access import Access, ResolvedAccess
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Array

_Keys = NDArray[np.int64]
_Numbers = Callable[[NDArray[np.int64]], NDArray[np.int64]]

_MOST_ACCESSES = 1 << 22
_MOST_PAIRS = 1 << 28
"""What is noted, and compared, at most: beyond it, nothing is decided."""


class Suspects:
    """Loads and stores of the bytes in question: ``places`` are the numbers of these bytes, in order.

    ``undefined`` says, by the id of a load instruction, for which bytes and threads it gives undefined bits, as
    ``racing`` has them: of loads that are in a race with a store. By lines, ``readers`` has the loads that a store is
    in a race with, ``met`` where all instructions are that one is in a race with, and ``uses`` the first one that uses
    what a load gave (None: a load unknown). ``others`` are lines of stores in a race with a read that is no plain load.
    ``is_whole`` says whether everything could be compared, and ``look`` raises if there is no time left.
    """

    def __init__(self, places: NDArray[np.int64], undefined: Mapping[int, _Keys] | None = None) -> None:
        self._places, self.undefined = places, undefined
        self.instructions: dict[int, PtxInstruction] = {}
        self.begin()

    def begin(self) -> None:
        """Forget everything: the launch begins."""
        self.racing: dict[int, _Keys] = {}
        self.readers: dict[int, set[int]] = {}
        self.met: dict[int, set[Place]] = {}
        self.others: set[int] = set()
        self.uses: dict[int | None, PtxInstruction] = {}
        self.is_whole = True
        self._loads: dict[tuple[int, bool], Accesses] = {}
        self._stores: dict[tuple[int, bool], Accesses] = {}
        self._pairs = 0
        self.look: Callable[[], None] = lambda: None

    # Who races with whom.

    def load(self, touch: Access, numbers: _Numbers, order: CausalityOrder, *, shared: bool) -> None:
        """Compare a read with the stores before it, and note it."""
        found = self._meet(touch, numbers, order)
        if found is None or not self.is_whole:
            return
        mine = self._of(self._loads, touch, shared=shared)
        for store in self._stores.values():
            if store.shared == shared:
                _, who, count = store.racing(found, touch.strength, order, self.look)
                self._note(touch, mine.instruction, store.instruction, found.keys[who], count)
        mine.add(found)
        self._limit(mine, order)

    def store(
        self, touch: Access, numbers: _Numbers, order: CausalityOrder, *, shared: bool, arrives: bool = True
    ) -> None:  # fmt: skip
        """Compare a write with the loads before it, and note it if it ``arrives`` now."""
        found = self._meet(touch, numbers, order)
        if found is None or not self.is_whole:
            return
        for load in self._loads.values():
            if load.shared == shared:
                keys, _, count = load.racing(found, touch.strength, order, self.look)
                reader = touch._replace(instruction=load.instruction, strength=load.strength)
                self._note(reader, load.instruction, touch.instruction, keys, count)
        if arrives:
            mine = self._of(self._stores, touch, shared=shared)
            mine.add(found)
            self._limit(mine, order)

    def _of(self, accesses: dict[tuple[int, bool], Accesses], touch: Access, *, shared: bool) -> Accesses:
        instruction = touch.instruction
        known = accesses.get((id(instruction), shared))
        if known is None:
            self.instructions[id(instruction)] = instruction
            known = accesses[id(instruction), shared] = Accesses(instruction, touch.strength, shared=shared)
        return known

    def _limit(self, grown: Accesses, order: CausalityOrder) -> None:
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

    def _meet(self, touch: Access, numbers: _Numbers, order: CausalityOrder) -> Encounter | None:
        """Find which bytes in question an access touches, and by which threads."""
        places, positions = self._places, touch.positions
        if touch.stamps is None or not len(places) or not positions.size:
            return None
        first = numbers(positions)
        next_one = places[np.minimum(np.searchsorted(places, first), len(places) - 1)]
        near = (next_one >= first) & (next_one < first + touch.size)
        if touch.mask is not None:
            near = near & touch.mask
        if not near.any():
            return None
        shape = np.broadcast_shapes(near.shape, touch.stamps.shape)
        index = np.flatnonzero(wide(near, shape))
        start = np.broadcast_to(first, shape).reshape(-1)[index]
        numbered = start[:, None] + np.arange(touch.size)
        rank = np.minimum(np.searchsorted(places, numbered), len(places) - 1)
        row, byte = np.nonzero(places[rank] == numbered)
        local = index[row] % touch.stamps.size
        stamps = touch.stamps.reshape(-1)[local].astype(np.uint64)
        found = Encounter((index[row], byte), rank[row, byte], local, stamps, order)
        self.is_whole = self.is_whole and found.is_numbered
        return found

    # What becomes of the values.

    def lost(
        self, reached: ResolvedAccess, numbers: _Numbers, order: CausalityOrder, origins: Origins
    ) -> Undefined | None:
        """Say which bits of a load are undefined because it is in a race; None if none of them is."""
        touch = reached.access
        keys = None if self.undefined is None else self.undefined.get(id(touch.instruction))
        found = None if keys is None else self._meet(touch, numbers, order)
        if keys is None or found is None or touch.stamps is None:
            return None
        known = keys[np.minimum(np.searchsorted(keys, found.keys), len(keys) - 1)] == found.keys
        if not known.any():
            return None
        shape = np.broadcast_shapes(touch.positions.shape, touch.stamps.shape)
        lost = np.zeros((*shape, touch.size), np.uint8)
        index, byte = found.at
        lost.reshape(-1, touch.size)[index[known], byte[known]] = 0xFF
        bits: Array = np.moveaxis(lost.view(f"u{reached.size}"), -1, 0)
        origin = origins.of_race(touch.instruction, reached.space, touch.addresses)
        return Undefined(bits, np.broadcast_to(origin, bits.shape))

    def use(self, instruction: PtxInstruction, origins: Origins, found: Array) -> None:
        """Note that an instruction uses undefined bits, of some origins."""
        for number in np.unique(found).tolist():
            self.uses.setdefault(origins.line_of_race(int(number)), instruction)

    def goes_beyond(self, other: "Suspects") -> bool:
        """Whether loads are in a race here that are in none there."""
        return any(
            key not in other.racing or not np.isin(keys, other.racing[key]).all() for key, keys in self.racing.items()
        )
