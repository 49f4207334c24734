# SPDX-License-Identifier: MIT
"""The functions of the CUDA driver that numba-cuda calls, answered for the emulated device.

Every operation has ended when its function returns, so that streams and events have nothing to wait for.
"""

import ctypes
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Any

from wmma_emu.errors import ArgumentValueError
from wmma_emu.instructions import Arch
from wmma_emu.instructions.launches import dim3
from wmma_emu.languages.device_properties import properties_of
from wmma_emu.languages.numba_cuda.attributes import attributes_of
from wmma_emu.languages.numba_cuda.memory import DeviceMemory

_ATTRIBUTE = "CU_DEVICE_ATTRIBUTE_"


class DriverCalls:
    """The driver's functions by their names; handles are the binding's types.

    Parameters
    ----------
    arch : Arch
        The emulated chip.
    binding : module
        ``cuda.bindings.driver``, whose types and codes the functions use.
    failure : callable
        Makes the exception for a code and a message.
    """

    def __init__(
        self, arch: Arch, memory: DeviceMemory, binding: Any, failure: Callable[[Any, str], Exception]
    ) -> None:
        self._arch, self.memory, self._binding, self._failure = arch, memory, binding, failure
        self._properties = properties_of(arch)
        self._attributes = attributes_of(self._properties)
        self._codes: dict[int, Any] = {}
        self._handles = count(0x1000)
        self._events: dict[int, float | None] = {}
        self._contexts = threading.local()
        self.context = binding.CUcontext(1)

    # The device and its context

    def cuInit(self, flags: int) -> None:
        """Return: the device is available."""

    def cuDriverGetVersion(self) -> int:
        return int(self._binding.CUDA_VERSION)

    def cuDeviceGetCount(self) -> int:
        return 1

    def cuDeviceGetAttribute(self, code: Any, device: int) -> int:
        return self._attributes.get(code.name.removeprefix(_ATTRIBUTE), 0)

    def cuDeviceCanAccessPeer(self, device: int, peer: Any) -> int:
        return 0

    def cuDevicePrimaryCtxRelease(self, device: int) -> None:
        """Return: the context holds no resources."""

    def cuDevicePrimaryCtxReset(self, device: int) -> None:
        self.memory.clear()

    @property
    def _stack(self) -> list[Any]:
        found: list[Any] = self._contexts.__dict__.setdefault("stack", [])
        return found

    def cuCtxGetCurrent(self) -> Any:
        return self._stack[-1] if self._stack else self._binding.CUcontext(0)

    def cuCtxGetDevice(self) -> int:
        return 0

    def cuCtxPushCurrent(self, context: Any) -> None:
        self._stack.append(context)

    def cuCtxPopCurrent(self) -> Any:
        if not self._stack:
            raise self._error("CUDA_ERROR_INVALID_CONTEXT", "no context is current")
        return self._stack.pop()

    def cuCtxSynchronize(self) -> None:
        """Return: everything has ended."""

    def cuProfilerStart(self) -> None:
        """Return at once."""

    def cuProfilerStop(self) -> None:
        """Return at once."""

    # Memory

    def cuMemGetInfo(self) -> tuple[int, int]:
        used = sum(x.bytes.nbytes for x in self.memory.reachable())
        return self._properties.memory_bytes - used, self._properties.memory_bytes

    def cuMemAlloc(self, size: int) -> Any:
        return self._allocated(size, is_tracked=True)

    def cuMemAllocManaged(self, size: int, flags: int) -> Any:
        return self._allocated(size, is_tracked=False)

    def cuMemHostAlloc(self, size: int, flags: int) -> int:
        return int(self._allocated(size, is_tracked=False))

    def _allocated(self, size: int, is_tracked: bool) -> Any:
        if size <= 0:
            raise self._error("CUDA_ERROR_INVALID_VALUE", f"an allocation of {size} bytes")
        if size > self.cuMemGetInfo()[0]:
            raise self._error("CUDA_ERROR_OUT_OF_MEMORY", f"an allocation of {size} bytes")
        return self._binding.CUdeviceptr(self.memory.allocate(size, is_tracked=is_tracked).address)

    def cuMemHostRegister(self, address: int, size: int, flags: int) -> None:
        self.memory.add_host(int(address), size)

    def cuMemHostGetDevicePointer(self, address: int, flags: int) -> Any:
        return self._binding.CUdeviceptr(int(address))

    def cuMemFree(self, address: Any) -> None:
        self.memory.free(int(address))

    cuMemFreeHost = cuMemHostUnregister = cuMemFree

    def cuMemGetAddressRange(self, address: Any) -> tuple[Any, int]:
        block = self.memory.block_at(int(address))
        if block is None:
            raise self._error("CUDA_ERROR_NOT_FOUND", f"{int(address):#x} is in no allocation")
        return self._binding.CUdeviceptr(block.address), block.bytes.nbytes

    def cuPointerGetAttribute(self, attribute: Any, address: Any) -> Any:
        return self._binding.CUdeviceptr(int(address))

    def cuMemcpyHtoD(self, target: Any, source: Any, size: int, stream: Any = 0) -> None:
        self._tried(self.memory.write, int(target), int(source), size)

    def cuMemcpyDtoH(self, target: Any, source: Any, size: int, stream: Any = 0) -> None:
        self._tried(self.memory.read, int(target), int(source), size)

    def cuMemcpyDtoD(self, target: Any, source: Any, size: int, stream: Any = 0) -> None:
        self._tried(self.memory.move, int(target), int(source), size)

    def cuMemsetD8(self, target: Any, value: int, size: int, stream: Any = 0) -> None:
        self._tried(self.memory.fill, int(target), value, size)

    cuMemcpyHtoDAsync, cuMemcpyDtoHAsync, cuMemcpyDtoDAsync = cuMemcpyHtoD, cuMemcpyDtoH, cuMemcpyDtoD
    cuMemsetD8Async = cuMemsetD8

    # Streams and events

    def cuStreamCreate(self, flags: int) -> Any:
        return self._binding.CUstream(next(self._handles))

    def cuStreamDestroy(self, stream: Any) -> None:
        """Return: a stream holds nothing."""

    def cuStreamSynchronize(self, stream: Any) -> None:
        """Return: everything has ended."""

    def cuStreamWaitEvent(self, stream: Any, event: Any, flags: int) -> None:
        """Return: everything has ended."""

    def cuStreamAddCallback(self, stream: Any, callback: Any, data: int, flags: int) -> None:
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.py_object)(int(callback))
        function(int(stream or 0), 0, ctypes.cast(data, ctypes.py_object).value)

    def cuEventCreate(self, flags: int) -> Any:
        handle = next(self._handles)
        self._events[handle] = None
        return self._binding.CUevent(handle)

    def cuEventDestroy(self, event: Any) -> None:
        self._events.pop(int(event), None)

    def cuEventRecord(self, event: Any, stream: Any) -> None:
        self._events[int(event)] = time.perf_counter()

    def cuEventQuery(self, event: Any) -> None:
        """Return: everything has ended."""

    def cuEventSynchronize(self, event: Any) -> None:
        """Return: everything has ended."""

    def cuEventElapsedTime(self, start: Any, end: Any) -> float:
        """Return the emulator's own milliseconds, which say nothing about a GPU."""
        begin, until = self._events.get(int(start)), self._events.get(int(end))
        if begin is None or until is None:
            raise self._error("CUDA_ERROR_INVALID_HANDLE", "an event was not recorded")
        return (until - begin) * 1000

    # Modules and kernels

    def load(self, code: Any) -> int:
        """Return a new handle for loaded code."""
        handle = next(self._handles)
        self._codes[handle] = code
        return handle

    def cuLibraryUnload(self, handle: int) -> None:
        code = self._codes.pop(int(handle), None)
        for block in () if code is None else code.blocks:
            self.memory.free(block.address)

    def cuLibraryGetGlobal(self, handle: int, name: bytes) -> tuple[Any, int]:
        block = self._codes[int(handle)].variable(name.decode())
        if block is None:
            raise self._error("CUDA_ERROR_NOT_FOUND", f"the module has no variable {name.decode()}")
        return self._binding.CUdeviceptr(block.address), block.bytes.nbytes

    def cuKernelSetAttribute(self, attribute: Any, value: int, kernel: Any, device: int) -> None:
        """Return: a preference that changes no results."""

    def cuKernelSetCacheConfig(self, kernel: Any, preference: Any, device: int) -> None:
        """Return: a preference that changes no results."""

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, kernel: int, threads: int, shared: int) -> int:
        if not threads:
            return 0
        bytes_of_block = shared + self._codes[kernel].shared_bytes
        return self._properties.residency.blocks_per_multiprocessor(dim3(threads, "block"), bytes_of_block)

    def cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        self, kernel: int, threads: int, shared: int, flags: int
    ) -> int:  # fmt: skip
        return self.cuOccupancyMaxActiveBlocksPerMultiprocessor(kernel, threads, shared)

    def _tried(self, function: Callable[..., None], *arguments: int) -> None:
        try:
            function(*arguments)
        except ArgumentValueError as error:
            raise self._error("CUDA_ERROR_INVALID_VALUE", str(error)) from error

    def _error(self, name: str, message: str) -> Exception:
        return self._failure(getattr(self._binding.CUresult, name), f"{message}: {name}")
