# SPDX-License-Identifier: MIT
"""What the warps of a launch did to memory, and at which barriers they met: kept while the kernel runs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from wmma_emu.kernels.sites import Sites
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.program.program import PtxInstruction


class Owner(NamedTuple):
    """An array of a launch: what findings call it, its bytes from the first to the last, and how it is indexed.

    ``array`` is a view of all its bytes in one piece where it is global memory, None where it is a declaration of
    shared memory, which each block has for itself. ``shape`` is () where its elements do not
    lie one behind the other.
    """

    name: str
    space: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    array: NDArray[Any] | None = None
    is_aligned: bool = True


class Access(NamedTuple):
    """What one warp does at one place of the source.

    ``offsets`` are those of its elements in bytes, ``begin`` bytes behind the owner's first one. ``lanes`` says whose
    those along the last axis are; None where the warp does it as a whole. ``values`` are those of a store, or those
    that were found in shared memory.
    """

    instruction: PtxInstruction
    owner: Owner
    offsets: NDArray[np.int64]
    begin: int
    size: int
    values: NDArray[Any] | None
    lanes: NDArray[np.int64] | None


class Meeting(NamedTuple):
    """Warps that a barrier released together; ``is_of_all`` where it waited for the whole block."""

    number: int
    warps: tuple[int, ...]
    is_of_all: bool


class Round:
    """What the warps of a block did from one barrier to the next; a number is the mask of a ``__syncwarp()``."""

    def __init__(self) -> None:
        self.accesses: dict[int, list[Access | int]] = {}
        self.meetings: tuple[Meeting, ...] = ()


class BlockTrace(NamedTuple):
    """One block, by its number in the grid."""

    number: int
    rounds: list[Round]


class Trace:
    """The accesses of a launch: a `wmma_emu.watching.Watcher`."""

    def __init__(self, arrays: Sequence[Owner]) -> None:
        self.sites = Sites()
        self.arrays = tuple(arrays)
        self.declared: dict[object, Owner] = {}
        self.blocks: list[BlockTrace] = []
        self.count = 0
        self._global = [(*byte_bounds(x.array), x) for x in arrays if x.array is not None and x.array.nbytes]
        self._owners = list(self._global)
        self._current: list[Access | int] = []

    def begin_block(self, number: int) -> None:
        """Say which block runs from now on."""
        self.blocks.append(BlockTrace(number, [Round()]))
        self._owners = list(self._global)
        self.count += 1

    def clear(self) -> None:
        """Forget what the blocks did that have ended."""
        self.blocks.clear()
        self.count = 0

    def declare(self, declaration: object, name: str, array: NDArray[Any]) -> None:
        """Say where the block has the shared memory of a declaration."""
        owner = self.declared.get(declaration)
        if owner is None:
            names = [x.name for x in self.declared.values()]
            name = f"{name} ({names.count(name) + 1})" if name in names else name
            owner = Owner(name, "shared", array.shape, array.dtype)
            self.declared[declaration] = owner
        address = array.__array_interface__["data"][0]
        self._owners.insert(0, (address, address + array.nbytes, owner))

    def begin_warp(self, warp: int) -> None:
        """Say which warp runs from now on."""
        self._current = self.blocks[-1].rounds[-1].accesses.setdefault(warp, [])

    def sync_warp(self, mask: int) -> None:
        """Note that the lanes of a mask wait for each other."""
        self._current.append(mask)

    def meet(self, meetings: Sequence[Meeting]) -> None:
        """Note whom barriers released, and begin the next round."""
        rounds = self.blocks[-1].rounds
        rounds[-1].meetings = tuple(meetings)
        rounds.append(Round())

    def accessed(
        self, address: int, offsets: NDArray[np.int64], dtype: np.dtype[Any], what: str,
        values: NDArray[Any] | None = None, lanes: NDArray[np.int64] | None = None,
    ) -> None:  # fmt: skip
        """Note one access of the warp that runs; what is no memory of the launch is none of its business."""
        first = address + offsets.item(0)
        for low, high, owner in self._owners:
            if low <= first < high:
                instruction = self.sites.current(what, dtype.itemsize, owner.name, owner.space)
                if what != "st" and values is not None:  # what is found counts where it says that somebody wrote it
                    values = values.copy() if owner.space == "shared" else None
                self._current.append(Access(instruction, owner, offsets, address - low, dtype.itemsize, values, lanes))
                self.count += -(-offsets.size // LANES)
                return
