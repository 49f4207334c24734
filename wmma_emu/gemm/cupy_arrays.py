# SPDX-License-Identifier: MIT
"""Products of matrices on a GPU that stay there: CuPy arrays in, a CuPy array out."""

from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from wmma_emu.arithmetic import DotProduct
from wmma_emu.arithmetic.cuda_source import EpilogueForm
from wmma_emu.arithmetic.cupy_engine import convert, finish, matmul, require_cupy
from wmma_emu.display import progress_bar
from wmma_emu.errors import ArgumentError, OptionError, ShapeError, UnsupportedInstructionError, shorten
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.dtypes import dtype_of, format_meant
from wmma_emu.gemm.accumulation import Accumulation
from wmma_emu.gemm.device_arrays import DeviceArray, is_cupy
from wmma_emu.gemm.epilogue import addend_format, check_bias, epilogue_of
from wmma_emu.gemm.k_order import Run, checked_order
from wmma_emu.gemm.operands import check_c, missing_k, product_for, result_shape, step_of_k
from wmma_emu.gemm.options import Factors, ProductOptions
from wmma_emu.gemm.panels import Parts
from wmma_emu.instructions import Instruction
from wmma_emu.layouts import granularity_of
from wmma_emu.warp import matrix_bits
from wmma_emu.warp.sparse import compress

_GATHERED = 1 << 26
"""The number of elements of B that are gathered at once for rows of a sparse A."""


def gemm_on_gpu(factors: Factors, C: Any | None, options: ProductOptions) -> Any:
    """Multiply as `wmma_emu.gemm` does, on the current GPU; the options are documented there.

    NumPy arrays among the operands are copied to the GPU. CuPy has no dtype for bf16 and FP8: unsigned arrays of the
    element's width are raw bits if ``instr`` is named. D is a CuPy array; a `DeviceArray` if A is one.
    """
    cupy = require_cupy()
    A, B = factors.a, factors.b
    product, entry = product_for(factors._replace(a=_empty_like(A), b=_empty_like(B)), options)
    if product.scale is not None:
        raise UnsupportedInstructionError(
            f"{entry} reads block scales, which are not supported for CuPy arrays; copy A and B to the host"
        )
    result_format = _result_format(product, options.out_dtype, isinstance(A, DeviceArray))
    a = _bits(cupy, A, product.a, "A", -1, factors.a_format)
    b = _bits(cupy, B, product.b, "B", -2, factors.b_format)
    shape, k, step = result_shape(a.shape, b.shape), a.shape[-1], step_of_k(product, entry)
    order = checked_order(options.k_order, product, step, k)
    accumulation = Accumulation(product, entry, step, order, "cupy", None)
    epilogue = _Finish.of(cupy, product, format_of(accumulation.result_format), result_format, C, shape[-1], options)
    c = cupy.zeros((1, 1), product.c.storage)
    if C is not None and options.beta is None:
        c = _bits(cupy, C, product.c, "C")
    for operand in (c, epilogue.c):
        shape = shape if operand is None or operand.shape == (1, 1) else check_c(operand.shape, shape)
    missing_k(k, product, step)
    c = cupy.broadcast_to(c, shape)
    with progress_bar(f"gemm {shape[-2]} x {shape[-1]} x {k}") as progress:
        if accumulation.is_sparse and a.size and c.size:
            sums = _sparse_sums(cupy, accumulation, a, b, c)
        else:
            sums = accumulation.panel(lambda run: _parts(cupy, a, b, run, step), c, k, max(k, step), progress)
    d = epilogue(sums)
    return DeviceArray(d, dtype_of(result_format)) if isinstance(A, DeviceArray) else d.view(dtype_of(result_format))


def _parts(cupy: Any, a: Any, b: Any, run: Run, step: int) -> Parts:
    """Return A and B over one run, padded with +0 to whole instructions."""
    a, b, missing = a[..., run.start : run.stop], b[..., run.start : run.stop, :], (run.start - run.stop) % step
    if missing:
        a = cupy.pad(a, [*[(0, 0)] * (a.ndim - 1), (0, missing)])
        b = cupy.pad(b, [*[(0, 0)] * (b.ndim - 2), (0, missing), (0, 0)])
    return Parts(a, b, ())


@dataclass(frozen=True, slots=True)
class _Finish:
    """An epilogue on the GPU: its form, its addends as patterns, and the patterns of alpha and beta."""

    form: EpilogueForm
    c: Any
    bias: Any
    alpha: int | None
    beta: int | None

    @classmethod
    def of(
        cls, cupy: Any, product: DotProduct, source: Format, result: Format, C: Any, columns: int,
        options: ProductOptions,
    ) -> "_Finish":  # fmt: skip
        """Check the options of an epilogue as on the host, with empty arrays instead of those on the GPU."""
        addend = None if C is None else _empty_like(C)
        checked = epilogue_of(product, source.name, result, addend, columns, replace(options, bias=None))
        if checked.compute.name != "f32" and not (checked.is_plain and options.bias is None):
            raise UnsupportedInstructionError(
                f"alpha, beta and bias are applied in {checked.compute} here, which is not supported for CuPy arrays; "
                "copy A and B to the host"
            )
        of_c = None if checked.c is None else checked.c.own
        of_bias = None
        if options.bias is not None:
            of_bias = addend_format(_empty_like(options.bias), "bias", checked.compute, result)
            check_bias(tuple(options.bias.shape), columns)
        has_alpha, has_beta = checked.alpha is not None, checked.beta is not None
        return cls(
            EpilogueForm(source, result, of_c, of_bias, has_alpha, has_beta, checked.form),
            None if of_c is None else _bits(cupy, C, of_c, "C"),
            None if of_bias is None else _bits(cupy, options.bias, of_bias, "bias"),
            checked.alpha, checked.beta,
        )  # fmt: skip

    def __call__(self, sums: Any) -> Any:
        if self.c is None and self.bias is None and self.alpha is None:
            return convert(sums, self.form.source, self.form.result)
        return finish(self.form, sums, self.c, self.bias, self.alpha or 0, self.beta or 0)


