# SPDX-License-Identifier: MIT
"""Symbols: values of LLVM's intermediate code that behave as NumPy arrays.

A function that is written for NumPy arrays, called with symbols, writes the instructions that compute the same bits,
with NumPy's dtypes and promotion. Branches on data are not possible: ``any()`` is True and ``all()`` is False, so that
a function takes its general way, and the truth of a symbol raises `NotTraceableError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.lib.mixins import NDArrayOperatorsMixin

from wmma_emu.llvm import casts, ir_types, tables
from wmma_emu.llvm.ir_types import NotTraceableError
from wmma_emu.llvm.ufuncs import UFUNCS

__all__ = ["NotTraceableError", "Symbol", "builder_of", "constant", "shape_of", "symbol_of"]

Shape = tuple[int, ...]


class Symbol(NDArrayOperatorsMixin):
    """An array whose elements are computed when the code runs: a scalar, or a vector in row-major order.

    Parameters
    ----------
    builder : ir.IRBuilder
        Writes the instructions of operations on the symbol.
    value : ir.Value
        A scalar for the shape (), otherwise a vector with as many elements as the shape.
    dtype : dtype_like
        Bool, an integer, or a float of 16, 32 or 64 bits.
    shape : tuple of int, optional
        The vector's length by default.

    Examples
    --------
    >>> function = ir.Function(ir.Module(), ir.FunctionType(ir_types.vector("i4", 8), [ir_types.vector("u4", 8)]), "f")
    >>> builder = ir.IRBuilder(function.append_basic_block())
    >>> x = Symbol(builder, function.args[0], np.uint32)
    >>> y = np.where(x > 7, x.view(np.int32) >> 1, 0)
    >>> y.dtype, y.shape, [line.split(" = ")[1].split(" ")[0] for line in map(str, builder.block.instructions)]
    (dtype('int32'), (8,), ['icmp', 'ashr', 'select'])
    """

    array_module = np
    """The module whose functions accept symbols."""

    def __init__(self, builder: ir.IRBuilder, value: ir.Value, dtype: Any, shape: Shape | None = None) -> None:
        self.builder, self.value, self.dtype = builder, value, np.dtype(dtype)
        whole = (value.type.count,) if isinstance(value.type, ir.VectorType) else ()
        self.shape: Shape = whole if shape is None else shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def flags(self) -> Any:
        """The flags of a contiguous array."""
        return np.empty(0).flags

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        if method != "__call__":
            raise NotTraceableError(f"numpy.{ufunc.__name__}.{method} of a symbol has no code")
        return _apply(ufunc, inputs, **keywords)

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        if function not in _FUNCTIONS:
            raise NotTraceableError(f"numpy.{function.__name__} of a symbol has no code")
        return _FUNCTIONS[function](*args, **keywords)

    def __array__(self, *args: Any, **keywords: Any) -> Any:
        raise NotTraceableError("a symbol cannot become an array: numpy.asarray, or an index of an array")

    def __bool__(self) -> bool:
        raise NotTraceableError("a branch depends on the elements of a symbol")

    def __index__(self) -> int:
        raise NotTraceableError("an element of a symbol is not known, but its number is needed")

    def __len__(self) -> int:
        return self.shape[0]

    def any(self, axis: Any = None) -> bool:
        """Return True: a short cut for arrays without such an element is not possible."""
        return True

    def all(self, axis: Any = None) -> bool:
        """Return False: a short cut for arrays that have the property everywhere is not possible."""
        return False

    def astype(self, dtype: Any, copy: bool = True) -> Symbol:
        """Convert the elements, as NumPy does on this machine."""
        target = np.dtype(dtype)
        value = self.value if target == self.dtype else casts.cast(self.builder, self.value, self.dtype, target)
        return Symbol(self.builder, value, target, self.shape)

    def view(self, dtype: Any) -> Symbol:
        """Reinterpret the bits; another width changes the length of the last axis."""
        target = np.dtype(dtype)
        if (target == np.bool_) != (self.dtype == np.bool_):
            raise NotTraceableError("a view between bools and other dtypes has no code")
        last = (self.shape or (1,))[-1] * self.dtype.itemsize
        if last % target.itemsize:
            raise NotTraceableError(f"the last axis of a view of {self.dtype} as {target} is not a whole number")
        shape = self.shape
        if target.itemsize != self.dtype.itemsize:
            shape = (*self.shape[:-1], last // target.itemsize)
        kind = ir_types.of_shape(target, shape)
        value = self.value if self.value.type == kind else self.builder.bitcast(self.value, kind)
        return Symbol(self.builder, value, target, shape)

    def byteswap(self) -> Symbol:
        """Reverse the bytes of each element."""
        return self._with(ir_types.call(self.builder, "llvm.bswap", self.value))

    @staticmethod
    def multiply_add(x: Any, y: Any, z: Any) -> Symbol:
        """Return ``x * y + z``, rounded once, of symbols or arrays of one float dtype."""
        both = (x, y, z)
        builder, shape, dtype = builder_of(both), shape_of(both), np.result_type(*(i.dtype for i in both))
        values = [symbol_of(builder, i, dtype, shape).value for i in both]
        return Symbol(builder, ir_types.call(builder, "llvm.fma", *values), dtype, shape)

    def taken_from(self, table: np.ndarray[Any, Any]) -> Symbol:
        """Return the elements of a known table at these indices, which have to be in its range."""
        values = tables.narrowest(np.ascontiguousarray(table))
        found = tables.gather(self.builder, values, self.astype(np.int64).value)
        return Symbol(self.builder, found, values.dtype, self.shape).astype(table.dtype)

    def copy(self) -> Symbol:
        """Return a symbol that in-place operations on this one do not change."""
        return self._with(self.value)

    def reshape(self, *shape: Any) -> Symbol:
        """Return the elements in the same order with another shape."""
        given = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return self.picked(np.arange(self.size).reshape(self.shape).reshape(given))

    def __getitem__(self, key: Any) -> Symbol:
        return self.picked(np.arange(self.size).reshape(self.shape)[key])

    def sum(self, axis: int) -> Symbol:
        """Return the sum along an axis, in the dtype of NumPy's sum."""
        dtype = np.zeros(1, self.dtype).sum().dtype
        parts = np.moveaxis(np.arange(self.size).reshape(self.shape), axis, 0)
        wide = self.astype(dtype)
        total: Any = wide.picked(parts[0])
        for part in parts[1:]:
            total = total + wide.picked(part)
        return total  # type: ignore[no-any-return]

    def picked(self, positions: np.ndarray[Any, Any]) -> Symbol:
        """Return the elements at positions of the flat vector, in the shape of the positions."""
        flat = positions.reshape(-1).tolist()
        if flat == list(range(self.size)) and positions.shape and self.shape:
            return Symbol(self.builder, self.value, self.dtype, positions.shape)
        if not positions.shape:
            value = self.value
            if self.shape:
                value = self.builder.extract_element(value, ir.Constant(ir.IntType(32), int(flat[0])))
            return Symbol(self.builder, value, self.dtype, ())
        vector = self.value
        if not self.shape:
            one = ir_types.vector(self.dtype, 1)
            vector = self.builder.insert_element(ir.Constant(one, ir.Undefined), vector, ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(flat)), flat)
        value = self.builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)
        return Symbol(self.builder, value, self.dtype, positions.shape)

    def broadcast_to(self, shape: Shape) -> Symbol:
        """Repeat the elements along new axes, and along axes of length one."""
        if shape == self.shape:
            return self
        return self.picked(np.broadcast_to(np.arange(self.size).reshape(self.shape), shape))

    def _with(self, value: ir.Value) -> Symbol:
        return Symbol(self.builder, value, self.dtype, self.shape)


