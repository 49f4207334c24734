# SPDX-License-Identifier: MIT
"""Conversions of values between NumPy's dtypes, with NumPy's results.

NumPy leaves the integer of a float outside the integer's range to the processor. The code gives the result of x86-64,
the least integer, for signed integers of 32 and 64 bits; conversions to other integers are refused.
"""

from typing import Any

import numpy as np
from llvmlite import ir

from wmma_emu.llvm import ir_types
from wmma_emu.llvm.ir_types import NotTraceableError

_INT, _SINGLE, _DOUBLE = ir.IntType(32), ir.FloatType(), ir.DoubleType()


def cast(builder: ir.IRBuilder, value: ir.Value, source: "np.dtype[Any]", target: "np.dtype[Any]") -> ir.Value:
    """Convert a value from one dtype to another."""
    kind = ir_types.like(value.type, ir_types.element(target))
    if target.kind == "b":
        zero = ir_types.repeated(0, value.type)
        return (
            builder.fcmp_unordered("!=", value, zero)
            if source.kind == "f"
            else builder.icmp_unsigned("!=", value, zero)
        )
    if source.kind == "f":
        return _float(builder, value, kind) if target.kind == "f" else _integer(builder, value, kind, target)
    if target.kind == "f":
        if target.itemsize == 2:
            raise NotTraceableError(f"the conversion from {source} to {target} has no code")
        return (builder.sitofp if source.kind == "i" else builder.uitofp)(value, kind)
    if kind == value.type:
        return value
    if source.kind != "b" and target.itemsize < source.itemsize:
        return builder.trunc(value, kind)
    return (builder.sext if source.kind == "i" else builder.zext)(value, kind)


def _float(builder: ir.IRBuilder, value: ir.Value, kind: ir.Type) -> ir.Value:
    widths = {"half": 2, "float": 4, "double": 8}
    source, target = (widths[str(ir_types.scalar(x))] for x in (value.type, kind))
    if source <= target:
        return value if source == target else builder.fpext(value, kind)
    if (source, target) == (8, 2):
        # Rounded to odd first, because processors convert to float16 only from float32.
        value = _single_to_odd(builder, value)
    return builder.fptrunc(value, kind)


def _single_to_odd(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """Round float64 to float32 so that it may be rounded again: to the neighbour whose last bit is 1."""
    single, integer = (ir_types.like(value.type, x) for x in (_SINGLE, _INT))
    nearest = builder.fptrunc(value, single)
    back = builder.fpext(nearest, value.type)
    word = builder.bitcast(nearest, integer)
    one = ir_types.repeated(1, integer)
    is_even = builder.icmp_unsigned("==", builder.and_(word, one), ir_types.repeated(0, integer))
    wrong = builder.and_(builder.fcmp_ordered("!=", back, value), is_even)
    size, exact = (ir_types.call(builder, "llvm.fabs", x) for x in (back, value))
    step = builder.select(builder.fcmp_ordered("<", size, exact), one, ir_types.repeated(-1, integer))
    return builder.bitcast(builder.select(wrong, builder.add(word, step), word), single)


def _integer(builder: ir.IRBuilder, value: ir.Value, kind: ir.Type, target: "np.dtype[Any]") -> ir.Value:
    if target not in (np.dtype(np.int32), np.dtype(np.int64)):
        raise NotTraceableError(f"the conversion from a float to {target} depends on the processor")
    limit = 2.0 ** (target.itemsize * 8 - 1)
    fits = builder.and_(
        builder.fcmp_ordered(">=", value, ir_types.repeated(-limit, value.type)),
        builder.fcmp_ordered("<", value, ir_types.repeated(limit, value.type)),
    )
    return builder.select(fits, builder.fptosi(value, kind), ir_types.repeated(np.iinfo(target).min, kind))
