# SPDX-License-Identifier: MIT
"""The words of memory to which threads released, and what reads of them find."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.gathered import FoundPieces
from wmma_emu.ptx.causality.knowledge import Knowledge
from wmma_emu.ptx.causality.links import Links

_Ids = NDArray[np.int64]

_COLUMNS = {"piece": 0, "sequence": 0, "block": -1, "wide": 0, "thread": -1, "narrow_fact": 0, "wide_fact": 0}
"""The columns kept for a word, with their values where nothing was released: the piece of knowledge, and the number of
its release sequence; the block, the scope and the thread of the last write; the facts of that thread's last releasing
operations there."""


class Operations(NamedTuple):
    """Strong writes in the order in which memory executes them.

    ``words`` are the words that they write, ``blocks`` and ``threads`` the blocks and threads that execute them, by
    numbers in the launch; ``links`` are the facts that each releases, (n, 2). ``releases`` is whether the writes
    themselves release, rather than only fences before them: their fact is the first then. ``wide`` is whether their
    scope reaches beyond the block.
    """

    words: _Ids
    blocks: _Ids
    threads: _Ids
    links: Links
    releases: bool
    wide: bool


class ReleasedWords:
    """The words of one space to which something was released.

    A strong write replaces what was released there before; an atomic operation adds to it, if the scopes of both
    include each other: a release sequence (PTX ISA 9.1, Memory Consistency Model, Observation Order). Words to which
    nothing was released are not kept.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self._keys = np.zeros(0, np.int64)
        self._kept = {name: np.zeros(0, np.int64) for name in _COLUMNS}

    def __len__(self) -> int:
        return len(self._keys)

    def read(self, words: _Ids, blocks: _Ids, wide: bool) -> FoundPieces:
        """Return the pieces that strong reads observe; `Knowledge.reaching` gives the part that synchronises."""
        found = self._look_up(words)
        in_scope = (found["block"] == blocks) | (wide & (found["wide"] == 1))
        return np.where(in_scope, found["piece"], 0), found["sequence"]

    def write(self, done: Operations) -> None:
        """Store the pieces that strong writes release, replacing the earlier ones.

        The last write to a word remains. If the same thread released to the word just before, that is released again
        (PTX ISA 9.1, Release and Acquire Patterns).
        """
        words, last = np.unique(done.words[::-1], return_index=True)
        last = len(done.words) - 1 - last
        old, facts = self._look_up(words), done.links.facts[last]
        own = self._own(done, last, old)
        links = Links(
            np.concatenate((facts, own), axis=1),
            np.concatenate((done.links.accesses[last], np.zeros_like(own)), axis=1),
        )
        index = np.arange(len(words))
        pieces = self.knowledge.chain(np.zeros(len(words), np.int64), links, index)[1]
        self._keep(done, last, words, pieces, self.knowledge.number(len(words)), own)

    def update(self, done: Operations, *, reads: bool) -> FoundPieces:
        """Execute atomic operations in order; return the pieces that each observes, if it ``reads``."""
        nothing = np.zeros(len(done.words), np.int64)
        if not done.links.facts.any() and not (len(self) and self._look_up(done.words)["piece"].any()):
            return nothing, nothing
        order = np.argsort(done.words, kind="stable")
        words, blocks = done.words[order], done.blocks[order]
        begins = np.append(True, words[1:] != words[:-1])
        follows = np.append(False, done.wide | (blocks[1:] == blocks[:-1]))  # the operation before it at the same word
        kept = self._look_up(words[begins])
        old = np.zeros(len(words), np.int64)
        reaches = (kept["block"] == blocks[begins]) | (done.wide & (kept["wide"] == 1))
        old[begins] = np.where(reaches, kept["piece"], 0)
        begins_anew = begins | ~follows
        sequences = np.zeros(len(words), np.int64)
        sequences[begins_anew] = self.knowledge.number(int(begins_anew.sum()))
        sequences[begins] = np.where(reaches & (kept["sequence"] > 0), kept["sequence"], sequences[begins])
        first = np.flatnonzero(begins_anew)[np.cumsum(begins_anew) - 1]
        sequences = sequences[first]
        links = Links(done.links.facts[order], done.links.accesses[order])
        ends = np.append(begins[1:], True)
        found, left = self.knowledge.chain(old[first], links, first, None if reads else ends)
        last = order[ends]
        own = self._own(done, last, kept)
        self._keep(done, last, words[ends], left[ends], sequences[ends], own)
        pieces, of = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
        pieces[order], of[order] = found, sequences
        return pieces, of

    def _own(self, done: Operations, last: _Ids, old: dict[str, _Ids]) -> _Ids:
        """Return the facts of releasing operations of the threads that write last.

        The shape is (n, 2): facts at narrow scopes, and at wide ones.
        """
        own = np.zeros((len(last), 2), np.int64)
        again = old["thread"] == done.threads[last]
        own[again] = np.stack((old["narrow_fact"], old["wide_fact"]), axis=1)[again]
        if done.releases:
            own[:, int(done.wide)] = done.links.facts[last, 0]
        return own

    def _look_up(self, words: _Ids) -> dict[str, _Ids]:
        if not len(self._keys):
            return {name: np.full(len(words), nothing) for name, nothing in _COLUMNS.items()}
        at = np.minimum(np.searchsorted(self._keys, words), len(self._keys) - 1)
        known = self._keys[at] == words
        return {name: np.where(known, self._kept[name][at], nothing) for name, nothing in _COLUMNS.items()}

    def _keep(self, done: Operations, last: _Ids, words: _Ids, pieces: _Ids, sequences: _Ids, own: _Ids) -> None:
        """Store, for distinct words, what their last operations leave."""
        missing = words[(pieces > 0) & ~np.isin(words, self._keys)]
        if len(missing):
            keys = np.concatenate((self._keys, missing))
            order = np.argsort(keys)
            self._keys = keys[order]
            for name, nothing in _COLUMNS.items():
                longer = np.concatenate((self._kept[name], np.full(len(missing), nothing)))
                self._kept[name] = longer[order]
        if not len(self._keys):
            return
        at = np.minimum(np.searchsorted(self._keys, words), len(self._keys) - 1)
        known = self._keys[at] == words
        some = pieces > 0
        wide = np.full(len(words), int(done.wide))
        left = (pieces, sequences, done.blocks[last], wide, done.threads[last], own[:, 0], own[:, 1])
        for (name, nothing), values in zip(_COLUMNS.items(), left, strict=True):
            self._kept[name][at[known]] = np.where(some, values, nothing)[known]
