# SPDX-License-Identifier: MIT
"""Kernel arguments: Python values are converted to the bytes of parameters, according to their types."""

import math
import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import AlignmentError, ArgumentError, ArgumentValueError, FragmentMismatchError, shorten
from wmma_emu.formats import format_of
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.codec import encode
from wmma_emu.ptx.launch.memory_of_arrays import Raw, require_plain_value, require_readable, require_type, shown_array
from wmma_emu.ptx.launch.source_types import NUMBA_ARRAY, SourceType, names_in_text
from wmma_emu.ptx.launch.struct_arrays import StructArray, arrays_of, is_structs, structs_behind_pointer
from wmma_emu.ptx.launch.struct_layouts import POINTER_BYTES
from wmma_emu.ptx.launch.structs import CTypes, Struct
from wmma_emu.ptx.launch.typed_parameters import TypedParameter, kind_text
from wmma_emu.ptx.memory.address_map import OWN
from wmma_emu.ptx.program.program import KernelProgram, Parameter
from wmma_emu.ptx.textures.objects import Surface, Texture, TextureObject
from wmma_emu.ptx.widths import bits_of_type

MapArray = Callable[["NDArray[Any] | Raw | TextureObject", str], int]
"""Maps a user's array into the kernel's memory and returns its address, or the handle of a texture or a surface; the
string is its name in messages."""


class PointedArray(NamedTuple):
    """An array to which a field of a struct points, or a texture, with its name in messages."""

    name: str
    field: str
    array: "NDArray[Any] | Raw | TextureObject"


class Argument(NamedTuple):
    """A value that fits its parameter: ``bytes``, or an array or a struct, which still needs addresses.

    ``label`` is its name in the messages of a launch, ``shown`` its name in findings, with its type in the source.
    ``variable`` is the variable of the module that holds the value, if no parameter does.
    """

    parameter: Parameter
    label: str
    value: "bytes | NDArray[Any] | Raw | Struct | StructArray | TextureObject"
    shown: str = ""
    variable: str = ""

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays that the argument points to."""
        return () if type(self.value) is bytes else arrays_of(self.value)

    @property
    def pointed(self) -> "tuple[PointedArray, ...]":
        """The arrays that the fields of structs point to."""
        if not isinstance(self.value, Struct | StructArray):
            return ()
        where = self.shown or self.label
        return tuple(PointedArray(f"{field} of {where}", field, array) for field, array in self.value.pointed)


class LaunchArguments(NamedTuple):
    """Arguments of a launch that fit the kernel's parameters, and the assumptions of its compiler about them."""

    values: Sequence[Argument]
    assumed: tuple[str, ...] = ()


_COUNTED = " (counted from 0)"


def _positional(keywords: Collection[str]) -> str:
    """Return a hint that arguments cannot be passed by name."""
    if not keywords:
        return ""
    name = shorten(next(iter(keywords))).strip("'")
    return f". Kernel arguments are positional: pass the value of {name}= at its position, without the name"


def _advice(types: Sequence[SourceType]) -> str:
    """Return a hint on passing one argument of the source that is several parameters in PTX."""
    is_numba = any(x.with_name.startswith("void* meminfo of ") for x in types)
    return f". Write an array of a numba kernel as {NUMBA_ARRAY}" if is_numba else ""


