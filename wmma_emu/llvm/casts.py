# SPDX-License-Identifier: MIT
"""Conversions of symbols between dtypes, with NumPy's results.

NumPy leaves the integer of a float outside the integer's range to the processor. The code gives the result of x86-64,
the least integer, for signed integers of 32 and 64 bits; conversions to other integers are refused.
"""

import numpy as np

from wmma_emu.llvm import ir_types
from wmma_emu.llvm.values import NotTraceableError, Symbol, constant


def cast(x: Symbol, dtype: "np.dtype[np.generic]") -> Symbol:
    """Convert the elements of a symbol."""
    if dtype == x.dtype:
        return x.copy()
    match x.dtype.kind, dtype.kind:
        case _, "b":
            return _not_zero(x)
        case "f", "f":
            return _between_floats(x, dtype)
        case "f", _:
            return _integer_from_float(x, dtype)
        case kind, "f":
            name = "sitofp" if kind == "i" else "uitofp"
            if dtype.itemsize == 2:
                raise NotTraceableError(f"the conversion from {x.dtype} to {dtype} has no code")
        case kind, _:
            narrower = x.dtype.kind != "b" and dtype.itemsize <= x.dtype.itemsize
            name = "trunc" if narrower else "sext" if kind == "i" else "zext"
    return _converted(x, dtype, name)


def _converted(x: Symbol, dtype: "np.dtype[np.generic]", name: str) -> Symbol:
    kind = ir_types.of_shape(dtype, x.shape)
    value = x.value if kind == x.value.type else getattr(x.builder, name)(x.value, kind)
    return Symbol(x.builder, value, dtype, x.shape)


def _not_zero(x: Symbol) -> Symbol:
    result: Symbol = x != x.dtype.type(0)
    return result


def _between_floats(x: Symbol, dtype: "np.dtype[np.generic]") -> Symbol:
    if dtype.itemsize > x.dtype.itemsize:
        return _converted(x, dtype, "fpext")
    if x.dtype.itemsize == 8 and dtype.itemsize == 2:
        # Rounded to odd first, because processors convert to float16 only from float32.
        return _converted(_single_to_odd(x), dtype, "fptrunc")
    return _converted(x, dtype, "fptrunc")


def _single_to_odd(x: Symbol) -> Symbol:
    """Round float64 to float32 so that it may be rounded again: to the neighbour whose last bit is 1."""
    nearest = x.astype(np.float32)
    back = nearest.astype(np.float64)
    word = nearest.view(np.int32)
    wrong = ((back > x) | (back < x)) & ((word & 1) == 0)
    step = np.where(np.abs(back) < np.abs(x), np.int32(1), np.int32(-1))
    result: Symbol = np.where(wrong, word + step, word).view(np.float32)  # type: ignore[assignment]
    return result


def _integer_from_float(x: Symbol, dtype: "np.dtype[np.generic]") -> Symbol:
    if dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
        raise NotTraceableError(f"the conversion from {x.dtype} to {dtype} depends on the processor")
    limit = 2.0 ** (dtype.itemsize * 8 - 1)
    least = constant(x.builder, np.iinfo(dtype).min, dtype, x.shape)
    fits = (x >= x.dtype.type(-limit)) & (x < x.dtype.type(limit))
    whole = _converted(x, dtype, "fptosi")
    return Symbol(x.builder, x.builder.select(fits.value, whole.value, least.value), dtype, x.shape)
