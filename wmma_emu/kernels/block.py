# SPDX-License-Identifier: MIT
"""One block of a launch and the shared memory of its warps."""

from collections.abc import Callable
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import DivergenceError, LaunchConfigurationError, OptionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.dtypes import dtype_meant
from wmma_emu.instructions import Arch
from wmma_emu.instructions.launches import LAUNCH_LIMITS, Dim3
from wmma_emu.kernels.lanes import Lanes
from wmma_emu.kernels.live_machine import BlockMachine, LiveMachine
from wmma_emu.kernels.memory_of_kernels import Memory
from wmma_emu.kernels.shared_layout import LARGEST_ALIGNMENT, SharedLayout
from wmma_emu.kernels.trace import Trace
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.memory.address_map import round_up


class Block:
    """One block of a launch: its index in the grid and the shared memory of its warps.

    Examples
    --------
    >>> from wmma_emu.instructions import arch_of
    >>> block = Block(Dim3(0), Dim3(1), Dim3(64), arch_of("sm_90"))
    >>> block.shared("line 7", 4, np.float16, warp=0)[1] = 3
    >>> block.shared("line 7", 4, np.float16, warp=1)
    array([nan,  3., nan, nan], dtype=float16)
    """

    def __init__(
        self, index: Dim3, grid: Dim3, size: Dim3, arch: Arch, trace: Trace | None = None,
        layout: SharedLayout | None = None, machine: LiveMachine | None = None,
    ) -> None:  # fmt: skip
        self.index, self.grid, self.size, self.arch = index, grid, size, arch
        self.trace = Trace([]) if trace is None else trace
        self._layout = SharedLayout() if layout is None else layout
        self._machine = LiveMachine(self.trace, arch, grid, size) if machine is None else machine
        self._shared: dict[object, Memory] = {}
        self.barriers: dict[int, str] = {}

    @property
    def _limit(self) -> int:
        return LAUNCH_LIMITS[self.arch.name].shared_bytes

    @cached_property
    def _bytes(self) -> NDArray[np.uint8]:
        """All bytes of shared memory, aligned on the host as on the chip."""
        whole = np.full(round_up(self._limit, 32) + LARGEST_ALIGNMENT, 0xFF, np.uint8)
        first = -whole.ctypes.data % LARGEST_ALIGNMENT
        return whole[first : first + round_up(self._limit, 32)]

    @cached_property
    def machine(self) -> BlockMachine:
        """The PTX machine, which shares the block's memory."""
        return self._machine.of_block(self.index, self._bytes)

    def finish(self) -> None:
        """Complete the copies of bulk groups for which no warp has waited."""
        if "machine" in self.__dict__:
            self.machine.finish()

    def describe_barriers(self) -> list[str]:
        """Describe the phases of the block's mbarriers."""
        return [f"{name} {self.machine.describe(position)}" for position, name in sorted(self.barriers.items())]

    @property
    def num_warps(self) -> int:
        """The number of warps of the block."""
        return prod(self.size) // LANES

    def shared(
        self, declaration: object, shape: object, dtype: object, warp: int, name: Callable[[], str] = str,
        align: int | None = None, fill: int | None = None,
    ) -> Memory:  # fmt: skip
        """Return the array of a declaration, allocated by the first warp that reaches it; ``name`` returns its name."""
        sizes, found = _shape(shape), _dtype(dtype)
        alignment = _alignment(align, found)
        if declaration not in self._shared:
            begin = self._place(declaration, prod(sizes) * found.itemsize, alignment)
            self._shared[declaration] = array = self._allocate(begin, sizes, found, fill)
            self.trace.declare(declaration, name(), array, begin)
        array = self._shared[declaration]
        if (array.shape, array.dtype) != (sizes, found):
            raise DivergenceError(
                f"this t.shared is {found} of shape {sizes} in warp {warp}, but was {array.dtype} of shape "
                f"{array.shape} before; one declaration is one array for the whole block; write two declarations for "
                "two arrays"
            )
        return array

    def _place(self, declaration: object, nbytes: int, alignment: int) -> int:
        before, most = sum(x.nbytes for x in self._shared.values()), self._limit
        begin = self._layout.place(declaration, nbytes, alignment) if before + nbytes <= most else 0
        needed = max(before + nbytes, begin + nbytes)
        if needed > most:
            raise LaunchConfigurationError(
                f"the block needs {needed} bytes of shared memory, {nbytes} of them for this array; "
                f"{self.arch} has at most {most}: declare smaller arrays, or a narrower dtype"
            )
        return begin

    def _allocate(self, begin: int, shape: tuple[int, ...], dtype: np.dtype[Any], fill: int | None) -> Memory:
        """Allocate an array with all bytes 0xFF, which is NaN or -1; on a GPU it would contain leftover data."""
        found = np.asarray(_Buffer(self._bytes[begin : begin + prod(shape) * dtype.itemsize]))
        found[:] = fill_of(dtype) if fill is None else fill
        return found.view(dtype).reshape(shape).view(Memory)


class _Buffer:
    """The bytes of a declaration, as a separate buffer: other declarations are not in the same array."""

    def __init__(self, part: NDArray[np.uint8]) -> None:
        self._part = part
        self.__array_interface__ = part.__array_interface__


def fill_of(dtype: np.dtype[Any]) -> int:
    """Return the byte that fills uninitialised shared memory of a dtype."""
    return 1 if dtype.kind == "b" else 0xFF


def _shape(given: object) -> tuple[int, ...]:
    sizes = given if isinstance(given, tuple | list) else (given,)
    whole = all(isinstance(x, int | np.integer | Lanes) and not isinstance(x, bool) for x in sizes)
    shape = tuple(x.__index__() for x in sizes) if whole else ()
    if not shape or min(shape) < 1:
        hint = "; divide with //" if any(isinstance(x, float) for x in sizes) else ""
        raise OptionError(
            f"the shape of shared memory must be a positive integer or a tuple of them, not {shorten(given)}{hint}"
        )
    return shape


def _alignment(given: int | None, dtype: np.dtype[Any]) -> int:
    """Return an alignment in bytes; 0 stands for the default."""
    if given is None:
        return 0
    legal = [1 << i for i in range(LARGEST_ALIGNMENT.bit_length()) if 1 << i >= dtype.alignment]
    if integer_of(given) not in legal:
        raise OptionError(
            f"align={shorten(given)} is not an alignment of {dtype} in shared memory; legal ones are "
            f"{', '.join(map(str, legal))} bytes"
        )
    return int(given)


def _dtype(given: Any) -> np.dtype[Any]:
    """Read a dtype of numbers of NumPy or ml_dtypes, in the byte order of a GPU."""
    dtype = dtype_meant(given)
    if dtype is None or dtype.kind not in "biufcV" or dtype.type is np.void or not dtype.isnative:
        raise OptionError(
            "the dtype of shared memory must be a number type of NumPy or ml_dtypes, such as numpy.float16, not "
            f"{shorten(given)}"
        )
    return dtype
