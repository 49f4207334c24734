# SPDX-License-Identifier: MIT
"""NumPy's functions on symbols: the intermediate code of each ufunc, and of functions that select and arrange."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from wmma_emu.llvm import ir_types
from wmma_emu.llvm.values import NotTraceableError, Shape, Symbol, builder_of, constant, shape_of, symbol_of

_Emit = Callable[..., ir.Value]


def apply(ufunc: np.ufunc, inputs: tuple[Any, ...], out: Any = None, where: Any = True, **keywords: Any) -> Any:
    """Write the code of a ufunc on inputs of which at least one, or the output, is a symbol."""
    if ufunc not in _UFUNCS or where is not True:
        raise NotTraceableError(f"numpy.{ufunc.__name__} of a symbol has no code")
    if out is not None and not isinstance(out[0], Symbol):
        raise NotTraceableError(f"numpy.{ufunc.__name__} writes a symbol into an array")
    known = [_dtype(x) for x in inputs]
    dtypes = ufunc.resolve_dtypes((*known, *(None,) * ufunc.nout))  # type: ignore[arg-type]
    if any(x.hasobject for x in dtypes):
        raise NotTraceableError(f"numpy.{ufunc.__name__} of {known} needs Python's integers")
    builder, shape = builder_of((*inputs, *(out or ()))), shape_of(inputs)
    operands = [symbol_of(builder, x, dtype, shape) for x, dtype in zip(inputs, dtypes, strict=False)]
    value = _UFUNCS[ufunc](builder, operands[0].dtype, *(x.value for x in operands))
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


def _choice(integer: str, real: str, logical: str = "") -> _Emit:
    """Use one instruction for integers, one for floats, and one for bools."""

    def emit(builder: ir.IRBuilder, dtype: Any, *values: ir.Value) -> ir.Value:
        name = {"f": real, "b": logical}.get(dtype.kind, integer)
        if not name:
            raise NotTraceableError(f"an operation has no code for {dtype}")
        return getattr(builder, name)(*values)

    return emit


def _compare(sign: str) -> _Emit:
    def emit(builder: ir.IRBuilder, dtype: Any, a: ir.Value, b: ir.Value) -> ir.Value:
        if dtype.kind == "f":
            # Only "not equal" is true for NaN.
            return (builder.fcmp_unordered if sign == "!=" else builder.fcmp_ordered)(sign, a, b)
        return (builder.icmp_signed if dtype.kind == "i" else builder.icmp_unsigned)(sign, a, b)

    return emit


def _extremum(name: str) -> _Emit:
    def emit(builder: ir.IRBuilder, dtype: Any, a: ir.Value, b: ir.Value) -> ir.Value:
        if dtype.kind not in "iu":
            raise NotTraceableError(f"the {name}imum of {dtype} has no code")
        return ir_types.call(builder, f"llvm.{'s' if dtype.kind == 'i' else 'u'}{name}", a, b)

    return emit


def _shift(left: bool) -> _Emit:
    """Shift; a count of at least the width, which LLVM does not define, leaves zeros or sign bits as in NumPy."""

    def emit(builder: ir.IRBuilder, dtype: Any, a: ir.Value, count: ir.Value) -> ir.Value:
        width, shape = dtype.itemsize * 8, _flat_shape(a)
        is_small = isinstance(count, ir.Constant) and all(0 <= x < width for x in _elements(count))
        if not left and dtype.kind == "i":
            last = constant(builder, width - 1, dtype, shape).value
            return builder.ashr(a, count if is_small else ir_types.call(builder, "llvm.umin", count, last))
        moved = (builder.shl if left else builder.lshr)(a, count)
        if is_small:
            return moved
        fits = builder.icmp_unsigned("<", count, constant(builder, width, dtype, shape).value)
        return builder.select(fits, moved, constant(builder, 0, dtype, shape).value)

    return emit


def _elements(value: ir.Constant) -> list[int]:
    given = value.constant
    return [x.constant for x in given] if isinstance(given, list | tuple) else [given]


def _flat_shape(value: ir.Value) -> Shape:
    return (value.type.count,) if isinstance(value.type, ir.VectorType) else ()


def _absolute(builder: ir.IRBuilder, dtype: Any, a: ir.Value) -> ir.Value:
    if dtype.kind == "f":
        return ir_types.call(builder, "llvm.fabs", a)
    if dtype.kind == "u":
        return a
    return ir_types.call(builder, "llvm.abs", a, ir.Constant(ir.IntType(1), 0))


def _negative(builder: ir.IRBuilder, dtype: Any, a: ir.Value) -> ir.Value:
    return builder.fneg(a) if dtype.kind == "f" else builder.sub(ir.Constant(a.type, 0), a)


def _divide(builder: ir.IRBuilder, dtype: Any, a: ir.Value, b: ir.Value) -> ir.Value:
    if dtype.kind != "u":
        raise NotTraceableError(f"the integer quotient of {dtype} has no code")
    # The processor traps at a division by zero, whose quotient is zero in NumPy.
    none, one = (constant(builder, x, dtype, _flat_shape(a)).value for x in (0, 1))
    zero = builder.icmp_unsigned("==", b, none)
    divisor = builder.select(zero, one, b)
    if dtype.itemsize == 8:
        return builder.select(zero, none, builder.udiv(a, divisor))
    # Processors have no vector division of integers. A quotient of float64 is below the next integer by at least
    # 2**-32, so that rounding does not reach it.
    wide = ir_types.of_shape(np.float64, _flat_shape(a))
    quotient = builder.fdiv(builder.uitofp(a, wide), builder.uitofp(divisor, wide))
    return builder.select(zero, none, builder.fptoui(quotient, a.type))


def _intrinsic(name: str, kinds: str) -> _Emit:
    def emit(builder: ir.IRBuilder, dtype: Any, *values: ir.Value) -> ir.Value:
        if dtype.kind not in kinds:
            raise NotTraceableError(f"{name} of {dtype} has no code")
        return ir_types.call(builder, name, *values)

    return emit


def _count_bits(builder: ir.IRBuilder, dtype: Any, a: ir.Value) -> ir.Value:
    counts = ir_types.call(builder, "llvm.ctpop", a)
    kind = ir.IntType(8)
    if isinstance(a.type, ir.VectorType):
        kind = ir.VectorType(kind, a.type.count)
    return counts if counts.type == kind else builder.trunc(counts, kind)


def _logical(name: str) -> _Emit:
    def emit(builder: ir.IRBuilder, dtype: Any, *values: ir.Value) -> ir.Value:
        if dtype.kind != "b":
            raise NotTraceableError(f"a logical operation on {dtype} has no code")
        return getattr(builder, name)(*values)

    return emit


_UFUNCS: dict[np.ufunc, _Emit] = {
    np.add: _choice("add", "fadd", "or_"),
    np.subtract: _choice("sub", "fsub"),
    np.multiply: _choice("mul", "fmul", "and_"),
    np.true_divide: _choice("", "fdiv"),
    np.floor_divide: _divide,
    np.negative: _negative,
    np.absolute: _absolute,
    np.bitwise_and: _choice("and_", "", "and_"),
    np.bitwise_or: _choice("or_", "", "or_"),
    np.bitwise_xor: _choice("xor", "", "xor"),
    np.invert: _choice("not_", "", "not_"),
    np.logical_and: _logical("and_"),
    np.logical_or: _logical("or_"),
    np.logical_xor: _logical("xor"),
    np.logical_not: _logical("not_"),
    np.left_shift: _shift(left=True),
    np.right_shift: _shift(left=False),
    np.minimum: _extremum("min"),
    np.maximum: _extremum("max"),
    np.sqrt: _intrinsic("llvm.sqrt", "f"),
    np.bitwise_count: _count_bits,
    **{
        ufunc: _compare(sign)
        for ufunc, sign in (
            (np.equal, "=="), (np.not_equal, "!="), (np.less, "<"), (np.less_equal, "<="), (np.greater, ">"),
            (np.greater_equal, ">="),
        )
    },
}  # fmt: skip
"""The code of each ufunc, for operands of the dtype of its loop."""


def where(condition: Any, a: Any, b: Any) -> Any:
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


def take(table: Any, indices: Symbol) -> Symbol:
    """Write `numpy.take` of a constant table: a load for each element.

    The indices have to be in the table's range. The table becomes a constant of the module.
    """
    values = np.ascontiguousarray(table)
    narrow = values.astype(np.int32) if values.dtype == np.int64 else values
    if not np.array_equal(narrow, values):
        narrow = values
    builder, kind = indices.builder, ir_types.element(narrow.dtype)
    place = builder.gep(_table(builder.module, narrow), [indices.astype(np.int64).value], source_etype=kind)
    whole = ir_types.of_shape(narrow.dtype, indices.shape)
    if not indices.shape:
        return Symbol(builder, builder.load(place, typ=kind), narrow.dtype, ()).astype(values.dtype)
    count, width = indices.size, narrow.dtype.itemsize
    every = constant(builder, True, np.bool_, indices.shape).value
    pointers = ir.VectorType(ir.PointerType(), count)
    signature = ir.FunctionType(whole, [pointers, every.type, whole])
    gather = ir_types.declared(builder.module, f"llvm.masked.gather.v{count}i{width * 8}.v{count}p0", signature)
    place.type = pointers
    found = builder.call(gather, [place, every, constant(builder, 0, narrow.dtype, indices.shape).value])
    return Symbol(builder, found, narrow.dtype, indices.shape).astype(values.dtype)


def _table(module: ir.Module, values: Any) -> ir.GlobalVariable:
    """Return the constant of a module with the values of an array."""
    digest = hash(values.tobytes()) & (1 << 64) - 1
    name = f"table.{values.dtype}.{digest:016x}"
    if name in module.globals:
        return module.globals[name]
    kind = ir.ArrayType(ir_types.element(values.dtype), values.size)
    table = ir.GlobalVariable(module, kind, name)
    table.linkage, table.global_constant = "internal", True
    table.initializer = ir.Constant(kind, [int(x) for x in values.reshape(-1)])
    return table


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: where,
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
