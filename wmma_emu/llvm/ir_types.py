# SPDX-License-Identifier: MIT
"""The types of LLVM's intermediate code for NumPy's dtypes; constants, and calls of intrinsic functions."""

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

_FLOATS = {2: ir.HalfType(), 4: ir.FloatType(), 8: ir.DoubleType()}
_NAMES = {"half": "f16", "float": "f32", "double": "f64"}


class NotTraceableError(TypeError):
    """A function does something with a symbol that has no intermediate code; the message says what."""


def element(dtype: Any) -> ir.Type:
    """Return the type of one element.

    Examples
    --------
    >>> [str(element(x)) for x in (np.bool_, np.uint16, np.int64, np.float16)]
    ['i1', 'i16', 'i64', 'half']
    """
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return _FLOATS[dtype.itemsize]
    return ir.IntType(1 if dtype.kind == "b" else dtype.itemsize * 8)


def vector(dtype: Any, count: int) -> ir.VectorType:
    """Return the type of a vector."""
    return ir.VectorType(element(dtype), count)


def of_shape(dtype: Any, shape: tuple[int, ...]) -> ir.Type:
    """Return the type of an array: a scalar for the shape (), otherwise a vector."""
    return vector(dtype, int(np.prod(shape))) if shape else element(dtype)


def scalar(kind: ir.Type) -> ir.Type:
    """Return the type of the elements of a vector; another type itself."""
    return kind.element if isinstance(kind, ir.VectorType) else kind


def like(kind: ir.Type, one: ir.Type) -> ir.Type:
    """Return a type with other elements and the same number of them."""
    return ir.VectorType(one, kind.count) if isinstance(kind, ir.VectorType) else one


def repeated(value: Any, kind: ir.Type) -> ir.Constant:
    """Return a number as a constant of a type, in every element of a vector.

    Examples
    --------
    >>> str(repeated(7, vector("i4", 2)))
    '<2 x i32> <i32 7, i32 7>'
    """
    return ir.Constant(kind, value)


def constant(array: NDArray[Any]) -> ir.Constant:
    """Return an array as a constant."""
    kind = element(array.dtype)
    if not array.shape:
        return ir.Constant(kind, _spelled(array[()]))
    return ir.Constant(ir.VectorType(kind, array.size), [ir.Constant(kind, _spelled(x)) for x in array.reshape(-1)])


def _spelled(value: Any) -> Any:
    return int(value) if value.dtype.kind in "iub" else float(value)


def call(builder: ir.IRBuilder, name: str, *arguments: ir.Value) -> ir.Value:
    """Call an intrinsic function that is overloaded by its first argument, and returns its type.

    The name is completed by the type: ``llvm.umin`` becomes ``llvm.umin.v8i32``.
    """
    kind = arguments[0].type
    one = str(scalar(kind))
    suffix = (f"v{kind.count}" if isinstance(kind, ir.VectorType) else "") + _NAMES.get(one, one)
    signature = ir.FunctionType(kind, [x.type for x in arguments])
    return builder.call(declared(builder.module, f"{name}.{suffix}", signature), arguments)


def declared(module: ir.Module, name: str, signature: ir.FunctionType) -> ir.Function:
    """Return the function with a name, which is declared if the module does not have it."""
    return module.globals[name] if name in module.globals else ir.Function(module, signature, name)


def freeze(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """Return a value as a separate instruction, which LLVM does not merge with the load of the value."""
    instruction = ir.Instruction(builder.block, value.type, "freeze", [value])
    builder._insert(instruction)  # llvmlite has no method for it
    return instruction
