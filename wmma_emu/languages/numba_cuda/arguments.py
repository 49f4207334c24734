# SPDX-License-Identifier: MIT
"""Arguments of a launch as numba-cuda flattens them: their bytes, and the names of the memory that they point to."""

import ctypes
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from wmma_emu.languages.numba_cuda.memory import DeviceMemory


def bytes_of(value: Any, size: int) -> bytes:
    """Return the bytes of an argument for a parameter of a size, as the driver reads them from the host's value.

    Examples
    --------
    >>> bytes_of(-1, 4), bytes_of(ctypes.c_float(1.0), 4), bytes_of(True, 1)
    (b'\\xff\\xff\\xff\\xff', b'\\x00\\x00\\x80?', b'\\x01')
    """
    if isinstance(value, ctypes._SimpleCData | ctypes.Structure | np.generic):
        packed = bytes(value)
    elif isinstance(value, float):
        packed = struct.pack("<d", value)
    elif isinstance(value, complex):
        packed = struct.pack("<dd", value.real, value.imag)
    else:
        packed = (int(value) % (1 << 64)).to_bytes(8, "little")
    return packed[:size].ljust(size, b"\0")


def named_memory(memory: DeviceMemory, values: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Return all memory that a kernel can reach, by the names of the arguments that point to it, or its address.

    Examples
    --------
    >>> memory = DeviceMemory()
    >>> x, y = memory.allocate(8), memory.allocate(8)
    >>> sorted(named_memory(memory, [3, x.address], ["n", "x"]))[1]
    'x'
    """
    found: dict[int, str] = {}
    for value, name in zip(values, names, strict=True):
        block = memory.block_at(value) if isinstance(value, int) and not isinstance(value, bool) else None
        if block is not None:
            known = found.get(block.address)
            found[block.address] = name if known in (None, name) else f"{known} and {name}"
    blocks = memory.reachable()
    taken = list(found.values())
    return {
        _unique(found.get(x.address, f"device memory at {x.address:#x}"), x.address, taken): x.bytes for x in blocks
    }


def _unique(name: str, address: int, taken: list[str]) -> str:
    return name if taken.count(name) <= 1 else f"{name} at {address:#x}"


def names_of(parameters: Iterable[str], types: Sequence[Any], numba_types: Any) -> list[str]:
    """Return a name for each flattened argument: the parameter, with the part of it that the argument is."""
    names = [*parameters]
    names += [f"argument {i}" for i in range(len(names), len(types))]
    return [x for name, kind in zip(names, types, strict=False) for x in _parts(name, kind, numba_types)]


def _parts(name: str, kind: Any, numba_types: Any) -> Iterator[str]:
    if isinstance(kind, numba_types.Array):
        yield from (f"{name}.meminfo", f"{name}.parent", f"{name}.size", f"{name}.itemsize", name)
        yield from (f"{name}.{what}[{i}]" for what in ("shape", "strides") for i in range(kind.ndim))
    elif isinstance(kind, numba_types.BaseTuple):
        for i, one in enumerate(kind):
            yield from _parts(f"{name}[{i}]", one, numba_types)
    elif kind in (numba_types.complex64, numba_types.complex128):
        yield from (f"{name}.real", f"{name}.imag")
    else:
        yield name
