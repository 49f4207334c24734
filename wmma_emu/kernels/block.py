# SPDX-License-Identifier: MIT
"""One block of a launch and the shared memory of its warps."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from wmma_emu.errors import DivergenceError, LaunchConfigurationError, OptionError, shorten
from wmma_emu.formats.dtypes import dtype_meant
from wmma_emu.instructions import Arch
from wmma_emu.instructions.launches import LAUNCH_LIMITS, Dim3
from wmma_emu.kernels.lanes import Lanes
from wmma_emu.kernels.memory_of_kernels import Memory
from wmma_emu.kernels.trace import Trace
from wmma_emu.layouts.spec import LANES


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

    def __init__(self, index: Dim3, grid: Dim3, size: Dim3, arch: Arch, trace: Trace | None = None) -> None:
        self.index, self.grid, self.size, self.arch, self.trace = index, grid, size, arch, trace
        self._shared: dict[object, Memory] = {}

    @property
    def num_warps(self) -> int:
        """The number of warps of the block."""
        return prod(self.size) // LANES

    def shared(
        self, declaration: object, shape: object, dtype: object, warp: int, name: Callable[[], str] = str
    ) -> Memory:
        """Return the array of a declaration, allocated by the first warp that reaches it; ``name`` returns its name."""
        sizes, found = _shape(shape), _dtype(dtype)
        if declaration not in self._shared:
            self._shared[declaration] = self._allocate(sizes, found)
            if self.trace is not None:
                self.trace.declare(declaration, name(), self._shared[declaration])
        array = self._shared[declaration]
        if (array.shape, array.dtype) != (sizes, found):
            raise DivergenceError(
                f"this t.shared is {found} of shape {sizes} in warp {warp}, but was {array.dtype} of shape "
                f"{array.shape} before; one declaration is one array for the whole block; write two declarations for "
                "two arrays"
            )
        return array

    def _allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Memory:
        """Allocate an array with all bytes 0xFF, which is NaN or -1; on a GPU it would contain leftover data."""
        nbytes = prod(shape) * dtype.itemsize
        before, most = sum(x.nbytes for x in self._shared.values()), LAUNCH_LIMITS[self.arch.name].shared_bytes
        if before + nbytes > most:
            raise LaunchConfigurationError(
                f"the block needs {before + nbytes} bytes of shared memory, {nbytes} of them for this array; "
                f"{self.arch} has at most {most}: declare smaller arrays, or a narrower dtype"
            )
        return np.full(nbytes, fill_of(dtype), np.uint8).view(dtype).reshape(shape).view(Memory)


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


def _dtype(given: Any) -> np.dtype[Any]:
    """Read a dtype of numbers of NumPy or ml_dtypes, in the byte order of a GPU."""
    dtype = dtype_meant(given)
    if dtype is None or dtype.kind not in "biufcV" or dtype.type is np.void or not dtype.isnative:
        raise OptionError(
            "the dtype of shared memory must be a number type of NumPy or ml_dtypes, such as numpy.float16, not "
            f"{shorten(given)}"
        )
    return dtype
