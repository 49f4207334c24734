# SPDX-License-Identifier: MIT
"""What was released at words of memory, and what reads of them find."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.knowledge import Knowledge

__all__ = ["Operations", "Words"]

_Ids = NDArray[np.int64]


class _Released(NamedTuple):
    """What was released at a word: a piece of knowledge, and of the last write its scope and its own facts.

    ``block`` and ``wide`` are the block and the scope of the last write, ``thread`` executed it.
    """

    piece: int
    block: int
    wide: bool
    thread: int
    facts: tuple[int, ...]


_NOTHING = _Released(0, -1, False, -1, ())


class Operations(NamedTuple):
    """Strong writes in the order in which memory takes them.

    ``words`` names the word of each, ``blocks`` and ``threads`` who does it, by numbers in the launch; ``facts`` (n, 2)
    are those of `Knowledge` that each releases, 0 for none; ``wide`` says whether its scope reaches beyond the block.
    """

    words: _Ids
    blocks: _Ids
    threads: _Ids
    facts: _Ids
    wide: bool


class Words:
    """The words of one space at which something was released.

    A strong write puts what it releases in the place of what was there; an atomic operation adds to it, if the scopes
    of both reach each other: a release sequence (PTX ISA 9.1, Memory Consistency Model, Observation Order). Words that
    nobody released at are not kept.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self._words: dict[int, _Released] = {}

    def __len__(self) -> int:
        return len(self._words)

    def read(self, words: _Ids, blocks: _Ids, wide: bool) -> _Ids:
        """Give the pieces that strong reads observe; what of them synchronises is `Knowledge.reaching`."""
        unique, back = np.unique(words, return_inverse=True)
        back = back.reshape(-1)
        entries = [self._words.get(word, _NOTHING) for word in unique.tolist()]
        piece, block, is_wide = (np.array([x[k] for x in entries])[back] for k in range(3))
        return np.where((block == blocks) | (wide & is_wide), piece, 0)

    def write(self, done: Operations) -> None:
        """Put what strong writes release in the places of what was there; the last write to a word stays.

        What the same thread released there just before is released again (PTX ISA 9.1, Release and Acquire Patterns).
        """
        last = {word: i for i, word in enumerate(done.words.tolist())}
        for word, i in last.items():
            thread, old = int(done.threads[i]), self._words.get(word, _NOTHING)
            facts = {x for x in done.facts[i].tolist() if x}
            if old.thread == thread:
                facts |= set(old.facts)
            if facts:
                piece = self.knowledge.join_all(self.knowledge.pieces(np.array(sorted(facts))).tolist())
                self._words[word] = _Released(piece, int(done.blocks[i]), done.wide, thread, tuple(facts))
            else:
                self._words.pop(word, None)

    def update(self, done: Operations) -> _Ids:
        """Do atomic operations one after the other; return the pieces that each observes."""
        order = np.argsort(done.words, kind="stable")
        words, blocks, facts = done.words[order], done.blocks[order], done.facts[order]
        begins = np.append(True, words[1:] != words[:-1])
        entries = [self._words.get(word, _NOTHING) for word in words[begins].tolist()]
        follows = np.append(False, done.wide | (blocks[1:] == blocks[:-1]))  # the operation before it, at one word
        old = np.zeros(len(words), np.int64)
        piece, block, is_wide = (np.array([x[k] for x in entries]) for k in range(3))
        old[begins] = np.where((block == blocks[begins]) | (done.wide & is_wide), piece, 0)
        begins_anew = begins | ~follows
        first = np.flatnonzero(begins_anew)[np.cumsum(begins_anew) - 1]
        found, left = self.knowledge.chain(old[first], facts, first)
        ends = np.append(begins[1:], True)
        for word, piece, block, thread, own in zip(
            *(x[ends].tolist() for x in (words, left, blocks, done.threads[order], facts)), strict=True
        ):
            if piece:
                self._words[word] = _Released(piece, block, done.wide, thread, tuple(x for x in own if x))
            else:
                self._words.pop(word, None)
        out = np.zeros(len(order), np.int64)
        out[order] = found
        return out
