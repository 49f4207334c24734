# SPDX-License-Identifier: MIT
"""Arrays of the host as arguments: a copy in the device's memory for the launch, and the results back."""

import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from wmma_emu.languages.numba_cuda.memory import DeviceMemory, host_bytes


class HostArgument:
    """A copy of a host array, itself a view, with the attributes that numba-cuda passes to kernels.

    All bytes between the first and the last element are copied, and the elements of the view are copied back, so that
    views with any strides may be arguments.

    Examples
    --------
    >>> x = np.arange(6, dtype=np.int32)[::-2]
    >>> device = HostArgument(DeviceMemory(), x, copies_in=True)
    >>> device.elements[1] = 7
    >>> device.copy_back()
    >>> x
    array([5, 7, 1], dtype=int32)
    """

    def __init__(self, memory: DeviceMemory, value: Any, *, copies_in: bool) -> None:
        self.array = array = _array_of(value)
        self.value, self.shape, self.dtype, self.size = value, array.shape, array.dtype, array.size
        self.ptr = 0
        self.elements: NDArray[Any] = array
        self._layout = SimpleNamespace(
            strides_in_bytes=array.strides, is_contiguous_c=array.flags.c_contiguous,
            is_contiguous_f=array.flags.f_contiguous,
        )  # fmt: skip
        if not array.nbytes:
            return
        lo, hi = byte_bounds(array)
        block = memory.allocate(hi - lo)
        weakref.finalize(self, memory.free, block.address)
        self.ptr = block.address + int(array.ctypes.data) - lo
        self.elements = np.ndarray(
            array.shape, array.dtype, block.bytes.view(np.ndarray), self.ptr - block.address, array.strides
        )
        if copies_in or not array.flags.forc:
            block.bytes[:] = host_bytes(lo, hi - lo)

    def copy_back(self) -> None:
        """Copy the elements to the array of the host."""
        if self.array.nbytes and self.array.flags.writeable:
            self.array[...] = self.elements


def _array_of(value: Any) -> NDArray[Any]:
    """Return an array in the memory of a value; a record of a structured array shares the array's memory."""
    if isinstance(value, np.void):
        address = int(value.__array_interface__["data"][0])
        return host_bytes(address, value.nbytes).view(value.dtype).reshape(())
    return np.asarray(value)


def argument_hints(
    memory: DeviceMemory, is_on_device: Callable[[Any], bool], of_device: Callable[..., Any],
    warn_of_copy: Callable[[], None] = lambda: None,
) -> Any:  # fmt: skip
    """Return the methods ``to_device`` of the hints for inputs and for outputs; a copy to the device may warn."""

    def of_input(hint: Any, retr: list[Any], stream: Any = 0) -> Any:
        if is_on_device(hint.value):
            return of_device(hint.value, stream)
        warn_of_copy()
        device = HostArgument(memory, hint.value, copies_in=True)
        retr.append(lambda: device)
        return device

    def of_output(hint: Any, retr: list[Any], stream: Any = 0) -> Any:
        if is_on_device(hint.value):
            return of_device(hint.value, stream)
        if type(hint).copy_input:
            warn_of_copy()
        device = HostArgument(memory, hint.value, copies_in=type(hint).copy_input)
        retr.append(device.copy_back)
        return device

    return of_input, of_output
