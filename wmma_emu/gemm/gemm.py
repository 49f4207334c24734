# SPDX-License-Identifier: MIT
"""Matrices of any size, as a kernel multiplies them: instructions over k, an order of accumulation, an epilogue."""

import sys
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from wmma_emu.arithmetic import DotProduct, check_engine, thread_count
from wmma_emu.display import progress_bar
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError, shorten
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.dtypes import dtype_of, format_of_dtype
from wmma_emu.gemm.accumulation import Accumulation, Parts
from wmma_emu.gemm.dask_arrays import check_known, gemm_dask, is_dask
from wmma_emu.gemm.epilogue import Epilogue, Form, epilogue_of
from wmma_emu.gemm.k_order import KOrder, Run
from wmma_emu.gemm.operands import check_c, missing_k, product_for, result_shape, step_of_k
from wmma_emu.gemm.panels import Operand, panel_size, panels
from wmma_emu.gemm.presets import with_preset
from wmma_emu.instructions import DEFAULT_ARCH, Arch

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
    threads: int | None = None,
    k_order: KOrder | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    bias: ArrayLike | None = None,
    like: str | None = None,
    lowering: str | None = None,
    a_format: str | None = None,
    b_format: str | None = None,
) -> NDArray[Any]:
    """Multiply matrices of any size with a tensor core's bits: D = A B + C, or D = alpha A B + beta C + bias.

    Each element of D is what a kernel computes that walks over k in ascending order, one instruction after
    another, D of one being C of the next; or in another order that ``k_order`` or ``like`` says. K is padded with +0
    to a multiple of the instruction's k. However large the matrices, less than 512 MiB are held beside
    them, with up to 16 threads.

    Parameters
    ----------
    A : array, shape (..., M, K)
        The dtype says the format: float16, ml_dtypes.bfloat16, float8_e4m3fn, float8_e5m2, int8, uint8, int4,
        uint4, float64; bool is b1, of which ``a xor b`` is counted, unless ``instr`` names ``.and.popc``; float32 only
        with ``instr`` named. Unsigned arrays of the element's width are
        raw bits, where ``instr`` or ``like`` is named. A sparse instruction takes all of A, zeros included: of four
        elements in a row two are +0 (of tf32 one of two; of 4-bit elements two pairs of four).
    B : array, shape (..., K, N)
        Leading axes broadcast as in `numpy.matmul`.
    C : array, shape (..., M, N), optional
        Without ``beta`` what the accumulators start from, in their format, so that alpha multiplies it too; +0 if left
        out. With ``beta`` a term of the epilogue, and the accumulators start from +0: in any format that the epilogue's
        has all numbers of, unsigned arrays being raw bits of D's.
    instr : str, optional
        A PTX mnemonic; ``"fma.f32"`` for the CUDA cores' float32 multiply-adds. By default the `mma.sync` of
        the chip with the widest k and the widest accumulator.
    arch : str
        The chip: ``"sm_80"``, ``"h200"``, ...
    out_dtype : dtype, optional
        Round the result once more, to nearest even, as an epilogue does. What is too large becomes infinity; NaN in
        e4m3, which has none; the largest number in e3m2, e2m3, e2m1.
    engine : {"auto", "reference", "numpy", "numba", "cupy"}
        All give the same bits.
    threads : int, optional
        The most threads that are used; by default every core, or as many as the engine gains from. Where integers, and
        sums that lose nothing, go through NumPy's BLAS, they are kept to it by threadpoolctl (extra ``fast``); without
        that, BLAS has as many as it is set to.
    k_order : KOrder, optional
        Tiles, split-K, stream-K, promotion to float32. A plain loop by default.
    alpha, beta : float, optional
        Numbers, rounded once to the epilogue's format (from float64). A beta of 0 reads no C.
    bias : array, shape (N,), optional
        One number for each column of D, added to every row; formats as of C with ``beta``.
    like : str, optional
        A library's kernels by name, ``"cublas-sm90-bf16"``: chip, instruction, order of accumulation and epilogue of
        the shapes that were recorded on hardware; see `wmma_emu.gemm.PRESETS`.
    lowering : str, optional
        Which compiler's sequence, where the chip runs the instruction as software.
    a_format, b_format : str, optional
        Formats of packed 4-bit and 1-bit matrices, given as uint8, packed along k, lowest k lowest.

    Returns
    -------
    array, shape (..., M, N)
        Fresh, in the dtype of D or ``out_dtype``. A Dask array if an operand is one. A CuPy array if A or B is one and
        ``engine="cupy"``: nothing leaves the GPU then. Such arrays take a plain loop over k, without ``k_order``,
        ``alpha``, ``beta``, ``bias`` and ``like``; bf16 and FP8, which CuPy lacks, as raw bits with ``instr`` named.

    Raises
    ------
    FragmentMismatchError
        For shapes, ranks and dtypes that do not fit. Vectors have no second axis: add one of length 1.
    UnsupportedInstructionError
        For instructions and chips that do not exist, float32 without ``instr``, options that contradict each other.

    Warns
    -----
    UnverifiedModelWarning
        For a model that no recording backs; for a shape of ``like`` that was not recorded.

    Notes
    -----
    The epilogue computes in float32 for f16 and f32 accumulators, in float64 for f64; for s32 accumulators modulo 2**32
    where D is s32 (alpha and beta are integers then), in float32 of the accumulators rounded to nearest even
    elsewhere. Each operation rounds to nearest even:

    1. ``beta * C``, rounded.
    2. ``fma(alpha, accumulator, that)``, rounded once; without C ``alpha * accumulator``.
    3. ``+ bias``, rounded.
    4. Rounded to D's format.

    That is what cuBLAS computes on an H200 (docs/explanation/library-kernels.md), but for one case that ``like`` knows.
    Multiplying by exactly 1 and adding nothing change no bit.

    Examples
    --------
    A one, and sixteen products of 2**-26: below the last of the 25 bits that a Hopper GPU aligns to, so all are cut:

    >>> import numpy as np, wmma_emu as we
    >>> A = np.full((1, 17), 2.0**-13, np.float16); A[0, 0] = 1
    >>> B = np.full((17, 1), 2.0**-13, np.float16); B[0, 0] = 1
    >>> we.gemm(A, B, arch="h200").view(np.uint32), (A.astype("f8") @ B).astype("f4").view(np.uint32)
    (array([[1065353216]], dtype=uint32), array([[1065353218]], dtype=uint32))

    A kernel that takes the one at the end of k from a block of its own, and adds the two sums:

    >>> we.gemm(A[:, ::-1], B[::-1], k_order=we.KOrder(cuts=(16,))).view(np.uint32)
    array([[1065353218]], dtype=uint32)
    """
    check_engine(engine)
    thread_count(threads)
    options: dict[str, Any] = {
        "instr": instr, "arch": arch, "out_dtype": out_dtype, "engine": engine, "threads": threads, "k_order": k_order,
        "alpha": alpha, "beta": beta, "lowering": lowering, "a_format": a_format, "b_format": b_format,
    }  # fmt: skip
    if like is not None and engine == "cupy" and _is_on_gpu(A, B):
        raise UnsupportedInstructionError(
            f"like={shorten(like)} is not there for CuPy arrays, of which a plain loop over k is computed; "
            "bring them to the host, A.get() and B.get(): engine='cupy' multiplies those too"
        )
    if like is not None:
        check_known(A, B, C if beta else None)
        options = with_preset(like, A, B, C, bias, options)
    if is_dask(A, B, C, bias):
        return gemm_dask(_gemm, A, B, C, bias, options)  # type: ignore[no-any-return]
    if engine == "cupy" and _is_on_gpu(A, B):
        from wmma_emu.gemm.cupy_arrays import gemm_on_gpu

        return gemm_on_gpu(A, B, C, **_of_gpu(options, bias))  # type: ignore[no-any-return]
    return _gemm(A, B, C, bias=bias, **options)