class ArgumentReader:
    """Reads the arguments of the launches of a kernel, one for each parameter.

    The ``hidden`` parameters at the end are set to zero. ``called`` is the kernel's name in messages; ``labels`` and
    ``types`` are the names and types of the visible parameters in the source, if known.
    """

    def __init__(
        self, program: KernelProgram, called: str = "", labels: Sequence[str] = (), hidden: int = 0,
        types: Sequence[SourceType] = (),
    ) -> None:  # fmt: skip
        seen = program.parameters[: len(program.parameters) - hidden]
        self._called, self._types = called or program.name, types
        names = labels if len(labels) == len(seen) else names_in_text(program)[: len(seen)]
        sources: Sequence[SourceType | None] = types or [None] * len(seen)
        self._slots = [
            _Slot(TypedParameter(parameter, source), i, name, self._called)
            for i, (name, parameter, source) in enumerate(zip(names, seen, sources, strict=True))
        ]
        self._hidden = [Argument(x, x.name, bytes(x.bytes)) for x in program.parameters[len(seen) :]]

    def read(self, values: Sequence[Any], keywords: Collection[str] = ()) -> list[Argument]:
        """Read the arguments of a launch.

        ``keywords`` are the given names that are not launch options: they may be meant as names of arguments.
        """
        slots = self._slots
        if len(values) != len(slots):
            raise ArgumentError(self._miscounted(len(values), keywords))
        return [x.read(value) for x, value in zip(slots, values, strict=True)] + self._hidden

    def _miscounted(self, given: int, keywords: Collection[str]) -> str:
        count = len(self._slots)
        kinds = [
            kind_text(x.target.parameter) if x.target.source is None else x.target.source.text for x in self._slots
        ]
        listed = ", ".join(f"{x.name} {kind}".lstrip() for x, kind in zip(self._slots, kinds, strict=True)) or "none"
        return (
            f"{self._called} takes {count} argument{'s' * (count != 1)}, {given} "
            f"{'was' if given == 1 else 'were'} given; its parameter{'' if count == 1 else 's'} "
            f"{'is' if count == 1 else 'are'} {listed}{_advice(self._types)}"
            f"{_positional(keywords)}"
        )


_MOST_DTYPES = 64
"""The dtypes that are kept for a parameter."""


class _Slot:
    """A parameter of a kernel, with its names in messages and in findings, and the dtypes that it has accepted."""

    def __init__(self, target: TypedParameter, index: int, name: str, called: str) -> None:
        self.target, self.name = target, name
        self._label = f"argument {index}{f' ({name})' if name else ''} of {called}"
        self._counted = _COUNTED if index and not name else ""
        more = name or (target.source.text if target.source else "")
        self._shown = f"argument {index} ({more}) of {called}" if more else self._label
        self._dtypes: set[np.dtype[Any]] = set()
        is_integer = target.parameter.type[0] != "f" and not target.is_struct
        self._is_integer = is_integer and not (target.is_pointer and target.reaches_arrays)
        self._least, self._most = target.range if self._is_integer else (0, -1)
        self._size = bits_of_type(target.parameter.type) // 8

    def read(self, value: Any) -> Argument:
        """Read an argument; an integer or an array as there was one before takes no further checks."""
        parameter, label = self.target.parameter, self._label
        if type(value) is int and self._least <= value <= self._most:
            packed = value.to_bytes(self._size, "little", signed=value < 0)
            return Argument(parameter, label, packed, self._shown)
        dtype = value.dtype if type(value) is np.ndarray else None
        if dtype in self._dtypes and value.flags.c_contiguous:
            return Argument(parameter, label, value, self._shown)
        try:
            read = _read(self.target, value, label)
        except FragmentMismatchError as error:
            raise type(error)(str(error).replace(label, label + self._counted, 1)) from None
        if dtype is not None and read is value and len(self._dtypes) < _MOST_DTYPES:
            self._dtypes.add(dtype)
        return Argument(parameter, label, read, self._shown)


_NOWHERE = Parameter("", "b64", 0, 8, 0)
"""The parameter of a value that a kernel finds in memory."""


def object_arguments(objects: Collection[TextureObject]) -> list[Argument]:
    """Return textures and surfaces that a kernel finds in memory as arguments for parameters without bytes."""
    return [Argument(_NOWHERE, f"object {i} ({value!r})", value) for i, value in enumerate(objects)]


def variable_arguments(structs: Mapping[str, StructArray]) -> list[Argument]:
    """Return the structs that variables of the module hold as arguments for parameters without bytes."""
    return [Argument(_NOWHERE, f"the variable {name}", value, variable=name) for name, value in structs.items()]


def pack_parameters(program: KernelProgram, arguments: Sequence[Argument], map_array: MapArray) -> bytes:
    """Return the bytes of all parameters, after mapping every array."""
    out = bytearray(program.parameter_bytes)
    for argument in arguments:
        parameter, _, value, _, variable = argument
        if not variable:
            packed = value if type(value) is bytes else _packed(argument, map_array)
            out[parameter.offset : parameter.offset + parameter.bytes] = packed[: parameter.bytes]
    return bytes(out)


def pack_variables(arguments: Sequence[Argument], map_array: MapArray) -> Iterator[tuple[str, int, bytes]]:
    """Yield each pointer that a variable of the module holds: the variable, the offset, and the bytes."""
    for argument in arguments:
        if argument.variable and isinstance(argument.value, StructArray):
            packed = _packed(argument, map_array)
            for place in argument.value.places:
                yield argument.variable, place.offset, packed[place.offset : place.offset + POINTER_BYTES]


