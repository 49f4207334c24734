# SPDX-License-Identifier: MIT
"""What is handed on through memory: facts of the threads that released, joined in a graph that is read when asked."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.flat import Flat
from wmma_emu.ptx.causality.tables import Table

__all__ = ["Knowledge"]

_Ids = NDArray[np.int64]
_BYTES_KEPT = 64 << 20
"""Of flat knowledge that has been read out of the graph, to be read again."""


class Knowledge:
    """Immutable pieces of knowledge, each with a number; 0 is none.

    A fact is what one thread knew at one time: what it did itself up to then, what all threads of its warp knew of the
    other warps of its block (a row), what it knew of single lanes of its warp, and the piece that it held. A piece is
    two others together, with a range of facts (`links`): an atomic operation that continues a release sequence adds a
    fact to those that were there before, and reads what they had been.

    Parameters
    ----------
    blocks, warps : int
        Blocks of the launch, warps of a block.

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
            thread=(np.int64, ()), time=(np.int32, ()), exact=(np.int32, ()), row=(np.int32, ()),
            lanes=(np.int32, ()), held=(np.int32, ()),
        )  # fmt: skip
        self._rows = Table(block=(np.int64, ()), times=(np.int32, (warps,)))
        self._lanes = Table(times=(np.int32, (32,)))
        self._pieces = Table(
            left=(np.int32, ()), right=(np.int32, ()), lo=(np.int32, ()), hi=(np.int32, ()), block=(np.int64, ())
        )
        self._links = Table(fact=(np.int32, ()))
        for table in (self._facts, self._rows, self._lanes, self._pieces):
            table.append(1)  # 0 is none
        self._pieces["block"][0] = -1
        self._flat: OrderedDict[int, Flat] = OrderedDict()
        self._parts: dict[tuple[int, int], int] = {}

    def rows(self, blocks: _Ids, times: NDArray[np.int32]) -> _Ids:
        """Keep, for some blocks of the grid, up to which time each of its warps is known, (n, W)."""
        return self._rows.append(len(blocks), block=blocks, times=times)

    def lanes(self, times: NDArray[np.int32]) -> _Ids:
        """Keep up to which time each lane of a warp is known, (n, 32)."""
        return self._lanes.append(len(times), times=times)

    def facts(self, threads: _Ids, times: NDArray[Any], rows: Any = 0, lanes: Any = 0, held: Any = 0) -> _Ids:
        """Keep what threads know at a time: their numbers in the launch, and what `rows` and `lanes` gave."""
        return self._facts.append(len(threads), thread=threads, time=times, row=rows, lanes=lanes, held=held)

    def with_access(self, facts: _Ids, times: NDArray[np.int32]) -> _Ids:
        """Add to facts one access of the thread itself, alone at its time, that came later; 0 stays 0."""
        old = {name: self._facts[name][facts] for name in ("thread", "time", "row", "lanes", "held")}
        return np.where(facts > 0, self._facts.append(len(facts), exact=times, **old), 0)

    def pieces(self, facts: _Ids) -> _Ids:
        """Make a piece of each fact; of 0 nothing."""
        out = np.zeros(len(facts), np.int64)
        some = facts > 0
        links = self._links.append(int(some.sum()), fact=facts[some])
        out[some] = self._make(0, 0, links, links + 1, self._block_of(facts[some]))
        return out

    def join(self, first: _Ids, second: _Ids) -> _Ids:
        """Join pieces pair by pair."""
        out = np.where(first == 0, second, first)
        differ = (first != second) & (first != 0) & (second != 0)
        if differ.any():
            low, high = np.minimum(first, second)[differ], np.maximum(first, second)[differ]
            pairs, back = np.unique(low << 32 | high, return_inverse=True)
            low, high = pairs >> 32, pairs & 0xFFFFFFFF
            blocks = self._pieces["block"]
            same = np.where(blocks[low] == blocks[high], blocks[low], -1)
            out[differ] = self._make(low, high, 0, 0, same)[back.reshape(-1)]
        return out

    def join_all(self, pieces: Iterable[int]) -> int:
        """Join any number of pieces."""
        out = 0
        for piece in pieces:
            out = int(self.join(np.array([out]), np.array([piece]))[0])
        return out

    def chain(self, old: _Ids, facts: _Ids, first: _Ids) -> tuple[_Ids, _Ids]:
        """Let atomic operations of several places, each place's one behind the other, find and leave pieces.

        Parameters
        ----------
        old : int array (n,)
            What was at the place before all of them.
        facts : int array (n,)
            What each adds; 0 is nothing.
        first : int array (n,)
            The index of the first operation at the same place.

        Returns
        -------
        found, left : int arrays (n,)
            The pieces before and after each operation.
        """
        some = facts > 0
        before: _Ids = np.cumsum(some) - some
        begin = self._links.count
        self._links.append(int(some.sum()), fact=facts[some])
        lo = begin + before[first]
        alone = self._block_of_ranges(old, facts, first)

        def piece(hi: _Ids, block: _Ids) -> _Ids:
            out = old.copy()
            new = hi > lo
            out[new] = self._make(old[new], 0, lo[new], hi[new], block[new])
            return out

        left = piece(begin + before + some, alone)
        found = np.where(first == np.arange(len(old)), old, np.roll(left, 1))
        return found, left

    def _block_of_ranges(self, old: _Ids, facts: _Ids, first: _Ids) -> NDArray[np.int64]:
        """The block that all of a place's facts up to each are about, and what was there before; -1 if others are."""
        some, mine = facts > 0, self._block_of(facts)
        one = np.full(len(facts), np.iinfo(np.int64).max)
        np.minimum.at(one, first[some], np.flatnonzero(some))
        one = np.minimum(one[first], len(facts) - 1)
        others = np.cumsum(some & (mine != mine[one]))
        same = others - (others - (some & (mine != mine[one])))[first] == 0
        return np.where(same & ((old == 0) | (self._pieces["block"][old] == mine[one])), mine[one], -1)

    def _make(self, left: Any, right: Any, lo: Any, hi: Any, block: NDArray[np.int64]) -> _Ids:
        return self._pieces.append(len(block), left=left, right=right, lo=lo, hi=hi, block=block)

    def _block_of(self, facts: _Ids) -> NDArray[np.int64]:
        """The block that all of a fact is about, -1 if there are others."""
        own = np.where(
            self._facts["row"][facts] > 0,
            self._rows["block"][self._facts["row"][facts]],
            self._facts["thread"][facts] // (32 * self.warps),
        )
        held = self._facts["held"][facts]
        return np.where((held == 0) | (self._pieces["block"][held] == own), own, -1)

    def block_of(self, pieces: _Ids) -> NDArray[np.int64]:
        """The block of the grid that all of a piece is about, -1 if there are others."""
        found: NDArray[np.int64] = self._pieces["block"][pieces]
        return found

    def latest(self, facts: Iterable[int]) -> int:
        """Of facts of one thread, that of the latest time; of none, 0."""
        return max(facts, key=lambda x: int(self._facts["time"][x]), default=0)

    def of_block(self, piece: int, block: int) -> int:
        """Of a piece that was released at a word, what threads of one block released, with all that they held."""
        if piece == 0 or int(self._pieces["block"][piece]) == block:
            return piece
        if (piece, block) not in self._parts:
            facts = self._walk(piece, through_held=False)[0]
            mine = facts[self._facts["thread"][facts] // (32 * self.warps) == block]
            self._parts[piece, block] = self.join_all(self.pieces(mine).tolist())
        return self._parts[piece, block]

    def flat(self, piece: int) -> Flat:
        """Read a piece out of the graph."""
        found = self._flat.get(piece)
        if found is None:
            found = self._gathered(*self._walk(piece, through_held=True))
            self._flat[piece] = found
            while len(self._flat) > max(8, _BYTES_KEPT // found.bytes):
                self._flat.popitem(last=False)
        else:
            self._flat.move_to_end(piece)
        return found

    def _walk(self, piece: int, *, through_held: bool) -> tuple[_Ids, list[Flat]]:
        """List the facts of a piece, and what is flat already of those that they held if it goes through these."""
        kept: list[Flat] = []
        facts: list[_Ids] = [np.zeros(0, np.int64)]
        visited = np.zeros(self._pieces.count, np.bool_)
        seen = np.zeros(self._facts.count, np.bool_)
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
            links = np.repeat(lo - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
            fresh = np.unique(self._links["fact"][links])
            fresh = fresh[~seen[fresh]]
            seen[fresh] = True
            facts.append(fresh)
            nearby = [self._pieces["left"][front], self._pieces["right"][front]]
            nearby += [self._facts["held"][fresh]] if through_held else []
            front = np.unique(np.concatenate(nearby))
            front = front[~visited[front]]
        return np.concatenate(facts), kept

    def _gathered(self, facts: _Ids, kept: list[Flat]) -> Flat:
        table = self._facts
        rows = np.unique(table["row"][facts])
        times = np.zeros((self.blocks, self.warps), np.int32)
        np.maximum.at(times, self._rows["block"][rows], self._rows["times"][rows])
        threads, own, exact = table["thread"][facts], table["time"][facts], table["exact"][facts]
        with_lanes = facts[table["lanes"][facts] > 0]
        lanes = (table["thread"][with_lanes] // 32 * 32)[:, None] + np.arange(32)
        lane_times = self._lanes["times"][table["lanes"][with_lanes]]
        return Flat.of(
            times.reshape(-1),
            np.concatenate((threads, lanes.reshape(-1))), np.concatenate((own, lane_times.reshape(-1))),
            threads[exact > 0], exact[exact > 0], kept,
        )  # fmt: skip
