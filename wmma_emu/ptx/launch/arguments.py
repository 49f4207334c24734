# SPDX-License-Identifier: MIT
"""What a kernel is given: Python values become the bytes of its parameters, by their types."""

import math
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import AlignmentError, ArgumentError, ArgumentValueError, FragmentMismatchError, shorten
from wmma_emu.formats import format_of
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.codec import encode
from wmma_emu.ptx.launch.memory_of_arrays import Raw, require_readable, require_type, shown_array
from wmma_emu.ptx.launch.source_types import NUMBA_ARRAY, SourceType, names_in_text
from wmma_emu.ptx.launch.structs import Struct, arrays_of
from wmma_emu.ptx.launch.typed_parameters import TypedParameter, kind_text
from wmma_emu.ptx.program.program import KernelProgram, Parameter
from wmma_emu.ptx.widths import bits_of_type

MapArray = Callable[["NDArray[Any] | Raw", str], int]
"""Gives an array of the user its address in the kernel's memory; the name is what messages call it."""


class Argument(NamedTuple):
    """A value that fits its parameter: ``bytes``, or what has an address first, an array or a struct.

    ``label`` is what messages of a launch call it, ``shown`` what findings do: with its type in the source.
    """

    parameter: Parameter
    label: str
    value: "bytes | NDArray[Any] | Raw | Struct"
    shown: str = ""

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays that it points to."""
        return arrays_of(self.value)


class LaunchArguments(NamedTuple):
    """Arguments of a launch that fit the kernel's parameters, and what its compiler assumed of them."""

    values: Sequence[Argument]
    assumed: tuple[str, ...] = ()


_COUNTED = " (counted from 0)"


def _positional(keywords: Collection[str]) -> str:
    """Say that an argument is not given by its name."""
    if not keywords:
        return ""
    name = shorten(next(iter(keywords))).strip("'")
    return f". Kernel arguments are positional: pass the value of {name}= in its place, without the name"


def _advice(types: Sequence[SourceType]) -> str:
    """How to pass what is one argument in the source and several parameters in PTX."""
    is_numba = any(x.with_name.startswith("void* meminfo of ") for x in types)
    return f". Write an array of a kernel of numba as {NUMBA_ARRAY}" if is_numba else ""


def read_arguments(
    program: KernelProgram, values: Sequence[Any], called: str = "", labels: Sequence[str] = (), hidden: int = 0,
    types: Sequence[SourceType] = (), keywords: Collection[str] = (),
) -> list[Argument]:  # fmt: skip
    """Read the arguments of a launch, one a parameter; the ``hidden`` ones at the end, which nobody gives, are zero.

    ``called`` is what messages call the kernel, ``labels`` and ``types`` what its source says of the parameters that
    the caller sees, where it is known. ``keywords`` are names that were given with values, and are no options of a
    launch: of arguments, perhaps.
    """
    seen = program.parameters[: len(program.parameters) - hidden]
    called = called or program.name
    names = labels if len(labels) == len(seen) else names_in_text(program)[: len(seen)]
    sources: Sequence[SourceType | None] = types or [None] * len(seen)
    if len(values) != len(seen):
        kinds = [kind_text(x) if source is None else source.text for x, source in zip(seen, sources, strict=True)]
        listed = ", ".join(f"{name} {kind}".lstrip() for name, kind in zip(names, kinds, strict=True)) or "none"
        raise ArgumentError(
            f"{called} takes {len(seen)} argument{'s' * (len(seen) != 1)}, {len(values)} "
            f"{'was' if len(values) == 1 else 'were'} given; its parameters are {listed}{_advice(types)}"
            f"{_positional(keywords)}"
        )
    out = []
    for i, (name, parameter, source, value) in enumerate(zip(names, seen, sources, values, strict=True)):
        label = f"argument {i}{f' ({name})' if name else ''} of {called}"
        try:
            read = _read(TypedParameter(parameter, source), value, label)
        except FragmentMismatchError as error:
            counted = _COUNTED if i and not name else ""
            raise type(error)(str(error).replace(label, label + counted, 1)) from None
        more = name or (source.text if source else "")
        out.append(Argument(parameter, label, read, f"argument {i} ({more}) of {called}" if more else label))
    return out + [Argument(x, x.name, bytes(x.bytes)) for x in program.parameters[len(seen) :]]