def _packed(argument: Argument, map_array: MapArray) -> bytes:
    """Map the arrays of an argument, and return the bytes of its value."""
    value = argument.value
    if isinstance(value, bytes):
        return value
    if not isinstance(value, Struct | StructArray):
        return map_array(value, argument.label).to_bytes(POINTER_BYTES, "little")
    own = None if isinstance(value, Struct) else value.memory
    pointer = b"" if own is None else map_array(own, argument.label).to_bytes(POINTER_BYTES, "little")
    names = (x.name for x in argument.pointed)
    packed = value.pack(lambda array: map_array(array, next(names)))
    if own is None:
        return packed
    own[:] = np.frombuffer(packed, np.uint8)
    return pointer


def require_aligned(arguments: Sequence[Argument], addresses: Mapping[str, int]) -> None:
    """Reject arrays that violate the alignment that ``.ptr .align`` promises; ``addresses`` are by label."""
    for parameter, label, value, *_ in arguments:
        multiple = parameter.pointee_alignment
        if multiple and isinstance(value, np.ndarray | Raw) and (offset := addresses[label] % multiple):
            raise AlignmentError(
                f"{label} starts {offset} bytes after a multiple of {multiple}, but .ptr .align {multiple} promises "
                "such a multiple; pass an array with this alignment, such as a copy"
                f"{' into an array of wmma_emu.ptx.empty' if addresses[label] < OWN else ''}"
            )


_STRUCTS = (Struct, StructArray)


def require_relocated(arguments: Sequence[Argument]) -> None:
    """Reject ctypes structs with addresses of the host, which no array has in this launch."""
    for _, label, value, *_ in arguments:
        for name, address in value.addresses if isinstance(value, _STRUCTS) else ():
            raise ArgumentValueError(
                f"the pointer {name} of {label} is {address:#x}, an address of the host: name the array to which it "
                f'points, wmma_emu.ptx.Struct(..., pointers={{"{name}": x}}), or launch with addresses="host"'
            )


def _read(
    target: TypedParameter, value: Any, label: str
) -> "bytes | NDArray[Any] | Raw | Struct | StructArray | TextureObject":
    if isinstance(value, np.ndarray) and value.ndim == 0 and not target.may_point:
        value = value[()]
    if isinstance(value, np.ndarray | Raw):
        return _pointer(target, value, label)
    if isinstance(value, Texture | Surface):
        return _object(target, value, label)
    if is_structs(value) and target.may_point and target.reaches_arrays:
        return structs_behind_pointer(value, label)
    if isinstance(value, CTypes):
        value = Struct(value)
    if target.is_struct or isinstance(value, Struct | bytes | bytearray):
        return _struct(target, value, label)
    if value is None and target.may_point:
        return bytes(8)
    if isinstance(value, list | tuple) and any(isinstance(x, Struct | CTypes) for x in value) and target.may_point:
        other = next((x for x in value if not isinstance(x, Struct | CTypes)), value)
        raise ArgumentError(
            f"{label} is {target.legal()}, or a list of structs, each a TensorMap, a Struct or a ctypes.Structure, not "
            f"{shorten(other)}"
        )
    if _is_foreign_array(value):
        raise ArgumentError(
            f"{label} is {_article(type(value))}; a kernel updates NumPy arrays in place, and cannot update arrays of "
            f"other libraries: pass a NumPy array{_view_hint(value)}"
        )
    if target.is_pointer and target.reaches_arrays:
        if integer_of(value) == 0:
            return bytes(8)
        raise ArgumentError(f"{label} is {target.legal()} if it is unused, not {shorten(value)}")
    return _scalar(target, value, label)


def _pointer(target: TypedParameter, value: NDArray[Any] | Raw, label: str) -> NDArray[Any] | Raw:
    if not target.may_point or not target.reaches_arrays:
        array = value.array if isinstance(value, Raw) else value
        made = "; an object of it is wmma_emu.ptx.texture(x) or wmma_emu.ptx.surface(x)" if target.may_be_handle else ""
        raise ArgumentError(f"{label} is {target.legal()}, not an array ({shown_array(array)}){made}")
    if isinstance(value, np.ndarray):
        require_readable(value, label)
        if target.source is not None:
            require_type(value, target.source, label)
    return value


