# SPDX-License-Identifier: MIT
"""The fields of structs that come with a layout, of ctypes and of NumPy, and pointers by their names or offsets."""

import ctypes
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from wmma_emu.errors import ArgumentError, ArgumentValueError, UnknownNameError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.ptx.launch.memory_of_arrays import Raw
from wmma_emu.ptx.textures.objects import Surface, Texture
from wmma_emu.suggestions import did_you_mean

POINTER_BYTES = 8
"""The size and the alignment of a pointer."""

_POINTERS = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_wchar_p, ctypes._Pointer)
"""The types of ctypes that are pointers to data."""

_MOST_ELEMENTS = 4096
"""The number of elements of an array in a struct up to which each has a name."""


class Field(NamedTuple):
    """A number or a pointer in a struct: its name, such as ``a.b[2]``, its offset and its size."""

    name: str
    offset: int
    bytes: int
    is_pointer: bool


def layout_of(value: Any) -> tuple[Field, ...]:
    """Return the fields of an instance of a ctypes struct or of a NumPy record; other values have none.

    Examples
    --------
    >>> [x[:3] for x in layout_of(np.zeros((), [("n", "i4"), ("at", [("p", "u8", 2)])])[()])]
    [('n', 0, 4), ('at.p[0]', 4, 8), ('at.p[1]', 12, 8)]
    """
    if isinstance(value, ctypes.Structure | ctypes.Union):
        return tuple(_of_ctypes(type(value), "", 0))
    if isinstance(value, np.void) and value.dtype.fields is not None:
        return tuple(_of_dtype(value.dtype, "", 0))
    return ()


def _of_ctypes(kind: Any, name: str, offset: int) -> Iterator[Field]:
    if issubclass(kind, ctypes.Structure | ctypes.Union):
        for base in reversed(kind.__mro__):
            for field in base.__dict__.get("_fields_", ()):
                place = getattr(kind, field[0])
                if len(field) == 2:  # others are bit fields, which share their bytes
                    yield from _of_ctypes(field[1], f"{name}.{field[0]}".lstrip("."), offset + place.offset)
    elif issubclass(kind, ctypes.Array):
        for i in range(min(kind._length_, _MOST_ELEMENTS)):
            yield from _of_ctypes(kind._type_, f"{name}[{i}]", offset + i * ctypes.sizeof(kind._type_))
    elif issubclass(kind, ctypes.py_object) or getattr(kind, "__ctype_le__", kind) is not kind:
        fault = "is a Python object" if issubclass(kind, ctypes.py_object) else "has swapped bytes (big-endian)"
        raise ArgumentError(f"the field {name} of a struct {fault}, which kernels cannot read: use another type")
    else:
        yield Field(name, offset, ctypes.sizeof(kind), issubclass(kind, _POINTERS))


def _of_dtype(kind: "np.dtype[Any]", name: str, offset: int) -> Iterator[Field]:
    if kind.fields is not None:
        for own, (inner, place, *_) in kind.fields.items():
            yield from _of_dtype(inner, f"{name}.{own}".lstrip("."), offset + place)
    elif kind.subdtype is not None:
        base, shape = kind.subdtype
        for i, index in enumerate(np.ndindex(shape)):
            if i == _MOST_ELEMENTS:
                return
            yield from _of_dtype(base, name + "".join(f"[{x}]" for x in index), offset + i * base.itemsize)
    else:
        yield Field(name, offset, kind.itemsize, False)


def require_pointers(given: object, layout: tuple[Field, ...], size: int) -> dict[str, tuple[int, Any]]:
    """Check the pointers of a struct; return the offset and the array of each by its name, in order of offsets."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ArgumentError(
            f"pointers={shorten(given)} is not a mapping from fields, or offsets in bytes, to arrays: pointers={{8: x}}"
        )
    found: dict[str, tuple[int, Any]] = {}
    for key, value in given.items():
        if not (value is None or isinstance(value, np.ndarray | Raw | Texture | Surface)):
            raise ArgumentError(
                f"the pointer {shorten(key)} of a struct is {shorten(value)}; it can be a NumPy array, "
                "wmma_emu.ptx.raw of one, a texture, a surface, or None"
            )
        name, offset = _place(key, layout, size)
        found[name] = offset, value
    ordered = sorted(found.items(), key=lambda x: x[1][0])
    for (name, (at, _)), (other, (then, _)) in pairwise(ordered):
        if then < at + POINTER_BYTES:
            raise ArgumentValueError(f"the pointers {name} and {other} of a struct overlap, at {at} and {then}")
    return dict(ordered)


def _place(key: object, layout: tuple[Field, ...], size: int) -> tuple[str, int]:
    """Return the name and the offset of a pointer."""
    if isinstance(key, str):
        names = [x.name for x in layout]
        if key not in names:
            named = f"its fields are {shorten(', '.join(names), str)}"
            legal = named if names else "its bytes have no names: pass offsets"
            raise UnknownNameError(f"the struct has no field {key!r}{did_you_mean(key, names, legal)}")
        field = layout[names.index(key)]
        if field.bytes != POINTER_BYTES:
            raise ArgumentValueError(
                f"the field {key} of a struct, at offset {field.offset}, has {field.bytes} bytes; a pointer has "
                f"{POINTER_BYTES}"
            )
        return key, field.offset
    offset = integer_of(key)
    last = size - POINTER_BYTES
    if offset is None or offset % POINTER_BYTES or not 0 <= offset <= last:
        legal = f"a multiple of {POINTER_BYTES} from 0 to {last}" if last >= 0 else "not possible in so few bytes"
        raise ArgumentValueError(
            f"the offset {shorten(key)} of a pointer in a struct of {size} bytes has to be {legal}; or pass the name "
            "of a field"
        )
    return f"offset {offset}", offset
