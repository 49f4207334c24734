# SPDX-License-Identifier: MIT
"""Arguments of a launch as numba-cuda flattens them: their bytes, and the names of the memory that they point to."""

import ctypes
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.languages.numba_cuda.memory import DeviceMemory


def bytes_of(value: Any, size: int) -> bytes:
    r"""Return the bytes of an argument for a parameter of a size, as the driver reads them from the host's value.

    Examples
    --------
    >>> bytes_of(-1, 4), bytes_of(ctypes.c_float(1.0), 4), bytes_of(True, 1)
    (b'\xff\xff\xff\xff', b'\x00\x00\x80?', b'\x01')
    """
    if isinstance(value, np.generic):
        packed = value.tobytes()
    elif isinstance(value, ctypes._SimpleCData | ctypes.Structure):
        packed = bytes(memoryview(value))
    elif isinstance(value, float):
        packed = struct.pack("<d", value)
    elif isinstance(value, complex):
        packed = struct.pack("<dd", value.real, value.imag)
    else:
        packed = (int(value) % (1 << 64)).to_bytes(8, "little")
    return packed[:size].ljust(size, b"\0")


class Part(NamedTuple):
    """A flattened argument: the parameter, with the part of it that this is; the element's type if it is a pointer."""

    name: str
    dtype: np.dtype[Any] | None = None


def named_memory(memory: DeviceMemory, values: Sequence[Any], parts: Sequence[Part]) -> dict[str, Any]:
    """Return all memory that a kernel can reach, by the names of the arguments that point to it, or its address.

    Examples
    --------
    >>> memory = DeviceMemory()
    >>> x, y = memory.allocate(24), memory.allocate(8)
    >>> named_memory(memory, [3, x.address], [Part("n"), Part("x", np.dtype(np.float32))])["x"].shape
    (6,)
    """
    found: dict[int, Part] = {}
    for value, part in zip(values, parts, strict=True):
        block = memory.block_at(value) if isinstance(value, int) and not isinstance(value, bool) else None
        if block is not None:
            known = found.get(block.address)
            name = part.name if known is None else f"{known.name} and {part.name}"
            found[block.address] = Part(name, part.dtype)
    named: dict[str, Any] = {}
    for block in memory.reachable():
        name, dtype = found.get(block.address) or Part(f"device memory at {block.address:#x}")
        named[name if name not in named else f"{name} at {block.address:#x}"] = _typed(block.bytes, dtype)
    return named


def _typed(array: NDArray[Any], dtype: np.dtype[Any] | None) -> NDArray[Any]:
    """Return memory as an array of the argument's type, for messages, if it can be one."""
    if dtype is None or not _is_of_numbers(dtype) or not dtype.itemsize or array.nbytes % dtype.itemsize:
        return array
    return array.view(dtype)


def _is_of_numbers(dtype: np.dtype[Any]) -> bool:
    if dtype.subdtype is not None:
        return _is_of_numbers(dtype.base)
    if dtype.fields is not None:
        return all(_is_of_numbers(kind) for kind, *_ in dtype.fields.values())
    return dtype.kind in "biufc"


def parts_of(
    parameters: Iterable[str], kinds: Sequence[Any], types: Any, as_dtype: Callable[[Any], Any]
) -> list[Part]:  # fmt: skip
    """Return a part for each flattened argument; ``types`` and ``as_dtype`` are numba-cuda's."""

    def parts(name: str, kind: Any) -> Iterator[Part]:
        if isinstance(kind, types.Array):
            yield from map(Part, (f"{name}.meminfo", f"{name}.parent", f"{name}.size", f"{name}.itemsize"))
            yield Part(name, dtype_of(kind.dtype))
            yield from (Part(f"{name}.{what}[{i}]") for what in ("shape", "strides") for i in range(kind.ndim))
        elif isinstance(kind, types.BaseTuple):
            for i, one in enumerate(kind):
                yield from parts(f"{name}[{i}]", one)
        elif kind in (types.complex64, types.complex128):
            yield from (Part(f"{name}.real"), Part(f"{name}.imag"))
        else:
            yield Part(name)

    def dtype_of(kind: Any) -> np.dtype[Any] | None:
        with suppress(Exception):  # numba-cuda's own kinds of errors, for types that NumPy does not have
            found: np.dtype[Any] = np.dtype(as_dtype(kind))
            return found
        return None

    return [x for name, kind in zip(parameters, kinds, strict=False) for x in parts(name, kind)]