def _object(target: TypedParameter, value: TextureObject, label: str) -> TextureObject:
    if not target.may_be_handle:
        raise ArgumentError(f"{label} is {target.legal()}, not {shorten(value)}: objects are passed as 64-bit integers")
    return value


def _struct(target: TypedParameter, value: Any, label: str) -> "bytes | Struct":
    if not isinstance(value, bytes | bytearray | Struct | np.generic):
        raise ArgumentError(f"{label} is {target.legal()}, not {shorten(value)}")
    size = len(value) if isinstance(value, bytes | bytearray) else value.nbytes
    if size != target.parameter.bytes:
        fields = f": {value.described()}" if isinstance(value, Struct) and value.fields else ""
        listed = "; for a pointer, a list of structs: [x]" if isinstance(value, Struct) and target.may_point else ""
        raise ArgumentValueError(f"{label} is {target.legal()}; {shorten(value)} has {size} bytes{fields}{listed}")
    if isinstance(value, Struct):
        for array in value.readable:
            require_readable(array, f"an array in {label}")
        return value
    if isinstance(value, np.generic):
        require_plain_value(value.dtype, label)
    if isinstance(value, np.generic) and target.number is not None and not target.number.holds(value.dtype):
        raise ArgumentError(f"{label} is {target.legal()}, not {shorten(value)} of type {value.dtype}")
    return bytes(value) if isinstance(value, bytes | bytearray) else value.tobytes()


def _scalar(target: TypedParameter, value: Any, label: str) -> bytes:
    parameter = target.parameter
    kind, bits = parameter.type[0], bits_of_type(parameter.type)
    number = integer_of(value)
    if isinstance(value, bool | np.bool_):
        number = int(value)
    is_pattern = isinstance(value, np.generic) and value.dtype.kind not in "iub" and value.nbytes * 8 == bits
    if kind == "b" and is_pattern and (target.number is None or target.number.holds(value.dtype)):
        return bytes(value.tobytes())  # a pattern of any type: float32, bfloat16
    if kind == "f":
        return _float(target, value, number, label)
    least, most = target.range
    if number is None:
        raise ArgumentError(f"{label} is {target.legal()}, not {shorten(value)}{_integer_hint(value)}")
    if not least <= number <= most:
        raise ArgumentValueError(f"{label} is {target.legal()} from {least} to {most}, not {shorten(number)}")
    return (number % (1 << bits)).to_bytes(bits // 8, "little")


def _float(target: TypedParameter, value: Any, number: int | None, label: str) -> bytes:
    """Round to the parameter's format as C does; narrower values are exact."""
    parameter, size = target.parameter, target.parameter.bytes
    if isinstance(value, np.floating) and value.dtype == np.dtype(f"f{size}"):
        return value.tobytes()
    if number is None and not isinstance(value, float | np.floating):
        raise ArgumentError(f"{label} is {target.legal()}, not {shorten(value)}")
    try:
        wide = float(value if number is None else number)
    except OverflowError:
        wide = math.inf
    if number is not None and (math.isinf(wide) or int(wide) != number):
        raise ArgumentValueError(f"{label} is {target.legal()}; {shorten(number)} is not representable: pass a float")
    if math.isnan(wide):
        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], wide)
    return encode(np.array(wide), format_of(parameter.type)).tobytes()


def _is_foreign_array(value: Any) -> bool:
    return not isinstance(value, np.generic) and (
        isinstance(value, list | tuple) or hasattr(value, "__array__") or hasattr(value, "__dlpack__")
        or hasattr(value, "__cuda_array_interface__")
    )  # fmt: skip


def _view_hint(value: Any) -> str:
    library = type(value).__module__.partition(".")[0]
    fixes = {
        "torch": "; x.numpy() shares the memory of a CPU tensor x",
        "cupy": ", x.get(), and copy the result back",
        "dask": ", x.compute()",
        "jax": ", np.array(x)",
        "jaxlib": ", np.array(x)",
        "builtins": ", np.array(x, dtype=...)",
    }
    return fixes.get(library, ", np.array(x)")


def _article(kind: type) -> str:
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _integer_hint(value: Any) -> str:
    return f"; int({shorten(value)}) is one" if isinstance(value, float) and value == value // 1 else ""