def constant(builder: ir.IRBuilder, value: Any, dtype: Any, shape: Shape) -> Symbol:
    """Return known elements, an array or a number, as a symbol of a dtype and a shape."""
    array = np.broadcast_to(np.asarray(value).astype(dtype), shape)
    return Symbol(builder, ir_types.constant(array), dtype, shape)


def symbol_of(builder: ir.IRBuilder, value: Any, dtype: Any, shape: Shape) -> Symbol:
    """Return a symbol, or known elements, as a symbol of a dtype and a shape."""
    if not isinstance(value, Symbol):
        return constant(builder, value, dtype, shape)
    return value.astype(dtype).broadcast_to(shape)


def shape_of(values: Iterable[Any]) -> Shape:
    """Return the shape to which symbols, arrays and numbers broadcast."""
    return np.broadcast_shapes(*(np.shape(x) if not isinstance(x, Symbol) else x.shape for x in values))


def builder_of(values: Iterable[Any]) -> ir.IRBuilder:
    """Return the builder of the first symbol among values."""
    return next(x.builder for x in values if isinstance(x, Symbol))


def _apply(ufunc: np.ufunc, inputs: tuple[Any, ...], out: Any = None, where: Any = True, **keywords: Any) -> Any:
    """Write the code of a ufunc on inputs of which at least one, or the output, is a symbol."""
    if ufunc not in UFUNCS or where is not True or keywords:
        raise NotTraceableError(f"numpy.{ufunc.__name__} of a symbol has no code")
    if out is not None and not isinstance(out[0], Symbol):
        raise NotTraceableError(f"numpy.{ufunc.__name__} writes a symbol into an array")
    known = [_dtype(x) for x in inputs]
    dtypes = ufunc.resolve_dtypes((*known, *(None,) * ufunc.nout))
    if any(x.hasobject for x in dtypes):
        raise NotTraceableError(f"numpy.{ufunc.__name__} of {known} needs Python's integers")
    builder, shape = builder_of((*inputs, *(out or ()))), shape_of(inputs)
    operands = [symbol_of(builder, x, dtype, shape) for x, dtype in zip(inputs, dtypes, strict=False)]
    value = UFUNCS[ufunc](builder, operands[0].dtype, *(x.value for x in operands))
    result = Symbol(builder, value, dtypes[-1], shape)
    if out is None:
        return result
    if shape != out[0].shape:
        raise NotTraceableError("an operation in place would change the shape of a symbol")
    out[0].value = result.astype(out[0].dtype).value
    return out[0]


