# SPDX-License-Identifier: MIT
"""What a kernel is given: Python values become the bytes of its parameters, by their types."""

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import FragmentMismatchError, shorten
from wmma_emu.formats import format_of
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.codec import encode
from wmma_emu.ptx.launch.structs import Struct
from wmma_emu.ptx.program.program import KernelProgram, Parameter
from wmma_emu.ptx.widths import bits_of_type

__all__ = ["Argument", "Place", "pack_parameters", "read_arguments"]

Place = Callable[[NDArray[Any], str], int]
"""Gives an array of the user its address in the kernel's memory; the name is what messages call it."""


class Argument(NamedTuple):
    """A value that fits its parameter: ``bytes``, or what has an address first, an array or a struct."""

    parameter: Parameter
    label: str
    value: "bytes | NDArray[Any] | Struct"

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays that it points to."""
        if isinstance(self.value, Struct):
            return self.value.arrays
        return (self.value,) if isinstance(self.value, np.ndarray) else ()


def read_arguments(
    program: KernelProgram, values: Sequence[Any], called: str = "", labels: Sequence[str] = (), hidden: int = 0
) -> list[Argument]:
    """Read the arguments of a launch.

    Parameters
    ----------
    program : KernelProgram
    values : sequence
        One a parameter: arrays, or 0 or None, for pointers; numbers for scalars; bytes, a NumPy scalar or a `Struct` of
        the same size for structs.
    called : str
        What messages call the kernel; its name in the text if left out.
    labels : sequence of str
        Names of the parameters in their source, where they are known.
    hidden : int
        How many parameters at the end the caller does not see; they are zero.

    Raises
    ------
    FragmentMismatchError
        For too many or too few, and for a value that its parameter cannot take.
    """
    seen = program.parameters[: len(program.parameters) - hidden]
    called = called or program.name
    # Compilers of CUDA C++ call parameters by their number alone, which the messages say in any case.
    own = ["" if x.name == f"{program.name}_param_{i}" else x.name for i, x in enumerate(seen)]
    names = list(labels) if len(labels) == len(seen) else own
    if len(values) != len(seen):
        listed = ", ".join(f"{name} {_kind(x)}".lstrip() for name, x in zip(names, seen, strict=True)) or "none"
        raise FragmentMismatchError(
            f"{called} takes {len(seen)} argument{'s' * (len(seen) != 1)}, {len(values)} "
            f"{'was' if len(values) == 1 else 'were'} given; its parameters are {listed}"
        )
    out = []
    for i, (name, parameter, value) in enumerate(zip(names, seen, values, strict=True)):
        label = f"argument {i}{f' ({name})' if name else ''} of {called}"
        out.append(Argument(parameter, label, _read(parameter, value, label)))
    return out + [Argument(x, x.name, bytes(x.bytes)) for x in program.parameters[len(seen) :]]


def pack_parameters(program: KernelProgram, arguments: Sequence[Argument], place: Place) -> bytes:
    """Lay the parameters out, once every array has its address."""
    out = bytearray(program.parameter_bytes)
    for parameter, label, value in arguments:
        if isinstance(value, Struct):
            packed = value.pack(lambda array, label=label: place(array, label))  # type: ignore[misc]
        elif isinstance(value, np.ndarray):
            packed = place(value, label).to_bytes(8, "little")
        else:
            packed = value
        out[parameter.offset : parameter.offset + parameter.bytes] = packed
    return bytes(out)


def _kind(parameter: Parameter) -> str:
    """Say what a parameter is, as in ``.u32``."""
    if _is_struct(parameter):
        return f"struct of {parameter.bytes} bytes"
    return f".{parameter.type}" + (" pointer" if parameter.is_pointer else "")


def _is_struct(parameter: Parameter) -> bool:
    return parameter.bytes * 8 != bits_of_type(parameter.type)


def _read(parameter: Parameter, value: Any, label: str) -> "bytes | NDArray[Any] | Struct":
    if isinstance(value, np.ndarray) and value.ndim == 0 and not _may_point(parameter):
        value = value[()]
    if isinstance(value, np.ndarray):
        return _pointer(parameter, value, label)
    if _is_struct(parameter) or isinstance(value, Struct | bytes | bytearray):
        return _struct(parameter, value, label)
    if value is None and _may_point(parameter):
        return bytes(8)
    if _is_foreign_array(value):
        raise FragmentMismatchError(
            f"{label} is {_article(type(value))}; a kernel updates NumPy arrays in place, which it cannot do with what "
            f"other libraries hold: pass a NumPy array{_view_hint(value)}"
        )
    if parameter.is_pointer:
        if integer_of(value) == 0:
            return bytes(8)
        raise FragmentMismatchError(f"{label} is {_legal(parameter)} where it is not used, not {shorten(value)}")
    return _scalar(parameter, value, label)


def _may_point(parameter: Parameter) -> bool:
    return parameter.is_pointer or (parameter.bytes == 8 and parameter.type in ("u64", "b64", "s64"))


def _pointer(parameter: Parameter, array: NDArray[Any], label: str) -> NDArray[Any]:
    """Check that an array can stand for a pointer."""
    if not _may_point(parameter):
        raise FragmentMismatchError(f"{label} is {_legal(parameter)}, not an array ({_shown(array)})")
    if isinstance(array, np.ma.MaskedArray):
        raise FragmentMismatchError(f"{label} is a masked array; pass its .filled(value), or its .data")
    if array.dtype.hasobject:
        raise FragmentMismatchError(
            f"{label} is an array of Python objects ({_shown(array)}), which no kernel can read"
        )
    if array.size and not array.flags.forc:
        raise FragmentMismatchError(
            f"{label} is a view with gaps ({_shown(array)}, strides {array.strides}), and a pointer reaches bytes in "
            "one piece: pass the array that it is a view of, or x = np.ascontiguousarray(view), and copy x back"
        )
    if not array.dtype.isnative:
        raise FragmentMismatchError(
            f"{label} has the bytes of its elements in the other order ({array.dtype.str}); "
            'pass an array of .astype(dtype.newbyteorder("="))'
        )
    return array


def _struct(parameter: Parameter, value: Any, label: str) -> "bytes | Struct":
    """Read a struct by its size."""
    if not isinstance(value, bytes | bytearray | Struct | np.generic):
        raise FragmentMismatchError(f"{label} is {_legal(parameter)}, not {shorten(value)}")
    size = len(value) if isinstance(value, bytes | bytearray) else value.nbytes
    if size != parameter.bytes:
        raise FragmentMismatchError(f"{label} is {_legal(parameter)}; {shorten(value)} has {size} bytes")
    if isinstance(value, Struct):
        return value
    return bytes(value) if isinstance(value, bytes | bytearray) else value.tobytes()


def _scalar(parameter: Parameter, value: Any, label: str) -> bytes:
    kind, bits = parameter.type[0], bits_of_type(parameter.type)
    number = integer_of(value)
    if isinstance(value, bool | np.bool_):
        number = int(value)
    if kind == "b" and isinstance(value, np.generic) and value.dtype.kind not in "iub" and value.nbytes * 8 == bits:
        return value.tobytes()  # a pattern of any type: float32, bfloat16
    if kind == "f":
        return _float(parameter, value, number, label)
    # Compilers write .u32 for int and for unsigned alike: either range is legal, of .s32 only its own.
    least, most = -(1 << (bits - 1)), (1 << (bits - (kind == "s"))) - 1
    if number is None:
        raise FragmentMismatchError(f"{label} is {_legal(parameter)}, not {shorten(value)}{_integer_hint(value)}")
    if not least <= number <= most:
        raise FragmentMismatchError(f"{label} is {_legal(parameter)} from {least} to {most}, not {shorten(number)}")
    return (number % (1 << bits)).to_bytes(bits // 8, "little")


def _float(parameter: Parameter, value: Any, number: int | None, label: str) -> bytes:
    """Round to the parameter's format as C does; what is narrower is exact."""
    size = parameter.bytes
    if isinstance(value, np.floating) and value.dtype == np.dtype(f"f{size}"):
        return value.tobytes()
    if number is None and not isinstance(value, float | np.floating):
        raise FragmentMismatchError(f"{label} is {_legal(parameter)}, not {shorten(value)}")
    try:
        wide = float(value if number is None else number)
    except OverflowError:
        wide = math.inf
    if number is not None and (math.isinf(wide) or int(wide) != number):
        raise FragmentMismatchError(f"{label} is {_legal(parameter)}; {shorten(number)} is none exactly: pass a float")
    if math.isnan(wide):
        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], wide)
    return encode(np.array(wide), format_of(parameter.type)).tobytes()


def _legal(parameter: Parameter) -> str:
    """Say what a parameter takes."""
    if _is_struct(parameter):
        return f"a struct of {parameter.bytes} bytes: bytes, a NumPy scalar or a wmma_emu.ptx.Struct of that size"
    if parameter.is_pointer:
        return "a pointer: a NumPy array, or 0"
    if parameter.type[0] == "f":
        return f"a .{parameter.type}: a number"
    return f"a .{parameter.type}: " + ("an array, or an integer" if _may_point(parameter) else "an integer")


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


def _shown(array: NDArray[Any]) -> str:
    return f"{shorten(array.dtype, str)}, shape {array.shape}"


def _integer_hint(value: Any) -> str:
    return f"; int({shorten(value)}) is one" if isinstance(value, float) and value == value // 1 else ""
