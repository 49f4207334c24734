# SPDX-License-Identifier: MIT
"""How is work brought to a GPU: each tile once, in as many launches as the memory allowed makes necessary."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import OptionError
from wmma_emu.gpu.device import Gpu
from wmma_emu.gpu.kernel_body import IMAGE_ALIGNMENT, lanes_of
from wmma_emu.gpu.loaded import LoadedKernel
from wmma_emu.gpu.memory import GpuMemory
from wmma_emu.instructions import Instruction

_RESIDENT = 8
"""An operand that takes no more than one in so many of the bytes allowed is uploaded once, and stays."""

_MOST_RESULTS = 1 << 24
"""Results of one launch: numbers of threads stay below 2**32."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """Tiles of one operand: registers (registers, tiles, lanes), or images (tiles, bytes) with a descriptor."""

    name: str
    tiles: NDArray[Any]
    batch: tuple[int, ...]
    descriptor: int | None = None
    transpose: bool = False

    @property
    def tile_axis(self) -> int:
        """Axis of ``tiles`` that counts them."""
        return 1 if self.descriptor is None else 0

    @property
    def count(self) -> int:
        """How many tiles there are."""
        return prod(self.batch)

    @property
    def tile_bytes(self) -> int:
        """Bytes of one tile."""
        return self.tiles.nbytes // max(self.count, 1)

    def numbers(self, batch: tuple[int, ...]) -> NDArray[np.uint32]:
        """Which tile each result takes."""
        return np.broadcast_to(np.arange(self.count, dtype=np.uint32).reshape(self.batch), batch).reshape(-1)

    def scalars(self, tiles: int) -> tuple[Any, ...]:
        """What the kernel is told about it beside the addresses."""
        if self.descriptor is None:
            return (np.uint32(tiles),)
        return np.uint32(self.tiles.shape[-1]), np.uint64(self.descriptor)


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """Everything that one call executes."""

    row: Instruction
    operands: list[Tiles]
    batch: tuple[int, ...]
    scalars: tuple[Any, ...]

    @property
    def count(self) -> int:
        """How many results there are."""
        return prod(self.batch)

    @property
    def lanes(self) -> int:
        """Threads that execute one instruction."""
        return lanes_of(self.row)

    @property
    def d_bytes(self) -> int:
        """Bytes of one result."""
        return self.row.registers("d") * self.lanes * (8 if self.row.d == "f64" else 4)

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block: each image from a multiple of `IMAGE_ALIGNMENT` on."""
        images: list[int] = [x.tiles.shape[-1] for x in self.operands if x.descriptor is not None]
        return IMAGE_ALIGNMENT * (sum(-(-x // IMAGE_ALIGNMENT) for x in images) + bool(images))


def run(gpu: Gpu, kernel: LoadedKernel, work: LaunchPlan, d: NDArray[Any], max_bytes: int) -> None:
    """Execute everything, in as many launches as fit into ``max_bytes``."""
    resident = [x.tiles.nbytes <= max_bytes // _RESIDENT for x in work.operands]
    kept = sum(x.tiles.nbytes for x, stays in zip(work.operands, resident, strict=True) if stays)
    each = work.d_bytes + 4 * len(work.operands)
    each += sum(x.tile_bytes for x, stays in zip(work.operands, resident, strict=True) if not stays)
    chunk = min((max_bytes - kept) // each, work.count, _MOST_RESULTS)
    if chunk < 1:
        raise OptionError(
            f"max_bytes={max_bytes} is too little: one {work.row.mnemonic} takes {kept + each} bytes here"
        )
    numbers = [x.numbers(work.batch) for x in work.operands]
    threads = work.lanes if work.row.is_warpgroup else 256
    with gpu.memory() as memory:
        places = [_OperandOnGpu(x, stays, chunk, memory) for x, stays in zip(work.operands, resident, strict=True)]
        out = memory.allocate(chunk * work.d_bytes)
        for start in range(0, work.count, chunk):
            stop = min(start + chunk, work.count)
            arguments: list[Any] = []
            for place, of_result in zip(places, numbers, strict=True):
                arguments += place.fill(of_result[start:stop])
            arguments += [out, np.uint32(stop - start), *work.scalars]
            blocks = min(-(-(stop - start) * work.lanes // threads), 8 * gpu.multiprocessors)
            gpu.launch(kernel, blocks, threads, work.shared_bytes, *arguments)
            part = d if stop - start == work.count else np.empty((d.shape[0], stop - start, d.shape[2]), d.dtype)
            memory.download(out, part)
            if part is not d:
                d[:, start:stop] = part


class _OperandOnGpu:
    """Where the tiles of an operand lie on the GPU: all of them from the beginning, or those of one launch."""

    def __init__(self, operand: Tiles, stays: bool, chunk: int, memory: GpuMemory) -> None:
        self._operand, self._stays, self._memory = operand, stays, memory
        self._numbers = memory.allocate(4 * chunk)
        if stays:
            self._tiles = memory.upload(operand.tiles)
        else:
            self._tiles = memory.allocate(min(chunk, operand.count) * operand.tile_bytes)

    def fill(self, of_result: NDArray[np.uint32]) -> Iterator[Any]:
        """Bring what a launch needs to the GPU; returns the kernel's parameters for this operand."""
        count = self._operand.count
        if not self._stays:
            used, inverse = np.unique(of_result, return_inverse=True)
            of_result, count = inverse.reshape(-1).astype(np.uint32), len(used)
            self._memory.upload(self._operand.tiles.take(used, axis=self._operand.tile_axis), self._tiles)
        self._memory.upload(of_result, self._numbers)
        return iter((self._tiles, self._numbers, *self._operand.scalars(count)))
