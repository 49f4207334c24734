# SPDX-License-Identifier: MIT
"""The intermediate code of NumPy's ufuncs, for values of the dtype of the ufunc's loop."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from wmma_emu.llvm import ir_types
from wmma_emu.llvm.ir_types import NotTraceableError

Emit = Callable[..., ir.Value]
"""A function that writes instructions: of a builder, a dtype and values."""


def _choice(integer: str, real: str, logical: str = "") -> Emit:
    """Use one instruction for integers, one for floats, and one for bools."""

    def emit(builder: ir.IRBuilder, dtype: Any, *values: ir.Value) -> ir.Value:
        name = {"f": real, "b": logical}.get(dtype.kind, integer)
        if not name:
            raise NotTraceableError(f"an operation has no code for {dtype}")
        return getattr(builder, name)(*values)

    return emit


def _compare(sign: str) -> Emit:
    def emit(builder: ir.IRBuilder, dtype: Any, a: ir.Value, b: ir.Value) -> ir.Value:
        if dtype.kind == "f":
            # Only "not equal" is true for NaN.
            return (builder.fcmp_unordered if sign == "!=" else builder.fcmp_ordered)(sign, a, b)
        return (builder.icmp_signed if dtype.kind == "i" else builder.icmp_unsigned)(sign, a, b)

    return emit


def _extremum(name: str) -> Emit:
    def emit(builder: ir.IRBuilder, dtype: Any, a: ir.Value, b: ir.Value) -> ir.Value:
        if dtype.kind not in "iu":
            raise NotTraceableError(f"the {name}imum of {dtype} has no code")
        return ir_types.call(builder, f"llvm.{'s' if dtype.kind == 'i' else 'u'}{name}", a, b)

    return emit


def _shift(left: bool) -> Emit:
    """Shift; a count of at least the width, which LLVM does not define, leaves zeros or sign bits as in NumPy."""

    def emit(builder: ir.IRBuilder, dtype: Any, a: ir.Value, count: ir.Value) -> ir.Value:
        width = dtype.itemsize * 8
        is_small = isinstance(count, ir.Constant) and all(0 <= x < width for x in _elements(count))
        if not left and dtype.kind == "i":
            last = ir_types.repeated(width - 1, a.type)
            return builder.ashr(a, count if is_small else ir_types.call(builder, "llvm.umin", count, last))
        moved = (builder.shl if left else builder.lshr)(a, count)
        if is_small:
            return moved
        fits = builder.icmp_unsigned("<", count, ir_types.repeated(width, a.type))
        return builder.select(fits, moved, ir_types.repeated(0, a.type))

    return emit


def _elements(value: ir.Constant) -> list[int]:
    given = value.constant
    return [x.constant for x in given] if isinstance(given, list | tuple) else [given]


def _absolute(builder: ir.IRBuilder, dtype: Any, a: ir.Value) -> ir.Value:
    if dtype.kind == "f":
        return ir_types.call(builder, "llvm.fabs", a)
    if dtype.kind == "u":
        return a
    return ir_types.call(builder, "llvm.abs", a, ir.Constant(ir.IntType(1), 0))


def _negative(builder: ir.IRBuilder, dtype: Any, a: ir.Value) -> ir.Value:
    return builder.fneg(a) if dtype.kind == "f" else builder.sub(ir_types.repeated(0, a.type), a)


def _divide(builder: ir.IRBuilder, dtype: Any, a: ir.Value, b: ir.Value) -> ir.Value:
    if dtype.kind != "u":
        raise NotTraceableError(f"the integer quotient of {dtype} has no code")
    # The processor traps at a division by zero, whose quotient is zero in NumPy.
    none, one = (ir_types.repeated(x, a.type) for x in (0, 1))
    zero = builder.icmp_unsigned("==", b, none)
    divisor = builder.select(zero, one, b)
    if dtype.itemsize == 8:
        return builder.select(zero, none, builder.udiv(a, divisor))
    # Processors have no vector division of integers. A quotient of float64 is below the next integer by at least
    # 2**-32, so that rounding does not reach it.
    wide = ir_types.like(a.type, ir.DoubleType())
    quotient = builder.fdiv(builder.uitofp(a, wide), builder.uitofp(divisor, wide))
    return builder.select(zero, none, builder.fptoui(quotient, a.type))


def _intrinsic(name: str, kinds: str) -> Emit:
    def emit(builder: ir.IRBuilder, dtype: Any, *values: ir.Value) -> ir.Value:
        if dtype.kind not in kinds:
            raise NotTraceableError(f"{name} of {dtype} has no code")
        return ir_types.call(builder, name, *values)

    return emit


def _count_bits(builder: ir.IRBuilder, dtype: Any, a: ir.Value) -> ir.Value:
    counts = ir_types.call(builder, "llvm.ctpop", a)
    kind = ir_types.like(a.type, ir.IntType(8))
    return counts if counts.type == kind else builder.trunc(counts, kind)


def _logical(name: str) -> Emit:
    def emit(builder: ir.IRBuilder, dtype: Any, *values: ir.Value) -> ir.Value:
        if dtype.kind != "b":
            raise NotTraceableError(f"a logical operation on {dtype} has no code")
        return getattr(builder, name)(*values)

    return emit


UFUNCS: dict[np.ufunc, Emit] = {
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
    np.rint: _intrinsic("llvm.roundeven", "f"),
    np.trunc: _intrinsic("llvm.trunc", "f"),
    np.floor: _intrinsic("llvm.floor", "f"),
    np.ceil: _intrinsic("llvm.ceil", "f"),
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
