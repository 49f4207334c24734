# SPDX-License-Identifier: MIT
"""A struct as a kernel's parameter: fields with the layout of C++, or bytes in which some pointers point to arrays."""

import ctypes
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, shorten
from wmma_emu.ptx.launch.memory_of_arrays import Raw, memory_of, require_plain_value
from wmma_emu.ptx.launch.struct_layouts import POINTER_BYTES, Field, layout_of, require_pointers
from wmma_emu.ptx.memory.address_map import round_up
from wmma_emu.ptx.textures.objects import Surface, Texture, TextureObject

Pointed = NDArray[Any] | Raw | TextureObject
"""A value to which a field points, or a texture or surface whose handle the field holds."""

CTypes = ctypes.Structure | ctypes.Union
"""A struct of ctypes, which has the layout of C."""


class PlacedPointer(NamedTuple):
    """A pointer in a struct, or the handle of a texture: its offset in bytes, the name of its field, its target."""

    offset: int
    name: str
    target: Pointed


class Struct:
    """A struct that a kernel takes by value.

    Parameters
    ----------
    *fields : array, `raw` array, NumPy scalar, texture, surface, None, Struct, ctypes.Structure, or bytes
        The fields in order. An array becomes a pointer to it, None a null pointer, a texture its handle; a scalar
        (``np.int32(3)``, ``np.float16(1)``, a record of a structured array) keeps its type. Each field is aligned as in
        C++; bytes are not aligned. A whole struct may be one such field: an instance of a ctypes.Structure, a record,
        or bytes.
    pointers : mapping, optional
        Pointers within the struct, each to an array: by the name of the field (of a ctypes.Structure or a record:
        ``"A"``, ``"problem.A"``, ``"tables[2]"``), or by its offset in bytes. Other bytes do not change; pointers among
        them are addresses of the host, which arrays have only in a launch with ``addresses="host"``.

    Raises
    ------
    ArgumentError
        If a field has another type, or a pointer is not a field of eight bytes.

    Examples
    --------
    >>> struct = Struct(np.zeros(4, np.float32), np.int32(4), np.float32(0.5))
    >>> struct.alignment, struct.nbytes, struct.pack(lambda array: 0x100).hex(" ", 4)
    (8, 16, '00010000 00000000 04000000 0000003f')
    >>> Struct(bytes.fromhex("05000000 00000000 ffffffff ffffffff"), pointers={8: np.zeros(4)}).pack(
    ...     lambda array: 0x100
    ... ).hex(" ", 4)
    '05000000 00000000 00010000 00000000'
    """

    def __init__(self, *fields: Any, pointers: "Mapping[int | str, Pointed | None] | None" = None) -> None:
        for i, field in enumerate(fields):
            if not (_points(field) or isinstance(field, np.generic | Struct | CTypes | bytes | bytearray)):
                raise ArgumentError(
                    f"field {i} of a struct is {shorten(field)}; fields are arrays, None, and scalars with a type, "
                    "such as np.int32(4), or whole structs: a ctypes.Structure, a record, bytes"
                )
            if isinstance(field, np.generic):
                require_plain_value(field.dtype, f"field {i} of a struct")
        self.fields = tuple(bytes(x) if isinstance(x, bytearray) else x for x in fields)
        self._pointers = require_pointers(pointers, self._layout, self.nbytes)

    def __repr__(self) -> str:
        more = [f"pointers=[{', '.join(self._pointers)}]"] if self._pointers else []
        return f"Struct({', '.join([*map(shorten, self.fields), *more])})"

    @property
    def alignment(self) -> int:
        """The alignment in bytes: the largest alignment of a field."""
        return max((_alignment(x) for x in self.fields), default=1)

    @property
    def nbytes(self) -> int:
        """The number of bytes, including padding."""
        end = max((offset + _size(x) for offset, x in self._placed()), default=0)
        return round_up(max(end, 1), self.alignment)

    @property
    def places(self) -> tuple[PlacedPointer, ...]:
        """The pointers that are not null, in the order of `pack`."""
        found: list[PlacedPointer] = []
        for i, (offset, field) in enumerate(self._placed()):
            if isinstance(field, Struct):
                found += [
                    PlacedPointer(offset + x.offset, f"field {i}.{x.name.removeprefix('field ')}", x.target)
                    for x in field.places
                ]
            elif isinstance(field, np.ndarray | Raw | Texture | Surface):
                found.append(PlacedPointer(offset, f"field {i}", field))
        named = (PlacedPointer(at, name, x) for name, (at, x) in self._pointers.items() if x is not None)
        return (*found, *named)

    @property
    def pointed(self) -> tuple[tuple[str, Pointed], ...]:
        """The arrays that the struct points to, each with the name of its field, in the order of `pack`."""
        return tuple((x.name, x.target) for x in self.places)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays that the struct points to."""
        return tuple(array_of(x.target) for x in self.places)

    @property
    def readable(self) -> tuple[NDArray[Any], ...]:
        """The arrays that are passed with their elements, not as raw bytes."""
        return tuple(x for _, x in self.pointed if isinstance(x, np.ndarray))

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        """The pointers of ctypes structs that are neither null nor replaced: the names of their fields, and values."""
        packed = self.pack(lambda array: 0)
        found = [
            (x.name, int.from_bytes(packed[x.offset : x.offset + POINTER_BYTES], "little"))
            for x in self._layout
            if x.is_pointer
        ]
        return tuple((name, value) for name, value in found if value)

    @property
    def _layout(self) -> tuple[Field, ...]:
        """The named fields of 8 bytes or less in ctypes structs and records."""
        return tuple(
            Field(f"field {i}.{x.name}" if len(self.fields) > 1 else x.name, offset + x.offset, x.bytes, x.is_pointer)
            for i, (offset, field) in enumerate(self._placed())
            for x in layout_of(field)
        )

    def described(self) -> str:
        """Return the offsets and sizes of the fields, to compare them with those of C++."""
        whole = [Field(f"field {i}", offset, _size(x), False) for i, (offset, x) in enumerate(self._placed())]
        return ", ".join(f"{x.name} at {x.offset} ({x.bytes} bytes)" for x in self._layout or whole)

    def with_arrays(self, replaced: Callable[[Any], Any]) -> "Struct":
        """Return the struct with other arrays."""
        fields = (x.with_arrays(replaced) if isinstance(x, Struct) else replaced(x) if _points(x) else x
                  for x in self.fields)  # fmt: skip
        found = Struct(*fields)
        found._pointers = {name: (at, replaced(x)) for name, (at, x) in self._pointers.items()}
        return found

    def pack(self, address: Callable[[Pointed], int]) -> bytes:
        """Return the bytes of the struct; ``address`` maps an array to its address."""
        out = bytearray(self.nbytes)
        for offset, field in self._placed():
            if isinstance(field, Struct):
                content = field.pack(address)
            elif _points(field):
                content = _pointer(field, address)
            else:
                content = field.tobytes() if isinstance(field, np.generic) else bytes(field)
            out[offset : offset + len(content)] = content
        for offset, field in self._pointers.values():
            out[offset : offset + POINTER_BYTES] = _pointer(field, address)
        return bytes(out)

    def _placed(self) -> list[tuple[int, Any]]:
        """Return the fields with their offsets."""
        end, found = 0, []
        for field in self.fields:
            offset = round_up(end, _alignment(field))
            found.append((offset, field))
            end = offset + _size(field)
        return found


def array_of(target: Pointed) -> NDArray[Any]:
    """Return the array whose bytes a pointer, or a handle, reaches."""
    return target.array if isinstance(target, Texture | Surface) else memory_of(target)[0]


def _points(field: Any) -> bool:
    return field is None or isinstance(field, np.ndarray | Raw | Texture | Surface)


def _pointer(field: "Pointed | None", address: Callable[[Pointed], int]) -> bytes:
    return (0 if field is None else address(field)).to_bytes(POINTER_BYTES, "little")


def _size(field: Any) -> int:
    if _points(field):
        return POINTER_BYTES
    if isinstance(field, CTypes):
        return ctypes.sizeof(field)
    return len(field) if isinstance(field, bytes) else int(field.nbytes)


def _alignment(field: Any) -> int:
    if _points(field):
        return POINTER_BYTES
    if isinstance(field, CTypes):
        return ctypes.alignment(field)
    if isinstance(field, bytes):
        return 1
    return field.alignment if isinstance(field, Struct) else int(field.dtype.alignment)
