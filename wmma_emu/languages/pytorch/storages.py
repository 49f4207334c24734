# SPDX-License-Identifier: MIT
"""Tensors of PyTorch as arguments of kernels: the bytes of their storages, and where in them a tensor begins."""

import ctypes
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError
from wmma_emu.ptx.launch.memory_of_arrays import Raw

_ALIGNMENT = 16
"""The multiple of bytes for whose addresses compilers specialise kernels."""


def is_tensor(value: object) -> bool:
    """Return whether a value is a tensor of PyTorch, without importing it."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


class StorageBytes(Raw):
    """All bytes of a tensor's storage, with the position of the tensor's first element.

    A kernel may access the whole storage: views with strides and negative offsets work as on a GPU, and whatever is
    outside of the storage is out of bounds. A storage keeps its offset from a multiple of 16 bytes.

    Raises
    ------
    ArgumentError
        If the tensor has no memory on the host.
    """

    def __init__(self, tensor: Any) -> None:
        if tensor.device.type != "cpu":
            raise ArgumentError(
                f"a tensor is on the device {tensor.device}, and the emulator uses the memory of the host: make it "
                'on the CPU (while the emulation is on, device="cuda" does so)'
            )
        self.tensor = tensor  # keeps the memory alive
        storage = tensor.untyped_storage()
        start, size = storage.data_ptr(), storage.nbytes()
        self.memory, self.offset = _bytes_at(start, size), tensor.data_ptr() - start if size else 0
        self.array = self.memory


def _bytes_at(address: int, size: int) -> NDArray[np.uint8]:
    """Return the bytes at an address, as a slice of bytes that begin at a multiple of 16, which are not accessed."""
    if not size:
        return np.zeros(0, np.uint8)
    before = address % _ALIGNMENT
    buffer = (ctypes.c_uint8 * (before + size)).from_address(address - before)
    return np.ctypeslib.as_array(buffer)[before:]
