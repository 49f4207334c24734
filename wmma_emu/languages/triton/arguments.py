# SPDX-License-Identifier: MIT
"""The arguments that Triton bound, as memory of the host that the emulator maps."""

import copy
from typing import Any

import numpy as np

from wmma_emu.errors import ArgumentError, shorten
from wmma_emu.languages.pytorch.storages import StorageBytes, is_tensor
from wmma_emu.ptx.launch.memory_of_arrays import raw
from wmma_emu.ptx.launch.triton_arguments import TritonTensor


def in_host_memory(value: Any, label: str) -> Any:
    """Replace the tensors in an argument by the bytes of their storages; other values are returned as they are.

    Tensors that share a storage, and arrays that overlap, share their bytes in the launch.
    """
    if is_tensor(value):
        return StorageBytes(value)
    if isinstance(value, TritonTensor):
        array = value.source
        return raw(array) if isinstance(array, np.ndarray) and not array.flags.c_contiguous else array
    if isinstance(value, tuple):
        found = [in_host_memory(x, f"{label}[{i}]") for i, x in enumerate(value)]
        return type(value)(*found) if hasattr(value, "_fields") else tuple(found)
    if hasattr(value, "block_shape") and hasattr(value, "base"):
        descriptor = copy.copy(value)
        descriptor.base = in_host_memory(value.base, f"the base of {label}")
        return descriptor
    if hasattr(value, "data_ptr"):
        if hasattr(value, "base"):  # triton.reinterpret: the same memory with another type
            return in_host_memory(value.base, label)
        raise ArgumentError(
            f"{label} is {shorten(value)}, of whose memory only the address is known; the emulator takes tensors of "
            "PyTorch on the CPU, NumPy arrays, and wmma_emu.ptx.TritonTensor"
        )
    return value
