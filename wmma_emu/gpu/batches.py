# SPDX-License-Identifier: MIT
"""The launches of one call: each tile is copied once, in as many launches as the allowed memory requires."""

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
"""The divisor of the allowed bytes up to which an operand is uploaded once and stays on the GPU."""

_MOST_RESULTS = 1 << 24
"""The largest number of results of one launch: thread numbers stay below 2**32."""


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
        """The axis of ``tiles`` that counts them."""
        return 1 if self.descriptor is None else 0

    @property
    def count(self) -> int:
        """The number of tiles."""
        return prod(self.batch)

    @property
    def tile_bytes(self) -> int:
        """The bytes of one tile."""
        return self.tiles.nbytes // max(self.count, 1)

    def numbers(self, batch: tuple[int, ...]) -> NDArray[np.uint32]:
        """Return the tile number of each result."""
        return np.broadcast_to(np.arange(self.count, dtype=np.uint32).reshape(self.batch), batch).reshape(-1)

    def scalars(self, tiles: int) -> tuple[Any, ...]:
        """Return the kernel parameters of the operand in addition to the addresses."""
        if self.descriptor is None:
            return (np.uint32(tiles),)
        return np.uint32(self.tiles.shape[-1]), np.uint64(self.descriptor)


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """The instruction, operands and results of one call."""

    row: Instruction
    operands: list[Tiles]
    batch: tuple[int, ...]
    scalars: tuple[Any, ...]

    @property
    def count(self) -> int:
        """The number of results."""
        return prod(self.batch)

    @property
    def lanes(self) -> int:
        """The number of threads that execute one instruction."""
        return lanes_of(self.row)

    @property
    def d_bytes(self) -> int:
        """The bytes of one result."""
        return self.row.registers("d") * self.lanes * (8 if self.row.d == "f64" else 4)

    @property
    def shared_bytes(self) -> int:
        """The shared memory of a block: each image starts at a multiple of `IMAGE_ALIGNMENT`."""
        images: list[int] = [x.tiles.shape[-1] for x in self.operands if x.descriptor is not None]
        return IMAGE_ALIGNMENT * (sum(-(-x // IMAGE_ALIGNMENT) for x in images) + bool(images))


def run(gpu: Gpu, kernel: LoadedKernel, work: LaunchPlan, d: NDArray[Any], max_bytes: int) -> None:
    """Execute everything, in as many launches as ``max_bytes`` requires."""
    resident = [x.tiles.nbytes <= max_bytes // _RESIDENT for x in work.operands]
    kept = sum(x.tiles.nbytes for x, stays in zip(work.operands, resident, strict=True) if stays)
    each = work.d_bytes + 4 * len(work.operands)
    each += sum(x.tile_bytes for x, stays in zip(work.operands, resident, strict=True) if not stays)
    chunk = min((max_bytes - kept) // each, work.count, _MOST_RESULTS)
    if chunk < 1:
        raise OptionError(f"max_bytes={max_bytes} is too small: one {work.row.mnemonic} takes {kept + each} bytes")
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
    """The tiles of an operand on the GPU: all of them for the whole call, or the tiles of one launch."""

    def __init__(self, operand: Tiles, stays: bool, chunk: int, memory: GpuMemory) -> None:
        self._operand, self._stays, self._memory = operand, stays, memory
        self._numbers = memory.allocate(4 * chunk)
        if stays:
            self._tiles = memory.upload(operand.tiles)
        else:
            self._tiles = memory.allocate(min(chunk, operand.count) * operand.tile_bytes)

    def fill(self, of_result: NDArray[np.uint32]) -> Iterator[Any]:
        """Copy what a launch needs to the GPU; return the kernel's parameters for this operand."""
        count = self._operand.count
        if not self._stays:
            used, inverse = np.unique(of_result, return_inverse=True)
            of_result, count = inverse.reshape(-1).astype(np.uint32), len(used)
            self._memory.upload(self._operand.tiles.take(used, axis=self._operand.tile_axis), self._tiles)
        self._memory.upload(of_result, self._numbers)
        return iter((self._tiles, self._numbers, *self._operand.scalars(count)))