def _dtype(x: Any) -> Any:
    """Return the dtype of an operand; Python's numbers adapt to the others."""
    return type(x) if type(x) in (int, float) else x.dtype if isinstance(x, Symbol) else np.asarray(x).dtype


def _where(condition: Any, a: Any, b: Any) -> Any:
    """Write `numpy.where`."""
    both = [x if type(x) in (int, float) else _dtype(x) for x in (a, b)]
    dtype, builder, shape = np.result_type(*both), builder_of((condition, a, b)), shape_of((condition, a, b))
    if not isinstance(condition, Symbol) and np.ndim(condition) == 0:
        return symbol_of(builder, a if condition else b, dtype, shape)
    chosen = symbol_of(builder, condition, np.bool_, shape)
    x, y = (symbol_of(builder, value, dtype, shape) for value in (a, b))
    return Symbol(builder, builder.select(chosen.value, x.value, y.value), dtype, shape)


def _clip(a: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(a, low), high)


def _filled(shape: Shape, value: Any, dtype: Any) -> Any:
    return np.full(shape, value, dtype)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    np.any: lambda a, **_: True,
    np.all: lambda a, **_: False,
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a: a.size,
    np.full_like: lambda a, value, dtype=None: _filled(a.shape, value, dtype or a.dtype),
    np.zeros_like: lambda a, dtype=None: _filled(a.shape, 0, dtype or a.dtype),
    np.ones_like: lambda a, dtype=None: _filled(a.shape, 1, dtype or a.dtype),
    np.atleast_1d: lambda a: a if a.shape else a.reshape(1),
    np.sum: lambda a, axis: a.sum(axis),
    np.reshape: lambda a, shape: a.reshape(shape),
    np.broadcast_to: lambda a, shape: a.broadcast_to(tuple(shape)),
    np.broadcast_arrays: lambda *arrays: tuple(
        x.broadcast_to(shape_of(arrays)) if isinstance(x, Symbol) else np.broadcast_to(x, shape_of(arrays))
        for x in arrays
    ),
}
"""The other functions of NumPy."""
