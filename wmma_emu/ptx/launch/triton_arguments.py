# SPDX-License-Identifier: MIT
"""Arguments of a Triton launch, for Triton's host code and as values of a kernel's parameters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, shorten
from wmma_emu.formats import format_of
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.codec import encode
from wmma_emu.ptx.launch.memory_of_arrays import Raw, memory_of, raw
from wmma_emu.ptx.launch.options import LaunchOptions
from wmma_emu.ptx.launch.triton_compiled import CompiledTriton, Path
from wmma_emu.ptx.launch.triton_descriptors import descriptor_map
from wmma_emu.ptx.memory.heap import alignment_of


@dataclass(frozen=True)
class _Dtype:
    name: str
    itemsize: int
    is_floating_point: bool

    def __str__(self) -> str:
        return self.name


class TritonTensor:
    """A NumPy array that Triton's host code accepts as a tensor, such as the base of a ``TensorDescriptor``.

    Array arguments of a launch do not need this wrapper.

    Parameters
    ----------
    array : numpy.ndarray, or `raw` of one
        Views that are not contiguous are accepted, because Triton kernels take strides.
    addresses : {"emulator", "host"}
        The addresses that arrays have in the launch, as in `LaunchOptions`.

    Examples
    --------
    >>> x = TritonTensor(np.zeros((4, 64), np.float16))
    >>> x.dtype.itemsize, x.stride(), x.stride(0), x.data_ptr() % 256
    (2, (64, 1), 64, 0)
    >>> TritonTensor(x.array[0, 3:]).data_ptr() % 256
    6
    """

    def __init__(self, array: "NDArray[Any] | Raw", addresses: str = "emulator") -> None:
        self._is_at_host_address = LaunchOptions(addresses=addresses).is_at_host_addresses
        self.source, found = array, array.array if isinstance(array, Raw) else array
        if not isinstance(found, np.ndarray) or found.dtype.hasobject or not found.dtype.itemsize:
            raise ArgumentError(f"a TritonTensor needs a NumPy array of numbers, not {shorten(array)}")
        self.array, self.shape, kind = found, found.shape, found.dtype
        self.dtype = _Dtype(str(kind), kind.itemsize, kind.kind == "f" or kind.name.startswith(("bfloat", "float")))

    def data_ptr(self) -> int:
        """Return the address of the first byte: on the host, or as many bytes past a multiple of 256 as in a launch."""
        if self._is_at_host_address:
            return int(self.array.ctypes.data)
        source = self.source
        if isinstance(source, np.ndarray) and not source.flags.c_contiguous:
            source = raw(source)  # as a launch passes it
        memory, offset = memory_of(source)
        return (1 << 16) + alignment_of(memory) + offset

    def stride(self, dim: int | None = None) -> Any:
        """Return the distance in elements to the next element along a dimension, or along each of them."""
        steps = tuple(x // self.array.itemsize for x in self.array.strides)
        return steps if dim is None else steps[dim]

    def element_size(self) -> int:
        """Return the number of bytes of an element."""
        return self.array.itemsize

    def __repr__(self) -> str:
        return f"TritonTensor({self.dtype}, shape {self.shape})"


def tensors(value: Any, addresses: str = "emulator") -> Any:
    """Wrap the arrays in an argument, including those in tuples."""
    if isinstance(value, np.ndarray | Raw):
        return TritonTensor(value, addresses)
    return _mapped(lambda x: tensors(x, addresses), value)


def plain(value: Any) -> Any:
    """Unwrap the arrays in an argument."""
    return value.source if isinstance(value, TritonTensor) else _mapped(plain, value)


def _mapped(function: Any, value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    found = [function(x) for x in value]
    return type(value)(*found) if hasattr(value, "_fields") else tuple(found)


def parameter_values(compiled: CompiledTriton, values: Mapping[str, Any]) -> list[Any]:
    """Convert a launch's arguments to the values of the kernel's parameters, except scratch memory."""
    out: list[Any] = []
    maps = iter(compiled.tensor_maps)
    for i, (name, kind) in enumerate(compiled.signature.items()):
        if name in values:
            out += _flat(compiled, name, kind, values[name], (i,), maps)
    return [_bits(kind, value) for (_, kind), value in zip(compiled.parameters, out, strict=True)]


def _flat(
    compiled: CompiledTriton, name: str, kind: Any, value: Any, path: Path, maps: Iterator[Mapping[str, Any]]
) -> Iterator[Any]:  # fmt: skip
    if isinstance(kind, tuple):
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != len(kind):
            raise ArgumentError(
                f"{name} of {compiled.name} was compiled as a tuple of {len(kind)}; it is {shorten(value)}"
            )
        for i, (inner, x) in enumerate(zip(kind, value, strict=True)):
            yield from _flat(compiled, f"{name}[{i}]", inner, x, (*path, i), maps)
    elif kind == "constexpr":
        require_constant(compiled, name, compiled.constants[path], value)
    elif kind.startswith("tensordesc"):
        yield from _descriptor(compiled, name, value, next(maps, {}))
    else:
        yield plain(value)


def require_constant(compiled: CompiledTriton, name: str, constant: Any, value: Any) -> None:
    """Reject a value other than the constant that was compiled into the kernel."""
    number = integer_of(value)
    if value is constant or (number is not None and number == integer_of(constant)):
        return
    if type(value) is type(constant) and not isinstance(value, np.ndarray) and value == constant:
        return
    raise ArgumentValueError(
        f"{name} of {compiled.name} is {shorten(value)}, but the kernel was compiled with the constant "
        f"{shorten(constant)}; let from_triton read the arguments of each launch, or pass it these arguments"
    )


def _descriptor(compiled: CompiledTriton, name: str, value: Any, facts: Mapping[str, Any]) -> list[Any]:
    """Return the parameters of a descriptor: a tensor map or its parts, then its shape and its strides."""
    from triton.backends.driver import decompose_descriptor

    if not hasattr(value, "block_shape"):
        raise ArgumentError(f"{name} of {compiled.name} is a TensorDescriptor, not {shorten(value)}")
    if not facts:
        return [plain(x) for x in decompose_descriptor(value)]
    return [descriptor_map(value, facts, plain(value.base)), *value.shape, *value.strides]


def _bits(kind: str, value: Any) -> Any:
    """Round a number to a Triton type as Triton's launcher does: to bfloat16 by truncating float32."""
    if isinstance(value, bool | np.bool_):
        return int(value)
    if kind not in ("fp16", "bf16") or not isinstance(value, int | float):
        return value
    wide = np.array(float(value))
    pattern = int(encode(wide, format_of("f16"))) if kind == "fp16" else int(encode(wide, format_of("f32"))) >> 16
    return pattern.to_bytes(2, "little")