def _report_share(progress: Callable[[float], None], first: float, share: float, x: float) -> None:
    """Report a share of one panel as a share of all."""
    progress(first + x * share)


def _is_on_gpu(A: ArrayLike, B: ArrayLike) -> bool:
    from wmma_emu.gemm.cupy_arrays import is_cupy

    return is_cupy(A) or is_cupy(B)


def _of_gpu(options: dict[str, Any], bias: ArrayLike | None) -> dict[str, Any]:
    """The keywords that products of arrays on a GPU have; the others must not be given."""
    for name, given in (*((x, options[x]) for x in ("k_order", "alpha", "beta")), ("bias", bias)):
        if given is not None:
            raise UnsupportedInstructionError(
                f"{name}={shorten(given)} is not there for CuPy arrays, of which a plain loop over k is computed; "
                "bring them to the host, A.get() and B.get(): engine='cupy' multiplies those too"
            )
    return {x: options[x] for x in ("instr", "arch", "out_dtype", "lowering", "a_format", "b_format")}


def _gemm(
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None = None,
    *,
    bias: ArrayLike | None = None,
    instr: str | None,
    arch: str | Arch,
    out_dtype: DTypeLike | None,
    engine: str,
    threads: int | None,
    k_order: KOrder | None,
    alpha: float | None,
    beta: float | None,
    lowering: str | None,
    a_format: str | None,
    b_format: str | None,
    form: Form = "fma_accumulator",
) -> NDArray[Any]:
    """Multiply in the memory of this machine, presets being resolved."""
    product, row = product_for(A, B, instr, arch, lowering, a_format, b_format)
    result_format = _result_format(product, out_dtype)
    a, b = Operand(A, product.a, "A", -1, a_format), Operand(B, product.b, "B", -2, b_format)
    shape, step = result_shape(a.shape, b.shape), step_of_k(product, row)
    order = _checked_order(k_order, product, step, a.shape[-1])
    accumulation = Accumulation(product, row, step, order, engine, threads)
    epilogue = epilogue_of(product, accumulation.result_format, result_format, alpha, beta, C, bias, shape[-1], form)
    c = Operand(C, product.c, "C") if C is not None and beta is None else None
    for operand in (c, epilogue.c):
        shape = shape if operand is None else check_c(operand.shape, shape)
    missing_k(a.shape[-1], product, step)
    return _by_panels(accumulation, epilogue, a, b, c, shape)