def pack_parameters(program: KernelProgram, arguments: Sequence[Argument], map_array: MapArray) -> bytes:
    """Lay the parameters out, once every array has its address."""
    out = bytearray(program.parameter_bytes)
    for parameter, label, value, _ in arguments:
        if isinstance(value, Struct):
            packed = value.pack(lambda array, label=label: map_array(array, label))  # type: ignore[misc]
        elif isinstance(value, np.ndarray | Raw):
            packed = map_array(value, label).to_bytes(8, "little")
        else:
            packed = value
        out[parameter.offset : parameter.offset + parameter.bytes] = packed
    return bytes(out)


def require_aligned(arguments: Sequence[Argument], addresses: Mapping[str, int]) -> None:
    """Refuse arrays that begin where ``.ptr .align`` says that they do not; ``addresses`` are by label."""
    for parameter, label, value, _ in arguments:
        multiple = parameter.pointee_alignment
        if isinstance(value, np.ndarray | Raw) and multiple and (behind := addresses[label] % multiple):
            raise AlignmentError(
                f"{label} begins {behind} bytes behind a multiple of {multiple}, at which .ptr .align {multiple} says "
                "that it begins; pass an array that begins there, such as a copy"
            )


def _read(target: TypedParameter, value: Any, label: str) -> "bytes | NDArray[Any] | Raw | Struct":
    if isinstance(value, np.ndarray) and value.ndim == 0 and not target.may_point:
        value = value[()]
    if isinstance(value, np.ndarray | Raw):
        return _pointer(target, value, label)
    if target.is_struct or isinstance(value, Struct | bytes | bytearray):
        return _struct(target, value, label)
    if value is None and target.may_point:
        return bytes(8)
    if _is_foreign_array(value):
        raise ArgumentError(
            f"{label} is {_article(type(value))}; a kernel updates NumPy arrays in place, which it cannot do with what "
            f"other libraries hold: pass a NumPy array{_view_hint(value)}"
        )
    if target.is_pointer and target.reaches_arrays:
        if integer_of(value) == 0:
            return bytes(8)
        raise ArgumentError(f"{label} is {target.legal()} where it is not used, not {shorten(value)}")
    return _scalar(target, value, label)


def _pointer(target: TypedParameter, value: NDArray[Any] | Raw, label: str) -> NDArray[Any] | Raw:
    if not target.may_point or not target.reaches_arrays:
        array = value.array if isinstance(value, Raw) else value
        raise ArgumentError(f"{label} is {target.legal()}, not an array ({shown_array(array)})")
    if isinstance(value, np.ndarray):
        require_readable(value, label)
        if target.source is not None:
            require_type(value, target.source, label)
    return value


def _struct(target: TypedParameter, value: Any, label: str) -> "bytes | Struct":
    if not isinstance(value, bytes | bytearray | Struct | np.generic):
        raise ArgumentError(f"{label} is {target.legal()}, not {shorten(value)}")
    size = len(value) if isinstance(value, bytes | bytearray) else value.nbytes
    if size != target.parameter.bytes:
        raise ArgumentValueError(f"{label} is {target.legal()}; {shorten(value)} has {size} bytes")
    if isinstance(value, Struct):
        for array in value.readable:
            require_readable(array, f"an array in {label}")
        return value
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
    """Round to the parameter's format as C does; what is narrower is exact."""
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
        raise ArgumentValueError(f"{label} is {target.legal()}; {shorten(number)} is none exactly: pass a float")
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
        "torch": "; x.numpy() shares the memory of a tensor x of the CPU",
        "cupy": ", x.get(), and put the result back",
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
