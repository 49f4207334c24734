# SPDX-License-Identifier: MIT
"""The threads of a launch: the blocks of a wave, warps, lanes, and the values of their special registers."""

from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.instructions.launches import Dim3
from wmma_emu.layouts.spec import LANES

__all__ = ["Active", "Array", "Dim3", "Threads", "Warps", "index_of", "linear_of"]

Array = NDArray[Any]
"""A value of every thread: an array of unsigned integers or bools that broadcasts to (blocks, warps, 32)."""

Active = NDArray[np.bool_] | None
"""The threads that execute an instruction: a mask that broadcasts to (blocks, warps, 32), or None for all threads."""


def index_of(linear: Any, size: Dim3) -> tuple[Any, Any, Any]:
    """Return the index (x, y, z) in a grid or block of a linear number, or of an array of numbers; x varies fastest."""
    return linear % size.x, linear // size.x % size.y, linear // (size.x * size.y)


def linear_of(index: tuple[int, int, int], size: Dim3) -> int:
    """Return the linear number of an index."""
    x, y, z = index
    return x + size.x * (y + size.y * z)


class Threads:
    """The threads of some blocks of a grid, which run together as a wave.

    ``blocks`` are the linear indices of the blocks, x fastest. ``exists`` is a mask, (1, W, 32), of the lanes that are
    threads of the block; None if every warp is whole.

    Examples
    --------
    >>> threads = Threads(Dim3(2, 2), Dim3(16, 3), np.arange(4))
    >>> threads.shape, threads.special("tid.y")[0, :, 0], threads.special("ctaid.x")[:, 0, 0]
    ((4, 2, 32), array([0, 2], dtype=uint32), array([0, 1, 0, 1], dtype=uint32))
    """

    def __init__(self, grid: Dim3, block: Dim3, blocks: NDArray[np.int64]) -> None:
        self.grid, self.block, self.blocks = grid, block, blocks
        self.count = prod(block)
        self.num_warps = -(-self.count // LANES)
        self.shape = len(blocks), self.num_warps, LANES
        self._linear = np.arange(self.num_warps * LANES).reshape(1, self.num_warps, LANES)
        self.exists: NDArray[np.bool_] | None = None if self.count % LANES == 0 else self._linear < self.count

    def special(self, name: str) -> Array:
        """Return the value of a special register of the threads or the grid, as narrow as it can be."""
        return self._constants[name]

    @cached_property
    def _constants(self) -> dict[str, Array]:
        table = _masks_of_lanes()
        block_index = index_of(self.blocks.reshape(-1, 1, 1), self.grid)
        thread_index = index_of(self._linear, self.block)
        for axis, name in enumerate("xyz"):
            table[f"tid.{name}"] = _narrow(thread_index[axis].astype(np.uint32))
            table[f"ctaid.{name}"] = _narrow(block_index[axis].astype(np.uint32))
            table[f"ntid.{name}"] = _uniform(self.block[axis])
            table[f"nctaid.{name}"] = _uniform(self.grid[axis])
            # In a launch without clusters, every block is a cluster.
            table[f"clusterid.{name}"] = table[f"ctaid.{name}"]
            table[f"nclusterid.{name}"] = table[f"nctaid.{name}"]
            table[f"cluster_ctaid.{name}"] = _uniform(0)
            table[f"cluster_nctaid.{name}"] = _uniform(1)
        for name in ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"):
            table[f"{name}.w"] = _uniform(0)  # PTX ISA 9.1: the fourth element is unused and always zero
        return table | {
            "laneid": np.arange(LANES, dtype=np.uint32).reshape(1, 1, LANES),
            "warpid": np.arange(self.num_warps, dtype=np.uint32).reshape(1, -1, 1),
            "nwarpid": _uniform(self.num_warps),
            "cluster_ctarank": _uniform(0),
            "cluster_nctarank": _uniform(1),
        }

    def name_block(self, g: int) -> Dim3:
        """Return the index in the grid of a block of the wave."""
        return Dim3(*index_of(int(self.blocks[g]), self.grid))

    def name_thread(self, warp: int, lane: int) -> Dim3:
        """Return the index of a thread in its block."""
        return Dim3(*index_of(int(warp * LANES + lane), self.block))

    def first(self, where: NDArray[np.bool_]) -> tuple[Dim3, Dim3, int]:
        """Return the block and the index of the first thread of a mask, and the number of its threads."""
        full = np.broadcast_to(where, self.shape)
        g, w, lane = np.unravel_index(int(np.argmax(full)), self.shape)
        return self.name_block(int(g)), self.name_thread(int(w), int(lane)), int(np.count_nonzero(full))


class Warps:
    """The warps that execute an instruction together: all warps of a wave, or those with an active lane.

    ``index`` is the block and the warp of each, None if all warps execute; ``active`` is the lanes that execute,
    (count, 32), None if all do.
    """

    def __init__(self, shape: tuple[int, int, int], active: Active) -> None:
        self.shape = shape
        self.index: tuple[Array, Array] | None = None
        self.active: NDArray[np.bool_] | None = None
        self.count = shape[0] * shape[1]
        if active is not None:
            full = np.broadcast_to(active, shape)
            self.index = np.nonzero(full.any(axis=-1))  # type: ignore[assignment]
            lanes = full[self.index]
            self.count = len(lanes)
            self.active = None if lanes.all() else lanes
            if self.count == shape[0] * shape[1]:
                self.index = None

    def gather(self, value: Array) -> Array:
        """Gather a value of every thread into (count, 32)."""
        full = np.broadcast_to(value, self.shape)
        return full.reshape(-1, LANES) if self.index is None else full[self.index]

    def scatter(self, values: Array) -> Array:
        """Write (count, 32) values to (blocks, warps, 32); warps that do not execute get zeros."""
        if self.index is None:
            return values.reshape(self.shape)
        full = np.zeros(self.shape, values.dtype)
        full[self.index] = values
        return full

    def blocks(self) -> Array:
        """Return the position in the wave of each warp's block, (count,)."""
        return np.repeat(np.arange(self.shape[0]), self.shape[1]) if self.index is None else self.index[0]

    def numbers(self) -> Array:
        """Return the number of each warp in its block, (count,)."""
        return np.tile(np.arange(self.shape[1]), self.shape[0]) if self.index is None else self.index[1]


def _masks_of_lanes() -> dict[str, Array]:
    """Return the values of the registers ``%lanemask_*``: bit masks of the equal, lower, ... lanes."""
    lane, one = np.arange(LANES, dtype=np.uint64).reshape(1, 1, LANES), np.uint64(1)
    lower = (one << lane) - one
    table = {"eq": one << lane, "lt": lower, "le": lower | (one << lane), "ge": ~lower, "gt": ~(lower | (one << lane))}
    return {f"lanemask_{name}": mask.astype(np.uint32) for name, mask in table.items()}


def _uniform(value: int) -> Array:
    return np.full((1, 1, 1), value, np.uint32)


def _narrow(value: Array) -> Array:
    return value[:1, :1, :1] if (value == value[0, 0, 0]).all() else value
