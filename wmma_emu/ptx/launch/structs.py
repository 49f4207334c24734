# SPDX-License-Identifier: MIT
"""A struct as a kernel's parameter: fields, including pointers, with the layout of C++."""

from collections.abc import Callable
from typing import Any

import numpy as np

from wmma_emu.errors import ArgumentError, shorten
from wmma_emu.ptx.launch.memory_of_arrays import Raw, memory_of
from wmma_emu.ptx.memory.address_map import round_up
from wmma_emu.ptx.textures.objects import Surface, Texture, TextureObject

_POINTER_BYTES = 8


class Struct:
    """A struct that a kernel takes by value.

    Parameters
    ----------
    *fields : array, `raw` array, NumPy scalar, `texture`, `surface`, None, or Struct
        The fields in order. An array becomes a pointer to it, None a null pointer, a texture its handle; a scalar
        (``np.int32(3)``, ``np.float16(1)``) keeps its type. Each field is aligned to its own size, as in C++; for
        structs with ``alignas`` or bit fields, pass the bytes of the whole struct instead.

    Examples
    --------
    >>> struct = Struct(np.zeros(4, np.float32), np.int32(4), np.float32(0.5))
    >>> struct.alignment, struct.nbytes, struct.pack(lambda array: 0x100).hex(" ", 4)
    (8, 16, '00010000 00000000 04000000 0000003f')
    """

    def __init__(self, *fields: Any) -> None:
        for i, field in enumerate(fields):
            if not (_is_eight_bytes(field) or isinstance(field, np.generic | Struct)):
                raise ArgumentError(
                    f"field {i} of a struct is {shorten(field)}; fields are arrays, None, and scalars with a type, "
                    "such as np.int32(4)"
                )
        self.fields = fields

    def __repr__(self) -> str:
        return f"Struct({', '.join(shorten(x) for x in self.fields)})"

    @property
    def alignment(self) -> int:
        """The alignment in bytes: the largest alignment of a field."""
        return max((_alignment(x) for x in self.fields), default=1)

    @property
    def nbytes(self) -> int:
        """The number of bytes, including padding."""
        end = 0
        for field in self.fields:
            end = round_up(end, _alignment(field)) + _size(field)
        return round_up(max(end, 1), self.alignment)

    @property
    def arrays(self) -> tuple[np.ndarray[Any, Any], ...]:
        """The arrays that the struct points to."""
        return tuple(array for field in self.fields for array in arrays_of(field))

    @property
    def readable(self) -> tuple[np.ndarray[Any, Any], ...]:
        """The arrays that are passed with their elements, not as raw bytes."""
        found: list[np.ndarray[Any, Any]] = []
        for field in self.fields:
            found += field.readable if isinstance(field, Struct) else [field] if isinstance(field, np.ndarray) else []
        return tuple(found)

    def pack(self, address: Callable[[np.ndarray[Any, Any] | Raw | TextureObject], int]) -> bytes:
        """Return the bytes of the struct; ``address`` maps an array to its address."""
        out = bytearray()
        for field in self.fields:
            out += bytes(round_up(len(out), _alignment(field)) - len(out))
            if isinstance(field, Struct):
                out += field.pack(address)
            elif _is_eight_bytes(field):
                out += (0 if field is None else address(field)).to_bytes(_POINTER_BYTES, "little")
            else:
                out += field.tobytes()
        return bytes(out) + bytes(self.nbytes - len(out))


def arrays_of(value: Any) -> tuple[np.ndarray[Any, Any], ...]:
    """Return the arrays that a kernel's argument, or a field of a struct, points to."""
    if isinstance(value, Struct):
        return value.arrays
    if isinstance(value, Texture | Surface):
        return (value.array,)
    return (memory_of(value)[0],) if isinstance(value, np.ndarray | Raw) else ()


def objects_in(value: Any) -> tuple[TextureObject, ...]:
    """Return the textures and surfaces that are an argument, or fields of a struct."""
    if isinstance(value, Struct):
        return tuple(x for field in value.fields for x in objects_in(field))
    return (value,) if isinstance(value, Texture | Surface) else ()


def _is_eight_bytes(field: Any) -> bool:
    """Return whether a field is a pointer or a handle."""
    return field is None or isinstance(field, np.ndarray | Raw | Texture | Surface)


def _size(field: Any) -> int:
    return _POINTER_BYTES if _is_eight_bytes(field) else int(field.nbytes)


def _alignment(field: Any) -> int:
    if isinstance(field, Struct):
        return field.alignment
    return _POINTER_BYTES if _is_eight_bytes(field) else int(field.dtype.alignment)
