# SPDX-License-Identifier: MIT
"""Arrays of structs in memory: a list for a pointer argument, and the structs that a variable of the module holds."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, shorten
from wmma_emu.ptx.launch.memory_of_arrays import Raw, require_readable
from wmma_emu.ptx.launch.structs import CTypes, PlacedPointer, Pointed, Struct, array_of
from wmma_emu.ptx.pages import aligned
from wmma_emu.ptx.textures.objects import Surface, Texture, TextureObject


class StructArray:
    """Structs of one size, one after another in memory, such as ``const CUtensorMap maps[2]``.

    Parameters
    ----------
    elements : sequence of Struct
    memory : array of uint8, optional
        The bytes of the array in a launch, if a pointer points to them; None if they are a variable of the module.

    Examples
    --------
    >>> x, y = np.zeros(4), np.zeros(8)
    >>> table = StructArray([Struct(np.int32(1), x), Struct(np.int32(2), y)])
    >>> [(place.offset, place.name, len(place.target)) for place in table.places]
    [(8, 'field 1 of element 0', 4), (24, 'field 1 of element 1', 8)]
    """

    def __init__(self, elements: "list[Struct] | tuple[Struct, ...]", memory: NDArray[np.uint8] | None = None) -> None:
        self.elements, self.memory = tuple(elements), memory

    def __repr__(self) -> str:
        return f"[{', '.join(map(shorten, self.elements))}]"

    @property
    def nbytes(self) -> int:
        """The number of bytes."""
        return sum(x.nbytes for x in self.elements)

    @property
    def places(self) -> tuple[PlacedPointer, ...]:
        """The pointers, in the order of `pack`."""
        found, start = list[PlacedPointer](), 0
        for i, element in enumerate(self.elements):
            where = f" of element {i}" if len(self.elements) > 1 else ""
            found += [x._replace(offset=start + x.offset, name=f"{x.name}{where}") for x in element.places]
            start += element.nbytes
        return tuple(found)

    @property
    def pointed(self) -> tuple[tuple[str, Pointed], ...]:
        """The arrays that the structs point to, each with the name of its field, in the order of `pack`."""
        return tuple((x.name, x.target) for x in self.places)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays that take part in a launch: the structs' own bytes, and the arrays that they point to."""
        own = () if self.memory is None else (self.memory,)
        return (*own, *(array for x in self.elements for array in x.arrays))

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        """The pointers of ctypes structs that are neither null nor replaced: the names of their fields, and values."""
        return tuple(found for x in self.elements for found in x.addresses)

    def with_arrays(self, replaced: Callable[[Any], Any]) -> "StructArray":
        """Return the same structs with other arrays."""
        memory = None if self.memory is None else replaced(self.memory)
        return StructArray([x.with_arrays(replaced) for x in self.elements], memory)

    def pack(self, address: Callable[[Pointed], int]) -> bytes:
        """Return the bytes; ``address`` maps an array to its address."""
        return b"".join(x.pack(address) for x in self.elements)


def arrays_of(value: Any) -> tuple[NDArray[Any], ...]:
    """Return the arrays that a kernel's argument, or a field of a struct, points to."""
    if isinstance(value, Struct | StructArray):
        return value.arrays
    return (array_of(value),) if isinstance(value, np.ndarray | Raw | Texture | Surface) else ()


def objects_in(value: Any) -> tuple[TextureObject, ...]:
    """Return the textures and surfaces that are an argument, or fields of a struct."""
    fields = [x for _, x in value.pointed] if isinstance(value, Struct | StructArray) else [value]
    return tuple(x for x in fields if isinstance(x, Texture | Surface))


def is_structs(value: object) -> bool:
    """Return whether a value is a list or tuple of structs: `Struct`, `TensorMap`, ctypes.Structure."""
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(x, Struct | CTypes) for x in value)


def structs_in_variable(value: object, name: str, size: int) -> StructArray:
    """Return the structs that a variable of the module is to hold.

    Raises
    ------
    ArgumentError, ArgumentValueError
        If the value is neither a struct nor a list of structs of one size, or larger than the variable.
    """
    given = value if isinstance(value, list | tuple) else [value]
    if not is_structs(given):
        raise ArgumentError(
            f"the variable {name} can hold a TensorMap, a Struct or a ctypes.Structure, or a list of them, not "
            f"{shorten(value)}; for numbers, module.variable({name}, dtype)[...] = values"
        )
    found = StructArray(_structs(given, f"the variable {name}"))
    if found.nbytes > size:
        raise ArgumentValueError(f"the variable {name} has {size} bytes; {shorten(value)} has {found.nbytes}")
    _require_stride(found, name, size)
    return found


def _require_stride(found: StructArray, name: str, size: int) -> None:
    """Reject structs whose size differs from the source's structs, if the size of the variable shows it."""
    count, each = len(found.elements), found.elements[0].nbytes
    if count > 1 and size % each:
        fill = size // count - each
        fix = f": end each with bytes({fill}), if it has {count} elements" if fill > 0 and size % count == 0 else ""
        raise ArgumentValueError(
            f"the variable {name} has {size} bytes, which no number of structs of {each} bytes has; a CUtensorMap of "
            f"CUDA 13 is aligned to 128 bytes, of CUDA 12 and here to 64{fix}"
        )


def structs_behind_pointer(value: Any, label: str) -> StructArray:
    """Return a list of structs as the array in global memory to which a kernel's argument points."""
    elements = _structs(value, label)
    return StructArray(elements, aligned(sum(x.nbytes for x in elements), 0))


def _structs(given: Any, label: str) -> list[Struct]:
    found = [x if isinstance(x, Struct) else Struct(x) for x in given]
    sizes = sorted({x.nbytes for x in found})
    if len(sizes) > 1:
        raise ArgumentValueError(
            f"{label}: the elements of an array of structs have one size, not {' and '.join(map(str, sizes))} bytes"
        )
    for array in (x for struct in found for x in struct.readable):
        require_readable(array, f"an array in {label}")
    return found
