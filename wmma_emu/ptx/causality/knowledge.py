# SPDX-License-Identifier: MIT
"""Knowledge that is passed through memory, as a graph of facts of the threads that released."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.flat import FlatKnowledge
from wmma_emu.ptx.causality.links import SEVERAL, Links, Ranges
from wmma_emu.ptx.causality.tables import Table

_Ids = NDArray[np.int64]
_FEW = 256
"""The largest number of pairs for which earlier joins are looked up."""

_BYTES_KEPT = 64 << 20
"""Bytes of flattened knowledge that are cached."""


class Knowledge:
    """Immutable pieces of knowledge, each with a number; 0 is the empty piece.

    A fact states the knowledge of one thread at one time: its own accesses up to then, the knowledge that all threads
    of its warp had of the other warps of its block (a row), its knowledge of single lanes of its warp, and the piece
    that it held. It is ``wide`` if it was released at a scope beyond the block. A piece is the union of two others and
    a range of facts (`links`): an atomic operation that continues a release sequence adds its facts to the earlier
    ones, and finds those.

    Examples
    --------
    >>> knowledge = Knowledge(2, 4)
    >>> facts = knowledge.facts(np.array([3, 70]), np.array([5, 6]))
    >>> a, b = knowledge.pieces(facts)
    >>> both = knowledge.join(np.array([a]), np.array([b]))[0]
    >>> knowledge.flat(both).knows(np.array([3, 3, 70, 4]), np.array([5, 6, 6, 1]))
    array([ True, False,  True, False])
    """

    def __init__(self, blocks: int, warps: int) -> None:
        self.blocks, self.warps = blocks, warps
        self._facts = Table(
            thread=(np.int64, ()), time=(np.int32, ()), row=(np.int32, ()),
            lanes=(np.int32, ()), held=(np.int32, ()), wide=(np.bool_, ()),
        )  # fmt: skip
        self._rows = Table(block=(np.int64, ()), times=(np.int32, (warps,)))
        self._lanes = Table(times=(np.int32, (32,)))
        self._pieces = Table(
            left=(np.int32, ()), right=(np.int32, ()), lo=(np.int32, ()), hi=(np.int32, ()),
            about=(np.int32, ()), by=(np.int32, ()), narrow=(np.bool_, ()),
        )  # fmt: skip
        self._links = Table(fact=(np.int32, ()), access=(np.int32, ()))
        for table in (self._facts, self._rows, self._lanes, self._pieces):
            table.append(1)  # entry 0 is empty
        self._flat: OrderedDict[int, FlatKnowledge] = OrderedDict()
        self._sequences = 0
        self._made: dict[int, int] = {}
        self._parts: dict[tuple[int, int, bool], int] = {}

    @property
    def count(self) -> int:
        """The number of facts, links and pieces."""
        return self._facts.count + self._links.count + self._pieces.count

    def number(self, count: int) -> _Ids:
        """Number new release sequences."""
        self._sequences += count
        return np.arange(self._sequences - count + 1, self._sequences + 1)

    def rows(self, blocks: _Ids, times: NDArray[np.int32]) -> _Ids:
        """Store, for some blocks of the grid, the time up to which each of its warps is known, (n, W)."""
        return self._rows.append(len(blocks), block=blocks, times=times)

    def lanes(self, times: NDArray[np.int32]) -> _Ids:
        """Store the time up to which each lane of a warp is known, (n, 32)."""
        return self._lanes.append(len(times), times=times)

    def facts(
        self, threads: _Ids, times: NDArray[Any], rows: Any = 0, lanes: Any = 0, held: Any = 0, *, wide: bool = False
    ) -> _Ids:  # fmt: skip
        """Store what threads know at a time: their numbers in the launch, and the results of `rows` and `lanes`."""
        return self._facts.append(
            len(threads), thread=threads, time=times, row=rows, lanes=lanes, held=held, wide=wide
        )  # fmt: skip

    def pieces(self, facts: _Ids) -> _Ids:
        """Make a piece of each fact; the piece of 0 is empty."""
        links = Links(facts[:, None], np.zeros((len(facts), 1), np.int64))
        return self.chain(np.zeros(len(facts), np.int64), links, np.arange(len(facts)))[1]

    def of_groups(self, facts: _Ids, groups: NDArray[np.int64]) -> tuple[NDArray[np.int64], _Ids]:
        """Make one piece of the facts of each group, which are adjacent; return numbers of groups, and their pieces."""
        changes = groups[1:] != groups[:-1]
        begins, ends = (np.append(*x)[: len(groups)] for x in ((True, changes), (changes, True)))
        first = np.flatnonzero(begins)[np.cumsum(begins) - 1]
        links = Links(facts[:, None], np.zeros((len(facts), 1), np.int64))
        return groups[ends], self.chain(np.zeros(len(facts), np.int64), links, first, ends)[1][ends]

    def join(self, first: _Ids, second: _Ids) -> _Ids:
        """Join pieces pair by pair."""
        out = np.where(first == 0, second, first)
        differ = (first != second) & (first != 0) & (second != 0)
        if differ.any():
            low, high = np.minimum(first, second)[differ], np.maximum(first, second)[differ]
            pairs, back = np.unique(low << 32 | high, return_inverse=True)
            out[differ] = self._joined(pairs)[back.reshape(-1)]
        return out

    def _joined(self, pairs: _Ids) -> _Ids:
        """Make pieces of pairs that differ; a few pairs are looked up among the earlier ones."""
        few = len(pairs) <= _FEW
        made = np.array([self._made.get(x, 0) for x in pairs.tolist()]) if few else np.zeros(len(pairs), np.int64)
        new = made == 0
        if new.any():
            low, high = pairs[new] >> 32, pairs[new] & 0xFFFFFFFF
            about, by, narrow = (self._pieces[x] for x in ("about", "by", "narrow"))
            made[new] = self._pieces.append(
                len(low), left=low, right=high, narrow=narrow[low] | narrow[high],
                about=np.where(about[low] == about[high], about[low], SEVERAL),
                by=np.where(by[low] == by[high], by[low], SEVERAL),
            )  # fmt: skip
            if few:
                self._made.update(zip(pairs[new].tolist(), made[new].tolist(), strict=True))
        return made

    def join_all(self, pieces: Iterable[int]) -> int:
        """Join any number of pieces."""
        out = 0
        for piece in pieces:
            out = int(self.join(np.array([out]), np.array([piece]))[0])
        return out

    def chain(
        self, old: _Ids, links: Links, first: _Ids, returned: NDArray[np.bool_] | None = None
    ) -> tuple[_Ids, _Ids]:  # fmt: skip
        """Apply operations at several words, in order at each word; return the pieces before and after each.

        ``old`` is the piece at the word before all of them, ``links`` the facts that each adds, ``first`` the index of
        the first operation at the same word, (n,). If ``returned`` is given, only the pieces after these operations are
        made, and no pieces before.
        """
        some = links.facts > 0
        after: _Ids = np.cumsum(some.sum(axis=1))
        begin = (after - some.sum(axis=1))[first]
        base = self._links.count
        self._links.append(int(some.sum()), fact=links.facts[some], access=links.accesses[some])
        left, new = old.copy(), after > begin
        if returned is not None:
            new &= returned
        if new.any():
            of = Ranges(links.facts[some], begin[new], after[new])
            about, by = self._blocks_about(of.facts), self._blocks_by(of.facts)
            back, pieces = old[new], self._pieces
            left[new] = pieces.append(
                len(back), left=back, lo=base + begin[new], hi=base + after[new],
                about=of.alike(about, back, pieces["about"]), by=of.alike(by, back, pieces["by"]),
                narrow=of.any(~self._facts["wide"][of.facts]) | pieces["narrow"][back],
            )  # fmt: skip
        if returned is not None:
            return np.zeros_like(left), left
        return np.where(first == np.arange(len(old)), old, np.roll(left, 1)), left

    def _blocks_by(self, facts: _Ids) -> NDArray[np.int64]:
        return np.asarray(self._facts["thread"][facts] // (32 * self.warps))

    def _blocks_about(self, facts: _Ids) -> NDArray[np.int64]:
        own, held = self._blocks_by(facts), self._facts["held"][facts]
        return np.where((held == 0) | (self._pieces["about"][held] == own), own, SEVERAL)

    def is_about(self, pieces: _Ids, blocks: _Ids) -> NDArray[np.bool_]:
        """Return which pieces contain nothing about any other block of the grid."""
        return np.asarray((pieces == 0) | (self._pieces["about"][pieces] == blocks))

    def reaching(self, pieces: _Ids, blocks: _Ids, *, wide: bool) -> _Ids:
        """Return the part of pieces that synchronises with threads of some blocks.

        It was released by threads of the same block, at any scope, or by others at a wide one, if the operation that
        acquires is ``wide`` too; it includes everything that those threads held.
        """
        whole = (pieces == 0) | (self._pieces["by"][pieces] == blocks)
        if wide:
            whole |= ~self._pieces["narrow"][pieces]
        if whole.all():
            return pieces
        out = pieces.copy()
        keys, back = np.unique(pieces[~whole] * self.blocks + blocks[~whole], return_inverse=True)
        parts = [self._part(key // self.blocks, key % self.blocks, wide) for key in keys.tolist()]
        out[~whole] = np.array(parts)[back.reshape(-1)]
        return out

    def _part(self, piece: int, block: int, wide: bool) -> int:
        key = piece, block, wide
        if key not in self._parts:
            links = self._walk(piece, through_held=False)[0]
            facts = self._links["fact"][links]
            counts = self._blocks_by(facts) == block
            if wide:
                counts |= self._facts["wide"][facts]
            own = Links(facts[counts][:, None], self._links["access"][links][counts][:, None])
            nothing = np.zeros(len(own.facts), np.int64)
            left = self.chain(nothing, own, nothing)[1]
            self._parts[key] = int(left[-1]) if len(left) else 0
        return self._parts[key]

    def flat(self, piece: int) -> FlatKnowledge:
        """Return the flattened form of a piece."""
        found = self._flat.get(piece)
        if found is None:
            found = self._gathered(*self._walk(piece, through_held=True))
            self._flat[piece] = found
            while len(self._flat) > max(8, _BYTES_KEPT // found.bytes):
                self._flat.popitem(last=False)
        else:
            self._flat.move_to_end(piece)
        return found

    def _walk(self, piece: int, *, through_held: bool) -> tuple[_Ids, list[FlatKnowledge]]:
        """Return the links of a piece, and the cached flattened pieces that it contains if ``through_held``."""
        kept: list[FlatKnowledge] = []
        links: list[_Ids] = [np.zeros(0, np.int64)]
        visited = np.zeros(self._pieces.count, np.bool_)
        seen = np.zeros(self._links.count, np.bool_)
        visited[0] = True
        front = np.array([piece])
        while len(front):
            visited[front] = True
            known = [x for x in front.tolist() if through_held and x in self._flat]
            if known:
                kept += [self._flat[x] for x in known]
                front = front[~np.isin(front, known)]
            lo, hi = self._pieces["lo"][front], self._pieces["hi"][front]
            count = hi - lo
            fresh = np.repeat(lo - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
            fresh = np.unique(fresh[~seen[fresh]])
            seen[fresh] = True
            links.append(fresh)
            nearby = [self._pieces["left"][front], self._pieces["right"][front]]
            nearby += [self._facts["held"][self._links["fact"][fresh]]] if through_held else []
            front = np.unique(np.concatenate(nearby))
            front = front[~visited[front]]
        return np.concatenate(links), kept

    def _gathered(self, links: _Ids, kept: list[FlatKnowledge]) -> FlatKnowledge:
        table, accesses = self._facts, self._links["access"][links]
        by = table["thread"][self._links["fact"][links]]
        facts = np.unique(self._links["fact"][links])
        rows = np.unique(table["row"][facts])
        times = np.zeros((self.blocks, self.warps), np.int32)
        np.maximum.at(times, self._rows["block"][rows], self._rows["times"][rows])
        with_lanes = facts[table["lanes"][facts] > 0]
        lanes = (table["thread"][with_lanes] // 32 * 32)[:, None] + np.arange(32)
        lane_times = self._lanes["times"][table["lanes"][with_lanes]]
        return FlatKnowledge.of(
            times.reshape(-1),
            np.concatenate((table["thread"][facts], lanes.reshape(-1))),
            np.concatenate((table["time"][facts], lane_times.reshape(-1))),
            by[accesses > 0], accesses[accesses > 0], kept,
        )  # fmt: skip
