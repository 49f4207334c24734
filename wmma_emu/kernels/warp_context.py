# SPDX-License-Identifier: MIT
"""The first argument of a kernel, ``t``: the built-in variables and functions of CUDA as attributes."""

import sys
from types import FrameType
from typing import Any, NamedTuple, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from wmma_emu.chip_sets import chips_since
from wmma_emu.errors import DivergenceError, OptionError, UnsupportedInstructionError, as_finding, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.kernels.barriers import Barrier, PhaseWait
from wmma_emu.kernels.block import Block
from wmma_emu.kernels.bulk_copies import BulkCopies
from wmma_emu.kernels.lanes import Lanes
from wmma_emu.kernels.machine_warp import MachineWarp
from wmma_emu.kernels.mbarriers import BYTES, Mbarrier, Mbarriers
from wmma_emu.kernels.memory_of_kernels import Memory
from wmma_emu.kernels.sites import column_of, name_of_declaration
from wmma_emu.kernels.trace import Place
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality import NUM_BARRIERS
from wmma_emu.scalar import bitwise
from wmma_emu.warp import shuffle, vote
from wmma_emu.warp.vote import REDUX

_Yielded = TypeVar("_Yielded", Barrier, PhaseWait)


class LaneIndex(NamedTuple):
    """CUDA's threadIdx: the position in the block of every lane's thread."""

    x: Lanes
    y: Lanes
    z: Lanes


