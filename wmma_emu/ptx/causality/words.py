# SPDX-License-Identifier: MIT
"""What was released at words of memory, and what reads of them find."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.knowledge import Knowledge

__all__ = ["Operations", "Words"]

_Ids = NDArray[np.int64]


class _Released(NamedTuple):
    """What a word hands on: pieces of knowledge and, of its last write, the block, the thread, and its own facts.

    ``far`` is for threads of any block whose scope reaches that far. ``near`` is for threads of ``block``: of it only
    what threads of that block released counts, see `Knowledge.of_block`.
    """

    near: int
    far: int
    block: int
    thread: int
    near_fact: int
    far_fact: int


_NOTHING = _Released(0, 0, -1, -1, 0, 0)


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

    def read(self, words: _Ids, blocks: _Ids, wide: bool) -> _Ids:
        """Give the pieces that strong reads find."""
        found = np.zeros(len(words), np.int64)
        unique, back = np.unique(words, return_inverse=True)
        back = back.reshape(-1)
        for k, word in enumerate(unique.tolist()):
            entry = self._words.get(word)
            if entry is not None:
                mine = np.flatnonzero(back == k)
                for block in np.unique(blocks[mine]).tolist():
                    found[mine[blocks[mine] == block]] = self._reached(entry, block, wide)
        return found

    def _reached(self, entry: _Released, block: int, wide: bool) -> int:
        """The piece that an operation of a block finds at a word."""
        if self._of_block:
            return entry.near
        if block != entry.block:
            return entry.far if wide else 0
        if wide:
            return self.knowledge.join_all((entry.near, entry.far))
        return self.knowledge.of_block(entry.near, block)

    def write(self, done: Operations) -> None:
        """Put what strong writes release in the places of what was there; the last write to a word stays.

        What the same thread released there just before is released again (PTX ISA 9.1, Release and Acquire Patterns).
        """
        far = self._far(done)
        last = {word: i for i, word in enumerate(done.words.tolist())}
        for word, i in last.items():
            block, thread = int(done.blocks[i]), int(done.threads[i])
            old = self._words.get(word, _NOTHING)
            again = old.thread == thread
            near_facts = {int(done.near[i])} | ({old.near_fact} if again else set())
            far_facts = {int(far[i])} | ({old.far_fact} if again and (done.wide or self._of_block) else set())
            near = self.knowledge.join_all(self.knowledge.pieces(np.array(sorted(near_facts))).tolist())
            far_piece = near
            if near_facts != far_facts:
                far_piece = self.knowledge.join_all(self.knowledge.pieces(np.array(sorted(far_facts))).tolist())
            if near or far_piece:
                latest = self.knowledge.latest
                self._words[word] = _Released(near, far_piece, block, thread, latest(near_facts), latest(far_facts))
            else:
                self._words.pop(word, None)

    def update(self, done: Operations) -> _Ids:
        """Do atomic operations one after the other; return the pieces that each finds."""
        order = np.argsort(done.words, kind="stable")
        words, blocks = done.words[order], done.blocks[order]
        begins = np.append(True, words[1:] != words[:-1])[: len(words)]
        group = np.cumsum(begins) - 1
        entries = [self._words.get(word, _NOTHING) for word in words[begins].tolist()]
        far = self._far(done)
        alike = done.wide and np.array_equal(done.near, far) and all(x.near == x.far for x in entries)
        alike = alike or self._of_block
        before = np.array([x.block for x in entries])[group]
        of_one = (blocks == blocks[begins][group]) & ((before == -1) | (before == blocks))
        if not (alike or of_one.all()):
            return self._one_by_one(done, far)
        first = np.flatnonzero(begins)[group]
        old_near, old_far = (np.array([x[k] for x in entries], np.int64)[group] for k in (0, 1))
        found, near_left = self.knowledge.chain(old_near, done.near[order], first)
        far_left = near_left
        if not alike:
            far_found, far_left = self.knowledge.chain(old_far if done.wide else 0 * old_far, far[order], first)
            found = self.knowledge.join(found, far_found)
        self._leave(
            np.append(begins[1:], True), words, near_left, far_left, blocks, done.threads[order], done.near[order],
            far[order],
        )  # fmt: skip
        out = np.zeros(len(order), np.int64)
        out[order] = found
        return out

    def _leave(self, last: NDArray[np.bool_], words: _Ids, *left: _Ids) -> None:
        """Keep what is left at the words after the last operation at each: the fields of `_Released`."""
        for word, *released in zip(*(x[last].tolist() for x in (words, *left)), strict=True):
            if released[0] or released[1]:
                self._words[word] = _Released(*released)
            else:
                self._words.pop(word, None)

    def _far(self, done: Operations) -> _Ids:
        """The facts that writes release to other blocks."""
        if self._of_block:
            return done.near
        return done.far if done.wide else np.zeros_like(done.far)

    def _one_by_one(self, done: Operations, far: _Ids) -> _Ids:
        """`update` where scopes differ: an operation continues only what its scope reaches, and is reached by."""
        near_pieces, far_pieces = self.knowledge.pieces(done.near), self.knowledge.pieces(far)
        found = np.zeros(len(far), np.int64)
        join_all = self.knowledge.join_all
        for i, word in enumerate(done.words.tolist()):
            old, block = self._words.get(word, _NOTHING), int(done.blocks[i])
            found[i] = self._reached(old, block, done.wide)
            from_far = old.far if done.wide else 0
            near = join_all((old.near if old.block == block else from_far, int(near_pieces[i])))
            far_left = join_all((from_far, int(far_pieces[i])))
            self._leave(
                np.ones(1, np.bool_), np.array([word]),
                *(np.array([x]) for x in (near, far_left, block, done.threads[i], done.near[i], far[i])),
            )  # fmt: skip
        return found
