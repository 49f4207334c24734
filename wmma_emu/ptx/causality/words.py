# SPDX-License-Identifier: MIT
"""What was released at words of memory, and what reads of them find."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.knowledge import Knowledge

__all__ = ["Operations", "Words"]

_Ids = NDArray[np.int64]


class _Released(NamedTuple):
    """What a word hands on: to threads of one block, and to those of the others; ``thread`` released it last."""

    block: int
    near: int
    far: int
    thread: int


_NOTHING = _Released(-1, 0, 0, -1)


class Operations(NamedTuple):
    """Strong writes in the order in which memory takes them.

    ``words`` names the word of each, ``blocks`` and ``threads`` who does it, by numbers in the launch; ``near`` and
    ``far`` are the facts (of `Knowledge`) that it releases to its own block and to others, 0 for none; ``wide`` says
    whether its scope reaches beyond the block.
    """

    words: _Ids
    blocks: _Ids
    threads: _Ids
    near: _Ids
    far: _Ids
    wide: bool


class Words:
    """The words of one space at which something was released.

    A strong write puts what it releases in the place of what was there; an atomic operation adds to it, if the scopes
    of both reach each other: a release sequence (PTX ISA 9.1, Memory Consistency Model, Observation Order). Words that
    nobody released at are not kept.

    Parameters
    ----------
    knowledge : Knowledge
    of_block : bool
        Whether each word is one block's own, in shared memory: scopes make no difference there.
    """

    def __init__(self, knowledge: Knowledge, *, of_block: bool) -> None:
        self.knowledge, self._of_block = knowledge, of_block
        self._words: dict[int, _Released] = {}

    def __len__(self) -> int:
        return len(self._words)

    def read(self, words: _Ids, blocks: _Ids, wide: bool) -> tuple[_Ids, _Ids]:
        """What strong reads find: pieces that their own block released, and pieces that others did."""
        near, far = np.zeros(len(words), np.int64), np.zeros(len(words), np.int64)
        unique, back = np.unique(words, return_inverse=True)
        for k, word in enumerate(unique.tolist()):
            entry = self._words.get(word)
            if entry is None:
                continue
            mine = back == k if len(unique) > 1 else slice(None)
            if self._of_block:
                near[mine] = entry.near
                continue
            own = blocks[mine] == entry.block
            near[mine] = np.where(own, entry.near, 0)
            far[mine] = np.where(own, 0, entry.far if wide else 0)
        return near, far

    def write(self, done: Operations) -> None:
        """Put what strong writes release in the places of what was there; the last write to a word stays."""
        near, far = self.knowledge.pieces(done.near), self._far(done)
        far = near if far is done.near else self.knowledge.pieces(far)
        last = {word: i for i, word in enumerate(done.words.tolist())}
        for word, i in last.items():
            if near[i] or far[i]:
                self._words[word] = _Released(int(done.blocks[i]), int(near[i]), int(far[i]), int(done.threads[i]))
            elif self._words.get(word, _NOTHING).thread != done.threads[i]:
                self._words.pop(word, None)

    def update(self, done: Operations) -> tuple[_Ids, _Ids]:
        """Do atomic operations one after the other; return the pieces that each finds, as `read` does."""
        order = np.argsort(done.words, kind="stable")
        words, blocks = done.words[order], done.blocks[order]
        begins = np.append(True, words[1:] != words[:-1])[: len(words)]
        group = np.cumsum(begins) - 1
        entries = [self._words.get(word, _NOTHING) for word in words[begins].tolist()]
        far = self._far(done)
        alike = done.wide and np.array_equal(done.near, far) and all(x.near == x.far for x in entries)
        before = np.array([x.block for x in entries])[group]
        of_one = (blocks == blocks[begins][group]) & ((before == -1) | (before == blocks))
        if not (self._of_block or alike or of_one.all()):
            return self._one_by_one(done, far)
        first = np.flatnonzero(begins)[group]
        old_near, old_far = (np.array([x[k] for x in entries], np.int64)[group] for k in (1, 2))
        near_found, near_left = self.knowledge.chain(old_near, done.near[order], first)
        far_left = near_left
        if not (self._of_block or alike):
            _, far_left = self.knowledge.chain(old_far if done.wide else 0 * old_far, far[order], first)
        self._leave(np.append(begins[1:], True), words, blocks, near_left, far_left, done.threads[order])
        near, out = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
        own = np.asarray(self._of_block | of_one | (self.knowledge.block_of(near_found) == blocks))
        near[order], out[order] = np.where(own, near_found, 0), np.where(own, 0, near_found)
        return near, out

    def _leave(
        self, last: NDArray[np.bool_], words: _Ids, blocks: _Ids, near: _Ids, far: _Ids, threads: _Ids
    ) -> None:  # fmt: skip
        """Keep what is left at the words after the last operation at each."""
        left = (words, blocks, near, far, threads)
        for word, *released in zip(*(x[last].tolist() for x in left), strict=True):
            if released[1] or released[2]:
                self._words[word] = _Released(*released)
            else:
                self._words.pop(word, None)

    def _far(self, done: Operations) -> _Ids:
        """The facts that writes release to other blocks."""
        if self._of_block:
            return done.near
        return done.far if done.wide else np.zeros_like(done.far)

    def _one_by_one(self, done: Operations, far: _Ids) -> tuple[_Ids, _Ids]:
        """`update` where scopes differ: an operation continues only what its scope reaches, and is reached by."""
        near_pieces, far_pieces = self.knowledge.pieces(done.near), self.knowledge.pieces(far)
        near_found, far_found = np.zeros(len(far), np.int64), np.zeros(len(far), np.int64)
        for i, word in enumerate(done.words.tolist()):
            old, block = self._words.get(word, _NOTHING), int(done.blocks[i])
            from_far = old.far if done.wide else 0
            if old.block == block:
                near_found[i] = reached = old.near
            else:
                far_found[i] = reached = from_far
            near_left = self.knowledge.join_all((reached, int(near_pieces[i])))
            far_left = self.knowledge.join_all((from_far, int(far_pieces[i])))
            if near_left or far_left:
                self._words[word] = _Released(block, near_left, far_left, int(done.threads[i]))
            else:
                self._words.pop(word, None)
        return near_found, far_found
