# SPDX-License-Identifier: MIT
"""The GPU at hand: what it is, and how a kernel runs on it."""

import importlib
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from wmma_emu.gpu.availability import driver_call, driver_version, require_gpu
from wmma_emu.gpu.loaded import LoadedKernel, LoadedKernels, assembler
from wmma_emu.gpu.memory import GpuMemory, translated_errors
from wmma_emu.gpu.ptx import target_of

_LARGEST_DEFAULT = 1 << 30
_STATIC_SHARED = 48 << 10
"""Bytes of shared memory that a kernel gets without asking."""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What decides bits and speed: the chip, the driver, the assembler.

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
    """

    name: str
    arch: str
    driver: str
    toolkit: str
    cuda_core: str
    multiprocessors: int
    total_bytes: int


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
    """One GPU, with one stream of work. Methods may be called from any thread; one at a time runs.

    Its number is that among the GPUs that are visible. Whoever runs something holds ``lock``: for a launch, from
    `kernel` on. ``arch`` is the chip as the tables name it, ``target`` as the assembler does; ``shared_bytes`` is the
    most shared memory that a block gets, ``kernel_seconds`` the time that kernels have run, by the GPU's own clock.

    Examples
    --------
    >>> from wmma_emu.gpu import available
    >>> Gpu().target.startswith("sm_") if available() else True
    True
    """

    def __init__(self, number: int = 0) -> None:
        self._core = require_gpu()
        self.lock = threading.RLock()
        self.kernel_seconds = 0.0
        with translated_errors("opening the GPU", f"GPU {number}"):
            self._device = self._core.Device(number)
            self._device.set_current()
            self.stream = self._device.create_stream()
            capability = self._device.compute_capability
            self.number = 10 * int(capability[0]) + int(capability[1])
            self.multiprocessors = int(self._device.properties.multiprocessor_count)
            self.shared_bytes = int(self._device.properties.max_shared_memory_per_block_optin)
            self._name = str(self._device.name)
        self.arch = f"sm_{self.number}"
        self.target = target_of(self.number)
        self._where = f"{self._name} ({self.arch})"
        self._kernels = LoadedKernels(self._core, self.target)

    def info(self) -> DeviceInfo:
        """Describe it."""
        with self.lock:
            self._use()
            return DeviceInfo(
                name=self._name,
                arch=self.arch,
                driver=_driver_name(),
                toolkit=assembler(self._core),
                cuda_core=str(self._core.__version__ if hasattr(self._core, "__version__") else "unknown"),
                multiprocessors=self.multiprocessors,
                total_bytes=int(driver_call("cuMemGetInfo")[1]),
            )

    def default_max_bytes(self) -> int:
        """Bytes of its memory that a call takes at most, unless it is told otherwise."""
        self._use()
        return min(_LARGEST_DEFAULT, int(driver_call("cuMemGetInfo")[0]) // 4)

    def kernel(self, ptx: str, name: str) -> LoadedKernel:
        """Assemble PTX for this chip and return a kernel of it; the same text is assembled once.

        It may be unloaded once `lock` is let go and other kernels are asked for.
        """
        with self.lock:
            self._use()
            return self._kernels.get(ptx, name)

    @contextmanager
    def memory(self) -> Iterator[GpuMemory]:
        """Memory of the GPU that is given back at the end of the block, also after an error."""
        with self.lock, ExitStack() as buffers:
            self._use()
            yield GpuMemory(self._device, self.stream, self._where, buffers)

    def launch(self, kernel: LoadedKernel, blocks: int, threads: int, shared_bytes: int, *arguments: Any) -> None:
        """Launch a kernel and wait for it; the time that it takes is added to ``kernel_seconds``."""
        with self.lock, translated_errors(f"the kernel {kernel.name}", self._where), ExitStack() as events:
            if shared_bytes > _STATIC_SHARED:
                _allow_shared_bytes(kernel.kernel, shared_bytes, self._device.device_id)
            config = self._core.LaunchConfig(grid=blocks, block=threads, shmem_size=shared_bytes)
            before, after = (self._device.create_event(_timed(self._core)) for _ in range(2))
            events.callback(after.close)
            events.callback(before.close)
            self.stream.record(before)
            self._core.launch(self.stream, config, kernel.kernel, *arguments)
            self.stream.record(after)
            after.sync()
            self.kernel_seconds += float(after - before) / 1e3

    def _use(self) -> None:
        with translated_errors("choosing the GPU", self._where):
            self._device.set_current()


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
