# SPDX-License-Identifier: MIT
"""The order that mbarriers establish: threads that arrive release what they know, threads that wait acquire it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder, ThreadIndices


@dataclass(slots=True)
class _ReleasedKnowledge:
    """The knowledge that threads released at the mbarriers at one address of the shared memory of each block.

    It consists of times of the block's warps and a piece of knowledge, see `CausalityOrder.release`: those of the
    threads that have arrived, and those at the completion of the last phase.
    """

    arriving: NDArray[np.int32]
    completed: NDArray[np.int32]
    arriving_pieces: NDArray[np.int64]
    completed_pieces: NDArray[np.int64]

    @classmethod
    def nothing(cls, causality: CausalityOrder) -> "_ReleasedKnowledge":
        times, blocks = np.zeros_like(causality.now), causality.now.shape[:1]
        return cls(times, times.copy(), causality.no_pieces(blocks), causality.no_pieces(blocks))

    def forget(self, block: int) -> None:
        for x in (self.arriving, self.completed, self.arriving_pieces, self.completed_pieces):
            x[block] = 0

    def complete(self, block: int) -> None:
        self.completed[block] = self.arriving[block]
        self.completed_pieces[block] = self.arriving_pieces[block]


class MbarrierOrder:
    """The knowledge that threads released at the mbarriers of a wave.

    ``stride`` is the size of the shared memory of a block.
    """

    def __init__(self, causality: CausalityOrder, stride: int) -> None:
        self._causality, self._stride = causality, stride
        self._released: dict[int, _ReleasedKnowledge] = {}

    def forget(self, position: int) -> None:
        """Forget what was released at a position, where an mbarrier is initialised."""
        block, released = self._released_at(position)
        released.forget(block)

    def complete(self, position: int) -> None:
        """Let what was released at a position be acquired: its phase is complete."""
        block, released = self._released_at(position)
        released.complete(block)

    def _released_at(self, position: int) -> tuple[int, _ReleasedKnowledge]:
        """Return the block of a position, and what was released at the mbarrier at its address."""
        block, address = divmod(position, self._stride)
        if address not in self._released:
            self._released[address] = _ReleasedKnowledge.nothing(self._causality)
        return block, self._released[address]

    def release(
        self, positions: NDArray[np.int64], at: ThreadIndices, live: NDArray[np.bool_], *, relaxed: bool
    ) -> None:
        """Release what threads know to those that see the completion of the phase at which they arrive.

        Each thread has the position of its mbarrier; with ``relaxed``, threads release only what they knew at a fence.
        """
        causality = self._causality
        for released, participants in self._by_address(positions, at, live.shape):
            times, pieces = causality.release(participants, live, relaxed=relaxed)
            np.maximum(released.arriving, times, out=released.arriving)
            if pieces is not None:
                released.arriving_pieces[:] = causality.knowledge.join(released.arriving_pieces, pieces)

    def observe(
        self, positions: NDArray[np.int64], at: ThreadIndices, live: NDArray[np.bool_], *, relaxed: bool
    ) -> None:
        """Let threads that see a completed phase acquire what was released; if ``relaxed``, at their next fence."""
        causality = self._causality
        for released, participants in self._by_address(positions, at, live.shape):
            if relaxed:
                causality.see_released(participants, released.completed, released.completed_pieces)
            else:
                causality.learn(participants, live, released.completed, released.completed_pieces)

    def _by_address(
        self, positions: NDArray[np.int64], at: ThreadIndices, shape: tuple[int, ...]
    ) -> Iterator[tuple[_ReleasedKnowledge, NDArray[np.bool_]]]:  # fmt: skip
        addresses = positions % self._stride
        for address in np.unique(addresses).tolist():
            selected = addresses == address
            participants = np.zeros(shape, np.bool_)
            participants[at[0][selected], at[1][selected], at[2][selected]] = True
            yield self._released_at(address)[1], participants