def _by_panels(
    accumulation: Accumulation, epilogue: Epilogue, a: Operand, b: Operand, c: Operand | None, shape: tuple[int, ...]
) -> NDArray[Any]:
    product, step, k = accumulation.product, accumulation.step, a.shape[-1]
    item = format_of(accumulation.result_format).storage.itemsize
    _check_size(shape, max(item, epilogue.result.storage.itemsize))
    widest = max(product.a.storage.itemsize, product.b.storage.itemsize)
    size = panel_size(shape, k, step, item, widest, accumulation.is_sparse)
    d = np.empty(shape, dtype_of(epilogue.result))
    bits, done = d.view(epilogue.result.storage), 0
    with progress_bar(f"gemm {shape[-2]} x {shape[-1]} x {k}") as progress:
        for index in panels(shape, size):
            lengths = tuple(x.stop - x.start for x in index)
            start = np.zeros((1, 1), product.c.storage) if c is None else c.bits(index)
            report = None
            if progress is not None:
                first, share = done / prod(shape), prod(lengths) / prod(shape)
                report = partial(_report_share, progress, first, share)

            def operands(run: Run, index: tuple[slice, ...] = index) -> Parts:
                return Parts(a.bits(index, run, step), b.bits(index, run, step), a.first(index, run))

            sums = accumulation.panel(operands, np.broadcast_to(start, lengths), k, size.depth, report)
            bits[index] = epilogue(sums, index)
            done += prod(lengths)
    return d


def _checked_order(order: KOrder | None, product: DotProduct, step: int, k: int) -> KOrder | None:
    if order is None:
        return None
    if not isinstance(order, KOrder):
        raise UnsupportedInstructionError(f"k_order={shorten(order)} is no KOrder; pass wmma_emu.KOrder(splits=4), say")
    order.check(product, step)
    order.ranges(k, step)
    return order


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


def _check_size(shape: tuple[int, ...], item_bytes: int) -> None:
    if prod(shape) * item_bytes > sys.maxsize:
        raise FragmentMismatchError(f"D would have shape {shape}, more than any memory holds")
