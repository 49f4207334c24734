# SPDX-License-Identifier: MIT
"""The epilogue, from an accumulator to D: scaling, additions and rounding, each in a named format and order."""

import numbers
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from wmma_emu.arithmetic import DotProduct
from wmma_emu.errors import ArgumentError, OptionError, ShapeError, shorten
from wmma_emu.formats import Format, encode, format_of
from wmma_emu.formats.arrays import as_numpy, integer_of
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import dtype_of, format_of_dtype, to_bits, widens
from wmma_emu.gemm.elementwise import converted
from wmma_emu.gemm.float_scales import as_float64
from wmma_emu.gemm.options import Form, ProductOptions
from wmma_emu.gemm.panels import PanelOperand, sample_of
from wmma_emu.scalar import add, convert, fma
from wmma_emu.scalar.reference import one

_BLOCK = 1 << 15
"""The number of elements that the epilogue processes at once: its temporaries take about a hundred bytes an element."""


@dataclass(frozen=True, slots=True)
class Epilogue:
    """One product's epilogue. `__call__` applies it to a panel of accumulators.

    ``compute`` is the format of every operation: f32 for f16 and f32 accumulators, f64 for f64; for s32 accumulators
    s32, modulo 2**32, if D is s32, and f32 otherwise. An alpha or a beta of None means exactly 1, or no addend.
    """

    source: Format
    compute: Format
    result: Format
    alpha: int | None
    beta: int | None
    c: "_Addend | None"
    bias: Bits | None
    form: Form = "fma_accumulator"

    @property
    def is_plain(self) -> bool:
        """Whether it only rounds."""
        return self.alpha is None and self.c is None and self.bias is None

    def __call__(self, accumulators: Bits, index: tuple[slice, ...]) -> Bits:
        """Return the patterns of D for the accumulators of one panel at an index of D."""
        if self.is_plain and self.source == self.result:
            return accumulators
        columns = accumulators.shape[-1]
        flat = accumulators.reshape(-1, columns)
        addend = None
        if self.c is not None:
            addend = np.broadcast_to(self.c.bits(index), accumulators.shape).reshape(-1, columns)
        bias = None if self.bias is None else self.bias[index[-1]]
        d = np.empty(flat.shape, self.result.storage)
        rows = max(_BLOCK // columns, 1)
        for start in range(0, len(flat), rows):
            here = slice(start, start + rows)
            c = None if self.c is None or addend is None else self.c.converted(addend[here])
            d[here] = self._block(flat[here], c, bias)
        return d.reshape(accumulators.shape)

    def _block(self, accumulators: Bits, c: Bits | None, bias: Bits | None) -> Bits:
        if self.is_plain:
            return convert(accumulators, self.source, self.result)
        x = convert(accumulators, self.source, self.compute)
        if self.compute.name == "s32":
            return self._integers(x, c, bias)
        fmt = self.compute
        x = self._sum(x, c)
        if bias is not None:
            x = add(x, bias, fmt)
        d = convert(x, fmt, self.result)
        if c is not None and self.form == "after_rounding":
            d = convert(add(convert(d, self.result, fmt), c, fmt), fmt, self.result)
        return d

    def _sum(self, x: Bits, c: Bits | None) -> Bits:
        """Return alpha times the accumulator plus beta times C."""
        fmt, alpha, beta = self.compute, self._scalar(self.alpha), self._scalar(self.beta)
        if c is not None and self.form == "fma_accumulator":
            scaled = c if beta is None else self._times(beta, c)
            return add(x, scaled, fmt) if alpha is None else fma(alpha, x, scaled, fmt)
        scaled = x if alpha is None else self._times(alpha, x)
        if c is not None and self.form == "fma_source":
            return add(scaled, c, fmt) if beta is None else fma(beta, c, scaled, fmt)
        return scaled

    def _times(self, factor: Bits, x: Bits) -> Bits:
        """Multiply by a fused multiply-add of -0, which has the same result: `fma` is three times as fast as `mul`."""
        return fma(factor, x, np.array(self.compute.sign_mask, self.compute.storage), self.compute)

    def _integers(self, x: Bits, c: Bits | None, bias: Bits | None) -> Bits:
        """Compute in unsigned arithmetic, modulo 2**32."""
        if self.alpha is not None:
            x = x * np.uint32(self.alpha)
        if c is not None:
            x = x + (c if self.beta is None else c * np.uint32(self.beta))
        return x if bias is None else x + bias

    def _scalar(self, bits: int | None) -> Bits | None:
        return None if bits is None else np.array(bits, self.compute.storage)


def epilogue_of(
    product: DotProduct, source: str, result: Format, C: ArrayLike | None, columns: int, options: ProductOptions
) -> Epilogue:
    """Check the options of an epilogue; C is part of it if ``beta`` is given."""
    beta, bias = options.beta, options.bias
    if beta is not None and C is None:
        raise OptionError(f"beta={shorten(beta)} was given without C, which it multiplies")
    compute = compute_format(product, result)
    factor, weight = _factor("alpha", options.alpha, compute), _factor("beta", beta, compute)
    c = None
    nothing = (0, None if compute.name == "s32" else compute.sign_mask)  # zeros of both signs
    if beta is not None and C is not None and weight not in nothing:  # a C that is multiplied by zero is not read
        c = _Addend(C, compute, result)
    bias_bits = None if bias is None else _bias_bits(bias, compute, result, columns)
    unit = one(compute) if compute.is_float else 1
    factor, weight = (None if x == unit else x for x in (factor, weight))
    return Epilogue(format_of(source), compute, result, factor, weight, c, bias_bits, options.form)


class _Addend(PanelOperand):
    """C of an epilogue: in any format that the epilogue's format can represent exactly, and converted to it."""

    def __init__(self, array: ArrayLike, compute: Format, result: Format) -> None:
        self.own, self._compute = addend_format(array, "C", compute, result), compute
        super().__init__(array, self.own, "C")

    def converted(self, bits: Bits) -> Bits:
        """Convert a block of C to the epilogue's format; the temporaries of a panel would be large."""
        return converted(bits, self.own, self._compute)


def compute_format(product: DotProduct, result: Format) -> Format:
    """Return the format in which an epilogue computes."""
    if product.d.name == "s32":
        return format_of("s32" if result.name == "s32" else "f32")
    return format_of("f64" if product.d.name == "f64" else "f32")


def _factor(name: str, given: object, compute: Format) -> int | None:
    """Return the pattern of alpha or beta, rounded once to the epilogue's format."""
    if given is None:
        return None
    if compute.name == "s32":
        value = integer_of(given)
        if value is None:
            raise OptionError(
                f"{name}={shorten(given)} is not an integer, but D is s32, whose epilogue computes modulo 2**32; "
                "name a floating-point out_dtype for an epilogue in float32"
            )
        return value & 0xFFFF_FFFF
    number = given.item() if isinstance(given, np.ndarray) and given.ndim == 0 else given
    if isinstance(number, bool | np.timedelta64) or not isinstance(number, numbers.Real):
        raise OptionError(f"{name}={shorten(given)} is not a number; pass one Python or NumPy number")
    return int(encode(np.array([as_float64(number)]), compute)[0])


def addend_format(array: ArrayLike, name: str, compute: Format, result: Format) -> Format:
    """Return the format of an addend's dtype; raw bits are in D's format."""
    given = as_numpy(sample_of(array), name)
    fmt = format_of_dtype(given.dtype)
    if given.dtype == result.storage:
        return result
    same = fmt is not None and (fmt == compute or (compute.is_float and widens(fmt, compute)))
    if fmt is None or not same:
        raise ArgumentError(
            f"{name} is an array of {shorten(given.dtype, str)}; the epilogue computes in {compute} and reads "
            f"{dtype_of(compute)}" + ("" if compute.name == "s32" else ", or a narrower floating-point dtype")
        )
    return fmt


def _bias_bits(bias: ArrayLike, compute: Format, result: Format, columns: int) -> Bits:
    fmt = addend_format(bias, "bias", compute, result)
    bits = to_bits(bias, fmt, "bias")
    check_bias(bits.shape, columns)
    return bits if fmt == compute else convert(bits, fmt, compute)


def check_bias(shape: tuple[int, ...], columns: int) -> None:
    """Reject a bias without one element for each column of D."""
    if shape != (columns,):
        raise ShapeError(f"bias has shape {shape}; expected one element for each column of D, ({columns},)")