class WarpContext(BulkCopies):
    """The warp that runs a kernel: its first argument, ``t``.

    Attributes
    ----------
    blockIdx, blockDim, gridDim : Dim3
        Integers ``.x``, ``.y``, ``.z``.
    threadIdx : LaneIndex
        `Lanes` ``.x``, ``.y``, ``.z``: the thread of each lane; threads count along x first.
    lane : Lanes
        0 to 31.
    warpSize : int
        32.
    warp_id : int
        The number of the warp in its block.
    arch : Arch
        The chip of the launch.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> @we.kernel
    ... def show(t):
    ...     s = t.shared((2, 2), np.float32)
    ...     if t.warp_id == 1:
    ...         s[:] = 1.5
    ...     yield t.syncthreads()
    ...     if t.warp_id == 0:
    ...         print(t, t.threadIdx.y[::8], t.uniform(t.threadIdx.x // 32), s[1])
    >>> report = show[1, (16, 4)]()
    <warp 0 of block (0, 0, 0) on sm_90> [0 0 1 1] 0 [1.5 1.5]
    """

    warpSize = LANES

    def __init__(self, block: Block, warp_id: int) -> None:
        self._block = block
        self._unyielded: Barrier | PhaseWait | None = None
        self._machine_warp = MachineWarp(block, warp_id, self._require_barriers_yielded, self._barrier)
        self.blockIdx, self.blockDim, self.gridDim = block.index, block.size, block.grid
        self.warp_id, self.arch = warp_id, block.arch
        self.lane = Lanes(np.arange(LANES))
        thread = warp_id * LANES + np.arange(LANES)
        x, y = block.size.x, block.size.y
        self.threadIdx = LaneIndex(Lanes(thread % x), Lanes(thread // x % y), Lanes(thread // (x * y)))
        for constant in (self.lane, *self.threadIdx):
            constant.flags.writeable = False

    def __repr__(self) -> str:
        return f"<warp {self.warp_id} of block {tuple(self.blockIdx)} on {self.arch}>"

    # --- memory and barriers

    def shared(self, shape: int | tuple[int, ...], dtype: DTypeLike, align: int | None = None) -> Memory:
        """Declare an array in shared memory (`__shared__`), which all warps of the block share.

        As in CUDA, one declaration in the source is one array: in a loop, or in a function that is called twice, it is
        the same array again. The initial contents are undefined on a GPU; the emulator sets all bits: NaN, or -1.

        Parameters
        ----------
        shape : int or tuple of int
        dtype : dtype
        align : int, optional
            The alignment in bytes, ``alignas`` of C++, up to 1024. The default is 128 for arrays of at least 128 bytes,
            and 16 for smaller ones.

        Raises
        ------
        DivergenceError
            If a declaration's shape or dtype differs from before.
        UnsupportedInstructionError
            If the chip does not have that much, or the shape or the dtype is not legal.
        """
        return self._declare(sys._getframe(1), shape, dtype, align)

    def mbarrier(self, stages: int | None = None) -> Any:
        """Declare an mbarrier in shared memory, or an array of them, which all warps of the block share.

        As for `shared`, one declaration is one barrier, in loops too. Each must be initialised (`Mbarrier.init`) before
        it is used.
        """
        frame = sys._getframe(1)
        memory = self._declare(frame, 1 if stages is None else stages, np.uint64, BYTES, fill=0)
        owner = self._block.trace.owner_of(memory)
        name, position = owner.name, owner.begin
        names = [name if stages is None else f"{name}[{i}]" for i in range(len(memory))]
        self._block.barriers |= {position + BYTES * i: x for i, x in enumerate(names)}
        found = tuple(Mbarrier(self._machine_warp, Place(owner, BYTES * i), x) for i, x in enumerate(names))
        return found[0] if stages is None else Mbarriers(found, name)

    def _declare(
        self, frame: FrameType, shape: Any, dtype: DTypeLike, align: int | None, fill: int | None = None
    ) -> Memory:  # fmt: skip
        self._require_barriers_yielded()
        code, line, at = frame.f_code, frame.f_lineno, frame.f_lasti
        return self._block.shared(
            (id(code), at, code), shape, dtype, self.warp_id,
            lambda: name_of_declaration(code.co_filename, line, column_of(code, at)), align, fill,
        )  # fmt: skip

    def syncthreads(self) -> Barrier:
        """Wait for all warps of the block: ``yield t.syncthreads()``."""
        return self._barrier(Barrier("t.syncthreads()"))

    def syncthreads_count(self, predicate: ArrayLike) -> Barrier:
        """Wait, and count the threads of the block whose predicate is not 0: ``n = yield t.syncthreads_count(p)``."""
        return self._barrier(Barrier("t.syncthreads_count()", predicate=vote.require_predicate(predicate)))

    def syncthreads_and(self, predicate: ArrayLike) -> Barrier:
        """Wait, and return 1 if no thread's predicate is 0, else 0."""
        return self._barrier(Barrier("t.syncthreads_and()", predicate=vote.require_predicate(predicate)))

    def syncthreads_or(self, predicate: ArrayLike) -> Barrier:
        """Wait, and return 1 if any thread's predicate is not 0, else 0."""
        return self._barrier(Barrier("t.syncthreads_or()", predicate=vote.require_predicate(predicate)))

    def barrier_sync(self, barrier: SupportsIndex, num_threads: SupportsIndex | None = None) -> Barrier:
        """Wait at one of the block's 16 barriers for a number of its threads: PTX ``barrier.sync a, b``.

        Without a number, it waits for all threads of the block.
        """
        number, most = integer_of(barrier), self._block.num_warps * LANES
        if number is None or number not in range(NUM_BARRIERS):
            raise as_finding(
                "illegal operand", OptionError(f"a barrier must be 0 to {NUM_BARRIERS - 1}, not {shorten(barrier)}")
            )
        if num_threads is None:
            return self._barrier(Barrier(f"t.barrier_sync({number})", number))
        threads = integer_of(num_threads)
        if threads not in range(LANES, most + 1, LANES):
            raise as_finding(
                "illegal operand",
                OptionError(
                    f"a barrier waits for whole warps, a multiple of {LANES} threads up to the {most} of this block, "
                    f"not {shorten(num_threads)}"
                ),
            )
        return self._barrier(Barrier(f"t.barrier_sync({number}, {threads})", number, threads))

    def syncwarp(self, mask: SupportsIndex = shuffle.FULL_MASK) -> None:
        """Wait for the lanes of the warp, which the emulator runs together."""
        shuffle.lanes_of_mask(mask)
        self._block.trace.sync_warp(int(mask))

    def _barrier(self, barrier: _Yielded) -> _Yielded:
        self._require_barriers_yielded()
        self._unyielded = barrier
        return barrier

    def _note_yielded(self, barrier: Barrier | PhaseWait) -> None:
        """Record that the called barrier is being waited at; reject any other barrier."""
        if barrier is not self._unyielded:
            raise DivergenceError(
                f"{barrier} was called earlier, or by another warp; call it where the warp waits: yield {barrier}"
            )
        self._unyielded = None

    def _require_barriers_yielded(self) -> None:
        """Reject continuing past a barrier that was called but not yielded."""
        if self._unyielded is not None:
            call = self._unyielded.call
            raise DivergenceError(f"{call} was called but not yielded; write: yield {call}")

    # --- lanes

    def uniform(self, values: ArrayLike) -> Any:
        """Return the value that all lanes share.

        Raises
        ------
        DivergenceError
            If the lanes differ.
        """
        return Lanes(values).uniform()

    def shfl_sync(
        self, mask: SupportsIndex, var: NDArray[Any], srcLane: ArrayLike, width: SupportsIndex = LANES
    ) -> Any:
        """Read ``var`` of lane ``srcLane`` of the lane's own segment, modulo its width.

        Parameters
        ----------
        mask : int
            The participating lanes, one bit each. The others keep their own value.
        var : array, shape (..., 32)
            Numbers of any dtype: bits move, nothing is converted.
        srcLane : int or int array of 32
            A lane, or one for each lane; its lowest five bits count.
        width : {2, 4, 8, 16, 32}, or 1
            Lanes of a segment.

        Returns
        -------
        array, shape (..., 32)

        Raises
        ------
        DivergenceError
            If a lane would read a lane that does not participate.
        FragmentMismatchError, UnsupportedInstructionError
            If the value does not have 32 lanes, or the width or the mask is not legal.

        Notes
        -----
        PTX ISA 9.1, shfl.sync: the segments, and the lane that is read at their ends.
        """
        return _in_class_of(shuffle.shuffled("idx", mask, var, srcLane, width), var)

    def shfl_up_sync(
        self, mask: SupportsIndex, var: NDArray[Any], delta: ArrayLike, width: SupportsIndex = LANES
    ) -> Any:
        """Read a value of the lane ``delta`` below; the lowest lanes of a segment keep their own.

        Parameters, errors and source: as for `shfl_sync`.
        """
        return _in_class_of(shuffle.shuffled("up", mask, var, delta, width), var)

    def shfl_down_sync(
        self, mask: SupportsIndex, var: NDArray[Any], delta: ArrayLike, width: SupportsIndex = LANES
    ) -> Any:
        """Read a value of the lane ``delta`` above; the highest lanes of a segment keep their own.

        Parameters, errors and source: as for `shfl_sync`.
        """
        return _in_class_of(shuffle.shuffled("down", mask, var, delta, width), var)

    def shfl_xor_sync(
        self, mask: SupportsIndex, var: NDArray[Any], laneMask: ArrayLike, width: SupportsIndex = LANES
    ) -> Any:
        """Read a value of the lane whose number is the own number xor ``laneMask``.

        A lane of an earlier segment can be read, but a lane of a later segment cannot: then the own value is kept.
        Parameters, errors and source: as for `shfl_sync`.
        """
        return _in_class_of(shuffle.shuffled("bfly", mask, var, laneMask, width), var)

    def all_sync(self, mask: SupportsIndex, predicate: ArrayLike) -> bool:
        """Return whether the predicate is not 0 in every lane of the mask."""
        return bool(vote.voted("all", mask, predicate))

    def any_sync(self, mask: SupportsIndex, predicate: ArrayLike) -> bool:
        """Return whether the predicate is not 0 in any lane of the mask."""
        return bool(vote.voted("any", mask, predicate))

    def ballot_sync(self, mask: SupportsIndex, predicate: ArrayLike) -> int:
        """Gather the lanes of the mask whose predicate is not 0, lane l as bit l."""
        return int(vote.voted("ballot", mask, predicate))

    def activemask(self) -> int:
        """Return the lanes that run: all of them."""
        return shuffle.FULL_MASK

    def match_any_sync(self, mask: SupportsIndex, value: NDArray[Any]) -> Lanes:
        """Return, for each lane, the lanes of the mask with the same bits."""
        return Lanes(vote.match_any_sync(mask, value))

    def match_all_sync(self, mask: SupportsIndex, value: NDArray[Any]) -> tuple[int, bool]:
        """Return the mask and True if all its lanes have the same bits, else 0 and False."""
        return vote.match_all_sync(mask, value)

    def reduce_add_sync(self, mask: SupportsIndex, value: NDArray[Any]) -> Lanes:
        """Add the 32-bit integers of the lanes of the mask, wrapping; sm_80 and later."""
        return self._reduce("add", mask, value)

    def reduce_min_sync(self, mask: SupportsIndex, value: NDArray[Any]) -> Lanes:
        """Return the smallest of the lanes' 32-bit integers; sm_80 and later."""
        return self._reduce("min", mask, value)

    def reduce_max_sync(self, mask: SupportsIndex, value: NDArray[Any]) -> Lanes:
        """Return the largest of the lanes' 32-bit integers; sm_80 and later."""
        return self._reduce("max", mask, value)

    def reduce_and_sync(self, mask: SupportsIndex, value: NDArray[Any]) -> Lanes:
        """Combine the lanes' words by and; sm_80 and later."""
        return self._reduce("and", mask, value)

    def reduce_or_sync(self, mask: SupportsIndex, value: NDArray[Any]) -> Lanes:
        """Combine the lanes' words by or; sm_80 and later."""
        return self._reduce("or", mask, value)

    def reduce_xor_sync(self, mask: SupportsIndex, value: NDArray[Any]) -> Lanes:
        """Combine the lanes' words by xor; sm_80 and later."""
        return self._reduce("xor", mask, value)

    def _reduce(self, operation: str, mask: SupportsIndex, value: NDArray[Any]) -> Lanes:
        if self.arch.name not in chips_since(REDUX.since):
            raise UnsupportedInstructionError(
                f"{self.arch} does not support reduce_{operation}_sync, which needs {REDUX.since} or later; use "
                "shuffles"
            )
        return Lanes(vote.reduce_sync(operation, mask, value))

    # --- bits

    lop3 = staticmethod(bitwise.lop3)
    lop3_lut = staticmethod(bitwise.lop3_lut)
    float_as_uint = staticmethod(bitwise.float_as_uint)
    uint_as_float = staticmethod(bitwise.uint_as_float)
    float_as_int = staticmethod(bitwise.float_as_int)
    int_as_float = staticmethod(bitwise.int_as_float)
    double_as_longlong = staticmethod(bitwise.double_as_longlong)
    longlong_as_double = staticmethod(bitwise.longlong_as_double)


def _in_class_of(result: NDArray[Any], var: NDArray[Any]) -> Any:
    """Return the result of a shuffle of `Lanes` as `Lanes`."""
    return Lanes(result) if isinstance(var, Lanes) else result
