# SPDX-License-Identifier: MIT
"""Matrices of any size, by one instruction repeated over ascending k, as a plain kernel does."""

import sys
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from wmma_emu.arithmetic import DotProduct, check_engine, matmul
from wmma_emu.display import progress_bar
from wmma_emu.errors import FragmentMismatchError, shorten
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import dtype_of, format_of_dtype, from_bits
from wmma_emu.gemm.operands import check_c, missing_k, product_for, result_shape, step_of_k
from wmma_emu.gemm.sparse import matmul_over_k
from wmma_emu.instructions import DEFAULT_ARCH, Arch
from wmma_emu.scalar import convert
from wmma_emu.warp import matrix_bits

__all__ = ["gemm"]


def gemm(
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None = None,
    *,
    instr: str | None = None,
    arch: str | Arch = DEFAULT_ARCH,
    out_dtype: DTypeLike | None = None,
    engine: str = "auto",
    lowering: str | None = None,
    a_format: str | None = None,
    b_format: str | None = None,
) -> NDArray[Any]:
    """Multiply matrices of any size with a tensor core's bits: D = A B + C.

    Each element of D is what a kernel computes that walks over k in ascending order, one instruction after
    another, D of one being C of the next. K is padded with +0 to a multiple of the instruction's k.

    Parameters
    ----------
    A : array, shape (..., M, K)
        The dtype says the format: float16, ml_dtypes.bfloat16, float8_e4m3fn, float8_e5m2, int8, uint8, int4,
        uint4, float64; bool is b1, of which ``a xor b`` is counted, unless ``instr`` names ``.and.popc``; float32 only
        with ``instr`` named. Unsigned arrays of the element's width are
        raw bits, where ``instr`` is named. A sparse instruction takes all of A, zeros included: of four elements in a
        row two are +0 (of tf32 one of two; of 4-bit elements two pairs of four).
    B : array, shape (..., K, N)
    C : array, shape (..., M, N), optional
        In the accumulator's format; +0 if left out. Leading axes broadcast as in `numpy.matmul`.
    instr : str, optional
        A PTX mnemonic; ``"fma.f32"`` for the CUDA cores' float32 multiply-adds. By default the `mma.sync` of
        the chip with the widest k and the widest accumulator.
    arch : str
        The chip: ``"sm_80"``, ``"h200"``, ...
    out_dtype : dtype, optional
        Round the result once more, to nearest even, as an epilogue does. What is too large becomes infinity; NaN in
        e4m3, which has none; the largest number in e3m2, e2m3, e2m1.
    engine : {"auto", "reference", "numpy"}
    lowering : str, optional
        Which compiler's sequence, where the chip runs the instruction as software.
    a_format, b_format : str, optional
        Formats of packed 4-bit and 1-bit matrices, given as uint8, packed along k, lowest k lowest.

    Returns
    -------
    array, shape (..., M, N)
        Fresh, in the dtype of D or ``out_dtype``.

    Raises
    ------
    FragmentMismatchError
        For shapes, ranks and dtypes that do not fit.
    UnsupportedInstructionError
        For instructions and chips that do not exist, and float32 without ``instr``.

    Examples
    --------
    A one, and sixteen products of 2**-26: below the last of the 25 bits that a Hopper GPU aligns to, so all are cut:

    >>> import numpy as np, wmma_emu as we
    >>> A = np.full((1, 17), 2.0**-13, np.float16); A[0, 0] = 1
    >>> B = np.full((17, 1), 2.0**-13, np.float16); B[0, 0] = 1
    >>> we.gemm(A, B, arch="h200").view(np.uint32), (A.astype("f8") @ B).astype("f4").view(np.uint32)
    (array([[1065353216]], dtype=uint32), array([[1065353218]], dtype=uint32))
    """
    check_engine(engine)
    product, row = product_for(A, B, instr, arch, lowering, a_format, b_format)
    result_format = _result_format(product, out_dtype)
    a = matrix_bits(A, product.a, "A", packed_axis=-1, named=a_format)
    b = matrix_bits(B, product.b, "B", packed_axis=-2, named=b_format)
    shape = result_shape(a.shape, b.shape)
    c: Bits = np.zeros((1, 1), product.c.storage)
    if C is not None:
        c = matrix_bits(C, product.c, "C")
        shape = check_c(c.shape, shape)
    _check_size(shape, product)
    k = a.shape[-1]
    a, b = _pad_k(a, b, missing_k(k, product, step_of_k(product, row)))
    c = np.broadcast_to(c, shape)
    title = f"gemm {shape[-2]} x {shape[-1]} x {k}"
    with progress_bar(title) as progress:
        if row is not None and row.is_sparse:
            d = matmul_over_k(row, product, a, b, c, engine, progress)
        else:
            d = matmul(product, a, b, c, engine=engine, progress=progress)
    return from_bits(d if result_format == product.d else convert(d, product.d, result_format), result_format)


def _result_format(product: DotProduct, out_dtype: DTypeLike | None) -> Format:
    if out_dtype is None:
        return product.d
    try:
        fmt = format_of_dtype(np.dtype(out_dtype))
    except TypeError:
        fmt = None
    if fmt is None or not (fmt.is_float or fmt == product.d):
        raise FragmentMismatchError(
            f"out_dtype={shorten(out_dtype)} is not a dtype that {product.d} results are rounded to; "
            f"use {dtype_of(product.d)}, or a floating-point dtype of NumPy or ml_dtypes"
        )
    return fmt


def _check_size(shape: tuple[int, ...], product: DotProduct) -> None:
    if prod(shape) * product.d.storage.itemsize > sys.maxsize:
        raise FragmentMismatchError(f"D would have shape {shape}, more than any memory holds")


def _pad_k(a: Bits, b: Bits, missing: int) -> tuple[Bits, Bits]:
    """Fill the last instruction with products of +0, as a kernel does."""
    if not missing:
        return a, b
    a = np.concatenate([a, np.zeros((*a.shape[:-1], missing), a.dtype)], axis=-1)
    b = np.concatenate([b, np.zeros((*b.shape[:-2], missing, b.shape[-1]), b.dtype)], axis=-2)
    return a, b
