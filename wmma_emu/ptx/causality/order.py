# SPDX-License-Identifier: MIT
"""The causality order between all threads of a launch, as stamps of accesses and the question what they precede."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality.memory_order import MemoryOrder
from wmma_emu.ptx.causality.ordering import hands_on
from wmma_emu.ptx.program.program import PtxInstruction

_Mask = NDArray[np.bool_]
_Stamps = NDArray[Any]
"""Of uint32 or uint64."""

_LANE_BITS = 5


class CausalityOrder(MemoryOrder):
    """What precedes what in a launch: PTX ISA 9.1, Memory Consistency Model, Causality Order.

    An access is stamped with the number of its thread in the launch and the time of its warp; times go on at each
    synchronisation of the warp, and begin at 1 in each. `unordered` tells where the access of a stamp is not known to
    precede what a thread does now. One order lives through all chunks of a launch; `begin` says which blocks run.

    Stamps are numbers below 2**31, and below 2**63 from the time on that does not fit (`dtype`): the same numbers in
    wider words, so that kept ones are only widened.

    A grid of so many blocks of so many warps. ``is_released_to`` is whether anything may be released to words of memory
    and found there, see `hands_on`: if not, strong accesses and fences cost nothing.

    Examples
    --------
    >>> order = CausalityOrder(2, 2)
    >>> order.begin(np.arange(2))
    >>> stamp = order.stamps()[0, 0, 3]
    >>> order.who(stamp)
    (0, 0, 3)
    >>> unordered = order.unordered(np.full((2, 2, 32), stamp))
    >>> unordered[0, 0, 2:5], unordered[:, 1, 0]
    (array([ True, False,  True]), array([ True,  True]))
    >>> order.meet_all()
    >>> unordered = order.unordered(np.full((2, 2, 32), stamp))
    >>> unordered[0].any(), unordered[1].all()
    (np.False_, np.True_)
    """

    def __init__(self, blocks: int, warps: int, *, is_released_to: bool = True) -> None:
        super().__init__(blocks, warps)
        self.is_released_to = is_released_to
        self.bits = max((blocks * warps * LANES - 1).bit_length(), 1)
        self.dtype: Any = np.uint32
        self._numbers: dict[Any, _Stamps] = {}

    @property
    def are_apart(self) -> bool:
        """Whether nothing that one block does is ever ordered before what another one does."""
        return not self.is_released_to

    def begin(self, blocks: NDArray[np.int64]) -> None:
        """Say which blocks of the grid run from now on, all of whose threads begin."""
        super().begin(blocks)
        first = np.asarray(blocks, np.uint64).reshape(-1, 1, 1) * np.uint64(self.warps)
        self._first = first
        warp = first + np.arange(self.warps, dtype=np.uint64).reshape(1, -1, 1)
        numbers = (warp << np.uint64(_LANE_BITS)) + np.arange(LANES, dtype=np.uint64)
        self._numbers = {np.uint64: numbers, np.uint32: numbers.astype(np.uint32)}

    def stamps(self, active: NDArray[np.bool_] | None = None) -> _Stamps:
        """Number the access that each thread makes now; 0, which is "never", in threads that are not active.

        They are of ``dtype``, (G, W, 32), and not to be changed.
        """
        if self._stamps is None:
            if int(self.now.max()) >> (31 - self.bits if self.bits < 31 else 0):
                self.dtype = np.uint64
            times = self.now.astype(self.dtype)[..., None] << self.dtype(self.bits)
            self._stamps = times | self._numbers[self.dtype]
            self._stamps.flags.writeable = False
        found = self._stamps
        return found if active is None else np.where(active, found, found.dtype.type(0))

    def unordered(self, stamps: _Stamps) -> NDArray[np.bool_]:
        """Tell where the access of a stamp is not known to precede what the thread that stands there does now.

        Stamps broadcast to (..., G, W, 32). 0 precedes everything, and so do a thread's own accesses.
        """
        kind = stamps.dtype.type
        threads = stamps & kind((1 << self.bits) - 1)
        found: NDArray[np.bool_] = (threads != self._numbers[kind]) & (stamps != 0)
        if not found.any():
            return found
        times = stamps >> kind(self.bits)
        warps = (threads >> kind(_LANE_BITS)) - self._first.astype(kind)
        here = warps < kind(self.warps)
        found &= ~(here & (times <= self.known_times(np.where(here, warps, kind(0)).astype(np.int64))))
        if self.knows_lanes and found.any():
            found &= ~self._known_by_lanes(threads, times, found)
        return found

    def _known_by_lanes(self, threads: _Stamps, times: _Stamps, asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell, where it is asked, which accesses single lanes know of that not all of their warp do."""
        out = np.zeros(asked.shape, np.bool_)
        at = np.nonzero(asked)
        shape = asked.shape
        out[at] = self.lanes_know(
            (at[-3], at[-2], at[-1]),
            np.broadcast_to(threads, shape)[at].astype(np.int64),
            np.broadcast_to(times, shape)[at].astype(np.int64),
        )  # fmt: skip
        return out

    def unordered_for(self, stamps: _Stamps, threads: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell the same of a list of accesses, each for a thread of the chunk that runs, counted from 0."""
        kind = stamps.dtype.type
        g, w, lane = np.unravel_index(threads, (*self.now.shape, LANES))
        whose = stamps & kind((1 << self.bits) - 1)
        found: NDArray[np.bool_] = (whose != self._numbers[kind][g, w, lane]) & (stamps != 0)
        times = stamps >> kind(self.bits)
        warps = (whose >> kind(_LANE_BITS)) - self._first.astype(kind)[g, 0, 0]
        here = warps < kind(self.warps)
        found &= ~(here & (times <= self.known[g, w, np.where(here, warps, kind(0)).astype(np.int64)]))
        if self.knows_lanes and found.any():
            at = np.flatnonzero(found)
            which = g[at], w[at], lane[at]
            found[at] = ~self.lanes_know(which, whose[at].astype(np.int64), times[at].astype(np.int64))
        return found

    def threads_of(self, stamps: _Stamps) -> NDArray[np.int64]:
        """Number the threads of stamps through the whole launch."""
        return np.asarray((stamps & stamps.dtype.type((1 << self.bits) - 1)).astype(np.int64))

    def who(self, stamp: int | np.unsignedinteger) -> tuple[int, int, int]:
        """Name the thread of a stamp: its block in the grid, its warp in the block, its lane."""
        thread = int(stamp) & ((1 << self.bits) - 1)
        warp = thread >> _LANE_BITS
        return warp // self.warps, warp % self.warps, thread % LANES

    def time(self, stamps: _Stamps) -> _Stamps:
        """Times of stamps: of one warp, an earlier access never has a later time."""
        found: _Stamps = stamps >> stamps.dtype.type(self.bits)
        return found


def _keep_nothing(self: CausalityOrder, *_: Any, **__: Any) -> None:
    """Nobody asks for what happened."""


class _Unasked(CausalityOrder):
    meet_all = meet = complete = arrive = learn = meet_lanes = see_told = _keep_nothing

    def tell(self, who: _Mask, live: _Mask, *, relaxed: bool = False) -> tuple[NDArray[np.int32], None]:
        return np.zeros_like(self.now), None


def order_of_launch(
    blocks: int, warps: int, instructions: Sequence[PtxInstruction], *, is_asked: bool = True
) -> CausalityOrder:  # fmt: skip
    """Make the order of a launch of so many blocks of so many warps.

    In ``instructions``, the program, it is looked up whether threads can order each other through words of memory.
    Unless it ``is_asked`` (races are looked for), the order keeps nothing, and is not to be asked.
    """
    if not is_asked:
        return _Unasked(blocks, warps, is_released_to=False)
    return CausalityOrder(blocks, warps, is_released_to=hands_on(instructions))