def _empty_like(matrix: Any) -> Any:
    """Return an empty array with the dtype of an array on the GPU, which determines its format."""
    return np.empty((0,) * matrix.ndim, matrix.dtype) if is_cupy(matrix) else matrix


def _bits(
    cupy: Any, matrix: Any, fmt: Format, name: str, packed_axis: int | None = None, named: str | None = None
) -> Any:
    """Return the patterns of a matrix, one element an entry, on the GPU."""
    if not is_cupy(matrix):
        return cupy.asarray(matrix_bits(matrix, fmt, name, packed_axis=packed_axis, named=named))
    _check_dtype(matrix.dtype, fmt, name, packed_axis, named)
    if isinstance(matrix, DeviceArray):
        return matrix.patterns.view(fmt.storage)
    if matrix.dtype == np.bool_:
        return matrix.astype(fmt.storage)
    if named is not None and packed_axis is not None and fmt.bits in (1, 4) and matrix.dtype == np.uint8:
        return _unpacked(cupy, matrix, fmt, packed_axis, name)
    if matrix.dtype.itemsize == fmt.storage.itemsize and matrix.flags.c_contiguous:
        return matrix.view(fmt.storage)
    return cupy.ascontiguousarray(matrix).view(fmt.storage)


@cache
def _check_dtype(dtype: np.dtype[Any], fmt: Format, name: str, packed_axis: int | None, named: str | None) -> None:
    """Reject the dtypes that are illegal for NumPy arrays, with the same errors."""
    matrix_bits(np.empty((0, 0), dtype), fmt, name, packed_axis=packed_axis, named=named)


def _unpacked(cupy: Any, matrix: Any, fmt: Format, axis: int, name: str) -> Any:
    """Unpack bytes along the axis of k, the lowest k in the lowest bits."""
    if matrix.ndim < 2:
        raise ShapeError(f"{name} has shape {matrix.shape}; expected two axes: add an axis of length 1")
    lines = cupy.moveaxis(matrix, axis, -1)
    shifts = cupy.arange(0, 8, fmt.bits, dtype=np.uint8)
    bits = (lines[..., None] >> shifts) & np.uint8(fmt.mask)
    return cupy.moveaxis(bits.reshape(*lines.shape[:-1], -1), -1, axis)


def _sparse_sums(cupy: Any, accumulation: Accumulation, a: Any, b: Any, c: Any) -> Any:
    """Pack A, and multiply each of its rows by the matching rows of B, by a plain loop over k."""
    entry, product = accumulation.instruction, accumulation.product
    if accumulation.order is not None or entry is None:
        raise OptionError("a sparse A in CuPy arrays is multiplied by a plain loop over k; leave k_order out")
    parts = _parts(cupy, a, b, Run(0, a.shape[-1]), accumulation.step)
    b = parts.b
    packed, indices = _packed(cupy, entry, parts.a)
    d = cupy.empty(c.shape, product.d.storage)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    b = cupy.broadcast_to(b, (*batch, *b.shape[-2:]))
    rows = max(_GATHERED // (packed.shape[-1] * c.shape[-1] * prod(batch)), 1)
    for start in range(0, c.shape[-2], rows):
        here = slice(start, start + rows)
        index = indices[..., here, :, None]
        lines = (*batch, index.shape[-3])
        met = cupy.take_along_axis(
            cupy.broadcast_to(b[..., None, :, :], (*lines, *b.shape[-2:])),
            cupy.broadcast_to(index, (*lines, index.shape[-2], b.shape[-1])),
            axis=-2,
        )
        d[..., here, :] = matmul(product, packed[..., here, None, :], met, c[..., here, None, :])[..., 0, :]
    return d


def _packed(cupy: Any, entry: Instruction, a: Any) -> tuple[Any, Any]:
    """Pack a sparse A as `wmma_emu.warp.sparse.compress` does, on the GPU."""
    places, (*rows, k) = granularity_of(entry), a.shape
    width = places.width
    cells = a.reshape(*rows, k // places.chunk, places.chunk // width, width)
    there = (cells != 0).any(-1)
    kept, order = places.kept // width, cupy.arange(places.chunk // width)
    if bool((there.sum(-1) > kept).any()):
        compress(entry, a.get())  # raises the error
    # Non-zero cells before zero cells, and lower positions first.
    chosen = cupy.sort(cupy.argsort(cupy.where(there, order, order + len(order)), axis=-1)[..., :kept], axis=-1)
    across = cupy.broadcast_to(chosen[..., None], (*chosen.shape, width))
    packed = cupy.take_along_axis(cells, across, axis=-2).reshape(*rows, k // 2)
    starts = cupy.arange(k // places.chunk)[:, None, None] * places.chunk
    return packed, (across * width + cupy.arange(width) + starts).reshape(*rows, k // 2)


def _result_format(product: DotProduct, out_dtype: DTypeLike | None, has_any_dtype: bool) -> Format:
    if out_dtype is None:
        return product.d
    fmt = format_meant(out_dtype)
    is_known = fmt is not None and (has_any_dtype or dtype_of(fmt).type.__module__ == "numpy")
    if fmt is None or not is_known or not (fmt.is_float or fmt == product.d):
        raise ArgumentError(
            f"out_dtype={shorten(out_dtype)} is not a dtype of CuPy that {product.d} results are rounded to; "
            f"use {dtype_of(product.d)}, or another floating-point dtype of NumPy"
        )
    return fmt
