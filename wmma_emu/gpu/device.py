# SPDX-License-Identifier: MIT
"""The GPU at hand: what it is, the kernels that were loaded on it, and memory that is always given back."""

import importlib
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import BackendUnavailableError, shorten
from wmma_emu.gpu.availability import driver_call, driver_version, require_gpu
from wmma_emu.gpu.ptx import target_of

__all__ = ["DeviceInfo", "Gpu", "Memory", "device", "open_gpu"]

_LARGEST_DEFAULT = 1 << 30
_STATIC_SHARED = 48 << 10
"""Bytes of shared memory that a kernel gets without asking."""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What decides bits and speed: the chip, the driver, the assembler; and what it has done so far.

    Parameters
    ----------
    name : str
        As the driver says it: ``"NVIDIA H200"``.
    arch : str
        The chip as the tables name it: ``"sm_90"``.
    driver : str
        Version of the driver, or of its CUDA where the driver's own cannot be asked.
    toolkit : str
        What turns PTX into machine code, which decides bits where a chip runs an instruction as software (FP8
        `mma.sync` on Hopper): ``"nvJitLink 13.0"``, or ``"driver, CUDA 13.0"``.
    cuda_core : str
        Version of cuda-core.
    multiprocessors : int
    total_bytes : int
        Memory of the GPU.
    kernel_seconds : float
        Time that kernels of this process have run, by the GPU's own clock.
    """

    name: str
    arch: str
    driver: str
    toolkit: str
    cuda_core: str
    multiprocessors: int
    total_bytes: int
    kernel_seconds: float


def device() -> DeviceInfo:
    """Say which GPU `execute` runs on.

    Raises
    ------
    BackendUnavailableError
        If there is none; the message says what is missing: cuda-core, a driver, a newer driver, a GPU.
    """
    return open_gpu().info()


@cache
def open_gpu(number: int = 0) -> "Gpu":
    """Open a GPU once; later calls return the same."""
    return Gpu(number)


class Gpu:
    """One GPU, with one stream of work. Methods may be called from any thread; one at a time runs."""

    def __init__(self, number: int = 0) -> None:
        self._core = require_gpu()
        self.lock = threading.RLock()
        self._device = self._core.Device(number)
        self._device.set_current()
        self.stream = self._device.create_stream()
        capability = self._device.compute_capability
        self.number = 10 * int(capability[0]) + int(capability[1])
        self.arch = f"sm_{self.number}"
        self.target = target_of(self.number)
        self.multiprocessors = int(self._device.properties.multiprocessor_count)
        self.shared_bytes = int(self._device.properties.max_shared_memory_per_block_optin)
        self._kernels: dict[str, Any] = {}
        self.kernel_seconds = 0.0

    def info(self) -> DeviceInfo:
        """Describe it."""
        with self.lock:
            self._device.set_current()
            return DeviceInfo(
                name=str(self._device.name),
                arch=self.arch,
                driver=_driver_name(),
                toolkit=_assembler(self._core),
                cuda_core=str(self._core.__version__ if hasattr(self._core, "__version__") else "unknown"),
                multiprocessors=self.multiprocessors,
                total_bytes=int(driver_call("cuMemGetInfo")[1]),
                kernel_seconds=self.kernel_seconds,
            )

    def default_max_bytes(self) -> int:
        """Bytes of its memory that a call takes at most, unless it is told otherwise."""
        self._device.set_current()
        return min(_LARGEST_DEFAULT, int(driver_call("cuMemGetInfo")[0]) // 4)

    def kernel(self, ptx: str, name: str) -> Any:
        """Assemble PTX for this chip and return a kernel of it; the same text is assembled once.

        Raises
        ------
        BackendUnavailableError
            If the assembler refuses the text: too old for the instruction.
        """
        with self.lock:
            if ptx not in self._kernels:
                self._device.set_current()
                options = self._core.ProgramOptions(arch=self.target)
                try:
                    program = self._core.Program(ptx, "ptx", options)
                    try:
                        self._kernels[ptx] = program.compile("cubin").get_kernel(name)
                    finally:
                        program.close()
                except Exception as error:  # each backend of cuda-core has errors of its own
                    raise BackendUnavailableError(
                        f"{_assembler(self._core)} cannot assemble {name} for {self.target}: {shorten(error, str)}; "
                        "a newer one may know the instruction"
                    ) from error
            return self._kernels[ptx]

    @contextmanager
    def memory(self) -> Iterator["Memory"]:
        """Memory of the GPU that is given back at the end of the block, also after an error."""
        with self.lock, ExitStack() as buffers:
            self._device.set_current()
            yield Memory(self._device, self.stream, buffers)

    def launch(self, kernel: Any, blocks: int, threads: int, shared_bytes: int, *arguments: Any) -> None:
        """Launch a kernel and wait for it; the time that it takes is added to ``kernel_seconds``."""
        with self.lock:
            if shared_bytes > _STATIC_SHARED:
                _allow_shared_bytes(kernel, shared_bytes, self._device.device_id)
            config = self._core.LaunchConfig(grid=blocks, block=threads, shmem_size=shared_bytes)
            before, after = (self._device.create_event(_timed(self._core)) for _ in range(2))
            self.stream.record(before)
            self._core.launch(self.stream, config, kernel, *arguments)
            self.stream.record(after)
            after.sync()
            self.kernel_seconds += float(after - before) / 1e3
            before.close()
            after.close()


class Memory:
    """Buffers on the GPU, for as long as the block of `Gpu.memory` lasts."""

    def __init__(self, device: Any, stream: Any, buffers: ExitStack) -> None:
        self._device, self._stream, self._buffers = device, stream, buffers

    def allocate(self, nbytes: int) -> Any:
        """Allocate a buffer, not initialised."""
        try:
            buffer = self._device.allocate(max(nbytes, 16), stream=self._stream)
        except Exception as error:
            raise BackendUnavailableError(
                f"{nbytes} bytes cannot be allocated on the GPU ({shorten(error, str)}); a smaller max_bytes needs less"
            ) from error
        self._buffers.callback(buffer.close, self._stream)
        return buffer

    def upload(self, array: NDArray[Any], buffer: Any = None) -> Any:
        """Copy an array to the GPU, into a buffer if one is given."""
        contiguous = np.ascontiguousarray(array)
        if buffer is None:
            buffer = self.allocate(contiguous.nbytes)
        if contiguous.nbytes:
            address = contiguous.ctypes.data
            driver_call("cuMemcpyHtoDAsync", int(buffer.handle), address, contiguous.nbytes, self._stream.handle)
            self._stream.sync()  # the array may be a temporary one
        return buffer

    def download(self, buffer: Any, array: NDArray[Any]) -> None:
        """Copy the beginning of a buffer into a contiguous array."""
        if array.nbytes:
            driver_call("cuMemcpyDtoHAsync", array.ctypes.data, int(buffer.handle), array.nbytes, self._stream.handle)
        self._stream.sync()


def _timed(core: Any) -> Any:
    """Options of an event that tells time, whose name changed with version 1."""
    try:
        return core.EventOptions(timing_enabled=True)
    except TypeError:
        return core.EventOptions(enable_timing=True)


def _allow_shared_bytes(kernel: Any, shared_bytes: int, number: int) -> None:
    driver = importlib.import_module("cuda.bindings.driver")
    attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    handle = driver.CUkernel(int(kernel.handle if hasattr(kernel, "handle") else kernel._handle))
    driver_call("cuKernelSetAttribute", attribute, shared_bytes, handle, driver_call("cuDeviceGet", number))


@cache
def _assembler(core: Any) -> str:
    """Name what assembles PTX, with its version."""
    which_backend = getattr(getattr(core, "Linker", None), "which_backend", lambda: "unknown")
    if "driver" not in str(which_backend()).lower():
        try:
            return "nvJitLink {}.{}".format(*importlib.import_module("cuda.bindings.nvjitlink").version())
        except Exception:  # it is not installed, or is too old to say: then the driver assembles
            pass
    return "driver, CUDA {}.{}".format(*driver_version())


@cache
def _driver_name() -> str:
    """Version of the driver, ``"580.126.09"``, or of its CUDA."""
    try:
        nvml = importlib.import_module("cuda.bindings.nvml")
        nvml.init_v2()
        found = str(nvml.system_get_driver_version())
        nvml.shutdown()
        if re.fullmatch(r"[\d.]+", found):
            return found
    except Exception:  # older bindings have no nvml, and some machines have no library of it
        pass
    return "CUDA {}.{}".format(*driver_version())
