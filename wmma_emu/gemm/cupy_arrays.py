# SPDX-License-Identifier: MIT
"""Products of matrices on a GPU that stay there: CuPy arrays in, a CuPy array out."""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from wmma_emu.arithmetic import DotProduct
from wmma_emu.arithmetic.cupy_engine import convert, matmul, require_cupy
from wmma_emu.display import progress_bar
from wmma_emu.errors import ArgumentError, OptionError, ShapeError, UnsupportedInstructionError, shorten
from wmma_emu.formats import Format
from wmma_emu.formats.dtypes import dtype_of, format_meant
from wmma_emu.gemm.operands import check_c, is_cupy, missing_k, product_for, result_shape, step_of_k
from wmma_emu.gemm.options import Factors, ProductOptions
from wmma_emu.instructions import Instruction
from wmma_emu.layouts import granularity_of
from wmma_emu.warp import matrix_bits
from wmma_emu.warp.sparse import compress

_GATHERED = 1 << 26
"""The number of elements of B that are gathered at once for rows of a sparse A."""


def gemm_on_gpu(factors: Factors, C: Any | None, options: ProductOptions) -> Any:
    """Multiply as `wmma_emu.gemm` does, on the current GPU; the options are documented there.

    NumPy arrays among the factors are copied to the GPU. CuPy has no dtype for bf16 and FP8: unsigned arrays of the
    element's width are raw bits if ``instr`` is named. D is a CuPy array.
    """
    for name in ("like", "k_order", "alpha", "beta", "bias"):
        if getattr(options, name) is not None:
            raise OptionError(
                f"{name}={shorten(getattr(options, name))} is not supported for CuPy arrays, which are multiplied by a "
                "plain loop over k; "
                "copy them to the host, A.get() and B.get(): engine='cupy' multiplies those too"
            )
    cupy = require_cupy()
    A, B = factors.a, factors.b
    product, entry = product_for(factors._replace(a=_empty_like(A), b=_empty_like(B)), options)
    if product.scale is not None:
        raise UnsupportedInstructionError(
            f"{entry} reads block scales, which are not supported for CuPy arrays; copy A and B to the host"
        )
    result_format = _result_format(product, options.out_dtype)
    a = _bits(cupy, A, product.a, "A", -1, factors.a_format)
    b = _bits(cupy, B, product.b, "B", -2, factors.b_format)
    shape = result_shape(a.shape, b.shape)
    c = cupy.zeros((1, 1), product.c.storage)
    if C is not None:
        c = _bits(cupy, C, product.c, "C")
        shape = check_c(c.shape, shape)
    k = a.shape[-1]
    missing = missing_k(k, product, step_of_k(product, entry))
    if missing:
        a = cupy.pad(a, [*[(0, 0)] * (a.ndim - 1), (0, missing)])
        b = cupy.pad(b, [*[(0, 0)] * (b.ndim - 2), (0, missing), (0, 0)])
    c = cupy.broadcast_to(c, shape)
    with progress_bar(f"gemm {shape[-2]} x {shape[-1]} x {k}") as progress:
        if entry is not None and entry.is_sparse and a.size and c.size:
            d = _sparse(cupy, entry, product, a, b, c)
        else:
            d = matmul(product, a, b, c, progress)
    return convert(d, product.d, result_format).view(dtype_of(result_format))


def _empty_like(matrix: Any) -> Any:
    """Return an empty array with the dtype of a matrix, which determines its format."""
    return np.empty((0, 0), matrix.dtype) if is_cupy(matrix) else matrix


def _bits(
    cupy: Any, matrix: Any, fmt: Format, name: str, packed_axis: int | None = None, named: str | None = None
) -> Any:
    """Return the patterns of a matrix, one element an entry, on the GPU."""
    if not is_cupy(matrix):
        return cupy.asarray(matrix_bits(matrix, fmt, name, packed_axis=packed_axis, named=named))
    # The same dtypes are legal as for NumPy arrays, with the same errors.
    matrix_bits(np.empty((0, 0), matrix.dtype), fmt, name, packed_axis=packed_axis, named=named)
    if matrix.dtype == np.bool_:
        return matrix.astype(fmt.storage)
    if named is not None and packed_axis is not None and fmt.bits in (1, 4) and matrix.dtype == np.uint8:
        return _unpacked(cupy, matrix, fmt, packed_axis, name)
    if matrix.dtype.itemsize == fmt.storage.itemsize and matrix.flags.c_contiguous:
        return matrix.view(fmt.storage)
    return cupy.ascontiguousarray(matrix).view(fmt.storage)


def _unpacked(cupy: Any, matrix: Any, fmt: Format, axis: int, name: str) -> Any:
    """Unpack bytes along the axis of k, the lowest k in the lowest bits."""
    if matrix.ndim < 2:
        raise ShapeError(f"{name} has shape {matrix.shape}; expected two axes: add an axis of length 1")
    lines = cupy.moveaxis(matrix, axis, -1)
    shifts = cupy.arange(0, 8, fmt.bits, dtype=np.uint8)
    bits = (lines[..., None] >> shifts) & np.uint8(fmt.mask)
    return cupy.moveaxis(bits.reshape(*lines.shape[:-1], -1), -1, axis)


def _sparse(cupy: Any, entry: Instruction, product: DotProduct, a: Any, b: Any, c: Any) -> Any:
    """Pack A, and multiply each of its rows by the matching rows of B."""
    packed, indices = _packed(cupy, entry, a)
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


def _result_format(product: DotProduct, out_dtype: DTypeLike | None) -> Format:
    if out_dtype is None:
        return product.d
    fmt = format_meant(out_dtype)
    if fmt is None or dtype_of(fmt).type.__module__ != "numpy" or not (fmt.is_float or fmt == product.d):
        raise ArgumentError(
            f"out_dtype={shorten(out_dtype)} is not a dtype of CuPy that {product.d} results are rounded to; "
            f"use {dtype_of(product.d)}, or another floating-point dtype of NumPy"
        )
    return fmt
