# SPDX-License-Identifier: MIT
"""Compiling for a GPU and launching on it with only nvcc and the driver's library, through ctypes."""

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_LIBRARIES = ("libcuda.so.1", "libcuda.so", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1")

_POINTER = ctypes.POINTER
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (_POINTER(c_int),),
    "cuDeviceGet": (_POINTER(c_int), c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceGetAttribute": (_POINTER(c_int), c_int, c_int),
    "cuDevicePrimaryCtxRetain": (_POINTER(c_void_p), c_int),
    "cuDevicePrimaryCtxRelease_v2": (c_int,),
    "cuCtxSetCurrent": (c_void_p,),
    "cuCtxSynchronize": (),
    "cuModuleLoadData": (_POINTER(c_void_p), c_char_p),
    "cuModuleGetFunction": (_POINTER(c_void_p), c_void_p, c_char_p),
    "cuMemAlloc_v2": (_POINTER(c_uint64), c_size_t),
    "cuMemFree_v2": (c_uint64,),
    "cuMemcpyHtoD_v2": (c_uint64, c_void_p, c_size_t),
    "cuModuleGetGlobal_v2": (_POINTER(c_uint64), _POINTER(c_size_t), c_void_p, c_char_p),
    "cuMemcpyDtoH_v2": (c_void_p, c_uint64, c_size_t),
    "cuMemsetD8_v2": (c_uint64, ctypes.c_ubyte, c_size_t),
    "cuLaunchKernel": (
        c_void_p, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_void_p, _POINTER(c_void_p),
        _POINTER(c_void_p),
    ),
    "cuLaunchCooperativeKernel": (
        c_void_p, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_void_p, _POINTER(c_void_p),
    ),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": (_POINTER(c_int), c_void_p, c_int, c_size_t),
    "cuGetErrorString": (c_int, _POINTER(c_char_p)),
}  # fmt: skip

_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76

_SHARED_LIMIT = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
FILLS = (0xA5, 0x3C)
"""Bytes that the output of a kernel holds before its two launches."""


class CudaError(RuntimeError):
    """A failed call of the driver, or a missing compiler or driver."""


class Device:
    """The first GPU: kernels by name out of compiled modules, launched one at a time."""

    def __init__(self) -> None:
        self._cuda = _library()
        for name, types in _SIGNATURES.items():
            function = getattr(self._cuda, name)
            function.argtypes, function.restype = types, c_int
        self._call("cuInit", 0)
        self._device = c_int()
        self._call("cuDeviceGet", byref(self._device), 0)
        context = c_void_p()
        self._call("cuDevicePrimaryCtxRetain", byref(context), self._device)
        self._call("cuCtxSetCurrent", context)
        self._modules: list[c_void_p] = []

    @property
    def name(self) -> str:
        text = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", text, 256, self._device)
        return text.value.decode()

    @property
    def capability(self) -> int:
        """Compute capability, 90 for 9.0."""
        parts = []
        for attribute in (_CAPABILITY_MAJOR, _CAPABILITY_MINOR):
            value = c_int()
            self._call("cuDeviceGetAttribute", byref(value), attribute, self._device)
            parts.append(value.value)
        return 10 * parts[0] + parts[1]

    def load(self, cubin: bytes) -> None:
        """Load a module; its kernels can be run by name."""
        module = c_void_p()
        self._call("cuModuleLoadData", byref(module), cubin)
        self._modules.append(module)

    def run(
        self,
        kernel: str,
        inputs: Sequence[NDArray[Any]],
        shape: tuple[int, ...],
        dtype: DTypeLike,
        *scalars: int,
        blocks: int | tuple[int, ...] = 1,
        threads: int | tuple[int, ...] = 32,
    ) -> NDArray[Any]:
        """Launch a kernel that takes pointers to the inputs, a pointer to the output, and 32-bit scalars.

        It runs twice over memory that was filled differently, so that an element that it does not write is noticed.
        """
        one, other = self.run_twice(kernel, inputs, shape, dtype, *scalars, blocks=blocks, threads=threads)
        if one.tobytes() != other.tobytes():
            raise CudaError(f"{kernel} did not write all of its output, or two launches of it differ")
        return one

    def run_cooperatively(
        self, kernel: str, shape: tuple[int, ...], dtype: DTypeLike, *, blocks: int, threads: int
    ) -> NDArray[Any]:
        """Launch a kernel that takes a pointer to the output with all its blocks at the same time, once."""
        out = np.zeros(shape, dtype)
        buffer = c_uint64(self._upload(out))
        arguments = (c_void_p * 1)(ctypes.addressof(buffer))
        try:
            self._call(
                "cuLaunchCooperativeKernel", self._function(kernel), blocks, 1, 1, threads, 1, 1, 0, None, arguments
            )
            self._call("cuCtxSynchronize")
            self._call("cuMemcpyDtoH_v2", out.ctypes.data, buffer, out.nbytes)
        finally:
            self._call("cuMemFree_v2", buffer)
        return out

    def blocks_per_multiprocessor(self, kernel: str, threads: int, dynamic_shared_bytes: int = 0) -> int:
        """Return the number of blocks of a kernel that a multiprocessor holds."""
        found = c_int()
        name = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        self._call(name, byref(found), self._function(kernel), threads, dynamic_shared_bytes)
        return found.value

    def run_twice(
        self,
        kernel: str,
        inputs: Sequence[NDArray[Any]],
        shape: tuple[int, ...],
        dtype: DTypeLike,
        *scalars: int,
        blocks: int | tuple[int, ...] = 1,
        threads: int | tuple[int, ...] = 32,
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Launch a kernel over an output of bytes `FILLS[0]`, and again over one of bytes `FILLS[1]`.

        Blocks and threads are numbers, or up to three of them: x, y, z.
        """
        function = self._function(kernel)
        buffers = [self._upload(x) for x in inputs]
        out = np.empty(shape, dtype)
        buffers.append(self._allocate(out.nbytes))
        values = [*(c_uint64(x) for x in buffers), *(c_uint(x) for x in scalars)]
        arguments = (c_void_p * len(values))(*(ctypes.addressof(x) for x in values))
        size = (*three(blocks), *three(threads))
        results = []
        try:
            for fill in FILLS:
                self._call("cuMemsetD8_v2", buffers[-1], fill, out.nbytes)
                self._call("cuLaunchKernel", function, *size, 0, None, arguments, None)
                self._call("cuCtxSynchronize")
                self._call("cuMemcpyDtoH_v2", out.ctypes.data, buffers[-1], out.nbytes)
                results.append(out.copy())
        finally:
            for buffer in buffers:
                self._call("cuMemFree_v2", buffer)
        return results[0], results[1]

    def allow_shared_memory(self, function: c_void_p, nbytes: int) -> None:
        """Let a kernel have more dynamic shared memory than the 48 KiB that every kernel may have."""
        if nbytes <= 48 * 1024:
            return
        setter = self._cuda.cuFuncSetAttribute
        setter.argtypes, setter.restype = (c_void_p, c_int, c_int), c_int
        if setter(function, _SHARED_LIMIT, nbytes):
            raise CudaError(f"the kernel cannot have {nbytes} bytes of dynamic shared memory")

    def close(self) -> None:
        """Release the context."""
        self._call("cuDevicePrimaryCtxRelease_v2", self._device)

    def _function(self, kernel: str) -> c_void_p:
        function = c_void_p()
        for module in self._modules:
            if self._cuda.cuModuleGetFunction(byref(function), module, kernel.encode()) == 0:
                return function
        raise CudaError(f"no loaded module has a kernel {kernel}")

    def _allocate(self, nbytes: int) -> int:
        pointer = c_uint64()
        self._call("cuMemAlloc_v2", byref(pointer), max(nbytes, 1))
        return pointer.value

    def _upload(self, array: NDArray[Any]) -> int:
        array = np.ascontiguousarray(array)
        pointer = self._allocate(array.nbytes)
        self._call("cuMemcpyHtoD_v2", pointer, array.ctypes.data, array.nbytes)
        return pointer

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status:
            text = c_char_p()
            self._cuda.cuGetErrorString(status, byref(text))
            raise CudaError(f"{name} returned {status}: {(text.value or b'unknown error').decode()}")


def three(size: int | tuple[int, ...]) -> tuple[int, ...]:
    """Return x, y, z of a grid or a block, as in ``dim3``: 1 if left out."""
    given = (size,) if isinstance(size, int) else size
    return (*given, 1, 1, 1)[:3]


def _library() -> ctypes.CDLL:
    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise CudaError(f"no CUDA driver: none of {', '.join(_LIBRARIES)} can be loaded")


def find_nvcc() -> str:
    """Return the path of the compiler: on PATH, or in the toolkit's usual place."""
    homes = [os.environ[x] for x in ("CUDA_HOME", "CUDA_PATH") if x in os.environ]
    for path in [shutil.which("nvcc"), *(f"{home}/bin/nvcc" for home in [*homes, "/usr/local/cuda"])]:
        if path and Path(path).exists():
            return path
    raise CudaError("no nvcc: put the CUDA toolkit's bin folder on PATH")


def target_of(capability: int) -> str:
    """Return the PTX target of a chip, architecture-specific if such a target exists: ``sm_90a``."""
    return f"sm_{capability}" + ("a" if capability >= 90 else "")


def compile_cubins(sources: dict[str, str], folder: Path, target: str) -> list[bytes]:
    """Compile sources (file name: text; ``.ptx`` or ``.cu``) for one chip, in parallel."""
    nvcc = find_nvcc()

    def compile_one(name: str, text: str) -> bytes:
        path = folder / name
        path.write_text(text)
        cubin = path.with_suffix(".cubin")
        command = [nvcc, "-cubin", f"-arch={target}", "-O3", "-Wno-deprecated-gpu-targets", "-o", str(cubin), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CudaError(f"{' '.join(command)} failed:\n{done.stderr[:4000]}")
        return cubin.read_bytes()

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_one, sources, sources.values()))


def versions() -> dict[str, str]:
    """Return the versions that affect bits in addition to the chip: of the driver and the toolkit's compiler."""
    found = {"driver": driver_version(), "cuda": "unknown"}
    nvcc = _output(find_nvcc(), "--version")
    if match := re.search(r"release ([\d.]+), V([\d.]+)", nvcc):
        found["cuda"] = match[1]
        found["ptxas"] = match[2]
    return found


def driver_version() -> str:
    """Return the version of the driver, ``"unknown"`` if nvidia-smi does not report it."""
    return (_output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").split() or ["unknown"])[0]


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
