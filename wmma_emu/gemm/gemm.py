# SPDX-License-Identifier: MIT
"""Matrices of any size, multiplied as a kernel does: instructions over k, an order of accumulation, an epilogue."""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from wmma_emu.arithmetic import DotProduct, check_engine, thread_count
from wmma_emu.display import progress_bar
from wmma_emu.errors import ArgumentError, shorten
from wmma_emu.formats import FORMATS, Format, format_of
from wmma_emu.formats.dtypes import DTYPE_NAMES, dtype_of, format_meant, formats_near
from wmma_emu.formats.libraries import takes_tensors
from wmma_emu.formats.memory_limit import require_memory
from wmma_emu.gemm.accumulation import Accumulation
from wmma_emu.gemm.dask_arrays import check_known, gemm_dask, is_dask
from wmma_emu.gemm.device_arrays import is_cupy
from wmma_emu.gemm.epilogue import Epilogue, epilogue_of
from wmma_emu.gemm.k_order import KOrder, Run, checked_order
from wmma_emu.gemm.operands import (
    AnyBoundInstruction,
    check_c,
    missing_k,
    product_for,
    result_shape,
    step_of_k,
)
from wmma_emu.gemm.options import Factors, ProductOptions
from wmma_emu.gemm.panels import PanelOperand, Parts, panel_size, panels
from wmma_emu.gemm.presets import with_preset
from wmma_emu.gemm.quantised import Matrix, unpack_quantised, with_tensor_scales
from wmma_emu.gemm.scales import ProductScales, check_scaled, scales_of
from wmma_emu.instructions import DEFAULT_ARCH, Arch, arch_of


@takes_tensors
def gemm(
    A: Matrix,
    B: Matrix,
    C: ArrayLike | None = None,
    *,
    instr: str | AnyBoundInstruction | None = None,
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
    model: str | None = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    scale_order: str | None = None,
    a_format: str | None = None,
    b_format: str | None = None,
) -> NDArray[Any]:
    """Multiply matrices of any size with a tensor core's bits: D = A B + C, or D = alpha A B + beta C + bias.

    Each element of D is the result of a kernel that iterates over k in ascending order, one instruction after another,
    where D of one is C of the next; ``k_order`` or ``like`` select another order. K is padded with +0 to a multiple of
    the instruction's k. However large the matrices, less than 512 MiB of additional memory are used, with up to 16
    threads.

    Parameters
    ----------
    A : array, shape (..., M, K)
        An array of NumPy, PyTorch (on the CPU) or JAX. The dtype determines the format: float16, ml_dtypes.bfloat16,
        float8_e4m3fn, float8_e5m2, float6_e3m2fn, float6_e2m3fn, float4_e2m1fn, int8, uint8, int4, uint4, float64; bool
        is b1, where ``a xor b`` is counted unless ``instr`` names ``.and.popc``; float32 only with ``instr`` named.
        Unsigned arrays of the element's width are raw bits if ``instr`` or ``like`` is named. A sparse instruction
        takes all of A, zeros included: of four elements in a row, two must be +0 (of tf32 one of two; of 4-bit elements
        two pairs of four). Or the result of `wmma_emu.quantise`, with its blocks along k, which includes block scales;
        tensor scales become alpha, their product rounded to float32.
    B : array, shape (..., K, N)
        Leading axes broadcast as in `numpy.matmul`. Dtypes as for A; also the result of `wmma_emu.quantise`.
    C : array, shape (..., M, N), optional
        Without ``beta``, the start value of the accumulators, in their format, so that alpha multiplies it too; +0 by
        default. With ``beta``, a term of the epilogue, and the accumulators start from +0: in any format that the
        epilogue's format represents exactly; unsigned arrays are raw bits of D's format.
    instr : str or BoundInstruction, optional
        A PTX mnemonic; ``"fma.f32"`` for the CUDA cores' float32 multiply-adds; or an instruction that is bound to a
        chip already, such as the result of ``with_model``. By default the `mma.sync` of the chip with the widest k and
        the widest accumulator; on sm_100 and sm_103 a `tcgen05.mma` for FP6, FP4 and block scales.
    arch : str
        The chip: ``"sm_80"``, ``"h200"``, ...
    out_dtype : dtype or str, optional
        Round the result again, to nearest even, as an epilogue does: to a dtype of NumPy, ml_dtypes, torch or JAX, its
        name, or the name of a format, ``"bf16"``, ``"e4m3"``; ``"tf32"`` gives float32. Overflow gives infinity; NaN in
        e4m3, which has no infinity; the largest number in e3m2, e2m3, e2m1.
    engine : {"auto", "reference", "numpy", "native", "cupy"}
        All give the same bits.
    threads : int, optional
        The largest number of threads, at most 256; by default every core, or as many as speed up the engine. For
        integers, and for sums without loss, which use NumPy's BLAS, threadpoolctl (extra ``fast``) applies this limit;
        without it, BLAS uses its own setting.
    k_order : KOrder, optional
        Tiles, split-K, stream-K, promotion to float32. A plain loop by default.
    alpha, beta : float, optional
        Numbers, rounded once from float64 to the epilogue's format; overflow gives infinity. With a beta of 0, C is not
        read.
    bias : array, shape (N,), optional
        One number for each column of D, added to every row; formats as for C with ``beta``.
    like : str, optional
        The name of a library's kernels, such as ``"cublas-sm90-bf16"``: chip, instruction, order of accumulation and
        epilogue, for the shapes that were recorded on hardware; see `wmma_emu.gemm.PRESETS`.
    lowering : str, optional
        The compiler whose sequence is used, if the chip executes the instruction as software.
    model : str, optional
        The entry of the table of models, if sources disagree, such as ``"F=34"``; by default the table's default.
    scale_a, scale_b : arrays, optional
        With 8-bit elements, the block scales of an instruction that reads them: (..., M, K / block) and (..., K /
        block, N), K / block rounded up; ml_dtypes.float8_e8m0fnu, float8_e4m3fn (not negative, and not -0), or raw
        uint8, whose sign bit ue4m3 does not read. Without ``instr``, dtype and shape select the instruction: ue8m0 for
        each 32 k, or ue4m3 for each 16 k of e2m1. The blocks that pad K have the pattern 0. With float32 elements, the
        scales by which a kernel multiplies sums: one for a matrix, as a number or with shape (); for rows (M, 1) and
        for columns (1, N); for 128 k, (M, K / 128) for A and (K / 128, N) for B, and either for 128 rows or columns, (M
        / 128, K / 128) and (K / 128, N / 128), each rounded up. Then C requires ``beta``.
    scale_order : str, optional
        The order in which float32 scales are multiplied, by the library whose kernels use it: ``"cublas"``,
        ``"deepgemm"``, ...; see Notes. By default the first that applies.
    a_format, b_format : str, optional
        Formats of packed 4-bit and 1-bit matrices, given as uint8, packed along k with the lowest k in the lowest bits.

    Returns
    -------
    array, shape (..., M, N)
        A new array in the dtype of D or ``out_dtype``. It is a tensor of torch, or an array of JAX, if an operand is
        one, with uint8 patterns for formats that have no dtype in the library. It is a Dask array if an operand is one.
        It is a CuPy array if A or B is one and ``engine="cupy"``: no data leaves the GPU then. Scales, and an epilogue
        or several ranges of k in float64 or s32, are not supported for CuPy arrays; bf16 and FP8, which CuPy lacks, are
        raw bits with ``instr`` named.

    Raises
    ------
    FragmentMismatchError
        If shapes, ranks or dtypes do not match. Vectors have no second axis: add one of length 1. If a tensor is not on
        the CPU or its gradient is recorded, for tracers, and for operands of two libraries.
    UnsupportedInstructionError
        If an instruction or a chip does not exist, for float32 without ``instr``, or if options contradict each other.

    Warns
    -----
    UnverifiedModelWarning
        If the model has no recording; if a shape of ``like`` was not recorded; if an order of scales was not measured
        on the chip.

    Notes
    -----
    The epilogue computes in float32 for f16 and f32 accumulators, in float64 for f64; for s32 accumulators modulo 2**32
    if D is s32 (alpha and beta are integers then), otherwise in float32, with the accumulators rounded to nearest even.
    Each operation rounds to nearest even:

    1. ``beta * C``, rounded.
    2. ``fma(alpha, accumulator, that product)``, rounded once; without C ``alpha * accumulator``.
    3. ``+ bias``, rounded.
    4. Rounded to D's format.

    Float32 scales are applied before the epilogue, each multiplication rounded to nearest even in float32. ``x`` is the
    sum of the tensor core; for scales of 128 k, the sum of 128 k, started at +0, and the ``+`` with its last
    multiplication is one fused multiply-add:

    ============================== =============================== =====================================
    scales a and b                 default, ``"cublas"``           others
    ============================== =============================== =====================================
    one each                       (a * b) * x                     vllm (x * b) * a
    of rows, of columns            (x * b) * a                     vllm the same; torch (x * a) * b
    of 128 k, one side of 128      sum + (a * b) * x               deepgemm, cutlass the same
    of 128 k of rows, of columns   sum + (x * a) * b               cutlass the same; deepgemm (a * b) * x
    ============================== =============================== =====================================

    The result replaces the accumulator above; but with one scale each, ``(alpha * b) * a`` replaces alpha, in one
    multiplication or multiply-add with x. The defaults are measured with `wgmma` on an H200
    (`wmma_emu.gemm.SCALE_ORDERS` has sources and status of all); name ``instr="wgmma.m64n8k32.f32.e4m3.e4m3"`` for its
    sums. If a shape could mean scales of rows or of 128 k (K up to 128), it means rows; with a ``scale_order`` that has
    only 128 k, it means 128 k. Scales of a single row or column for 128 k mean one side of 128.

    The epilogue matches cuBLAS on an H200 (docs/explanation/library-kernels.md), except for one case, which ``like``
    covers. Multiplying by exactly 1 and adding nothing change no bit.

    Examples
    --------
    A one, and sixteen products of 2**-26: below the last of the 25 bits that a Hopper GPU aligns to, so all are
    truncated:

    >>> import numpy as np, wmma_emu as we
    >>> A = np.full((1, 17), 2.0**-13, np.float16); A[0, 0] = 1
    >>> B = np.full((17, 1), 2.0**-13, np.float16); B[0, 0] = 1
    >>> we.gemm(A, B, arch="h200").view(np.uint32), (A.astype("f8") @ B).astype("f4").view(np.uint32)
    (array([[1065353216]], dtype=uint32), array([[1065353218]], dtype=uint32))

    A kernel that computes the one at the end of k in a separate range, and adds the two sums:

    >>> we.gemm(A[:, ::-1], B[::-1], k_order=we.KOrder(cuts=(16,))).view(np.uint32)
    array([[1065353218]], dtype=uint32)

    The result in another format, by its name or by its dtype in NumPy, ml_dtypes, torch or JAX; without operands of
    torch or JAX it is a NumPy array:

    >>> D = we.gemm(A, B, out_dtype="bf16")
    >>> type(D), D.dtype, hex(D.view(np.uint16)[0, 0])
    (<class 'numpy.ndarray'>, dtype(bfloat16), '0x3f80')

    FP8 with a scale for each 128 k of a row of A, and for each 128 x 128 block of B:

    >>> import ml_dtypes
    >>> A, B = np.ones((2, 256), ml_dtypes.float8_e4m3fn), np.ones((256, 3), ml_dtypes.float8_e4m3fn)
    >>> S, T = np.array([[1, 0.1], [2, 0.2]], np.float32), np.array([[1], [3]], np.float32)
    >>> D = we.gemm(A, B, instr="wgmma.m64n8k32.f32.e4m3.e4m3", scale_a=S, scale_b=T)
    >>> D[:, 0], hex(D.view(np.uint32)[0, 0])
    (array([166.4, 332.8], dtype=float32), '0x43266666')

    Results of `wmma_emu.quantise` as operands:

    >>> X = np.full((2, 64), 0.75, np.float32)
    >>> a, b = we.quantise.quantise(X, "mxfp8_e4m3"), we.quantise.quantise(X.T, "mxfp8_e4m3", axis=0)
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore", category=we.UnverifiedModelWarning):  # from papers
    ...     we.gemm(a, b, arch="sm_120")
    array([[36., 36.],
           [36., 36.]], dtype=float32)
    """
    engine = check_engine(engine)
    thread_count(threads)
    factors = unpack_quantised(Factors(A, B, scale_a, scale_b, a_format, b_format))
    options = ProductOptions(
        instr, arch, lowering, model, out_dtype, engine, threads, k_order, alpha, beta, bias, like, scale_order
    )
    return gemm_of(factors, C, with_tensor_scales(factors, C, options))


def gemm_of(factors: Factors, C: ArrayLike | None, options: ProductOptions) -> NDArray[Any]:
    """Multiply in the memory of this machine, on its GPU, or in the tasks of Dask, after resolving presets."""
    arrays = (factors.a, factors.b, factors.scale_a, factors.scale_b)
    on_gpu, in_pieces = any(map(is_cupy, arrays)), is_dask(*arrays, C, options.bias)
    stays_on_gpu = on_gpu and options.engine == "cupy"
    if factors.is_scaled or options.scale_order is not None:
        check_scaled(factors, options, in_pieces, on_gpu)
    elif options.like is not None:
        check_known(factors.a, factors.b, C if options.beta else None)
        options = with_preset(factors, C, options)
    if in_pieces:
        return gemm_dask(_gemm, factors, C, options)  # type: ignore[no-any-return]
    if stays_on_gpu:
        from wmma_emu.gemm.cupy_arrays import gemm_on_gpu  # imported late, because few programs need it

        return gemm_on_gpu(factors, C, options)  # type: ignore[no-any-return]
    return _gemm(factors, C, options)


def _report_share(progress: Callable[[float], None], first: float, share: float, x: float) -> None:
    progress(first + x * share)


def _gemm(factors: Factors, C: ArrayLike | None, options: ProductOptions) -> NDArray[Any]:
    """Multiply in the memory of this machine; presets are already resolved."""
    product, row = product_for(factors, options)
    a = PanelOperand(factors.a, product.a, "A", -1, factors.a_format)
    b = PanelOperand(factors.b, product.b, "B", -2, factors.b_format)
    shape, step = result_shape(a.shape, b.shape), step_of_k(product, row)
    sizes = (shape[-2], shape[-1], a.shape[-1])
    scales = scales_of(factors, options.scale_order, product, row, sizes, arch_of(options.arch).name)
    shape = scales.with_batch(shape)
    result_format = _result_format(product, options.out_dtype, scales.floats is not None)
    order = checked_order(scales.order(options.k_order, step), product, step, a.shape[-1])
    accumulation = Accumulation(product, row, step, order, options.engine, options.threads)
    source = accumulation.result_format if scales.floats is None else "f32"
    epilogue = scales.in_epilogue(epilogue_of(product, source, result_format, C, shape[-1], options), C, options.beta)
    c = PanelOperand(C, product.c, "C") if C is not None and options.beta is None else None
    for operand in (c, epilogue.c):
        shape = shape if operand is None else check_c(operand.shape, shape)
    missing_k(a.shape[-1], product, step)
    return _by_panels(accumulation, epilogue, a, b, c, scales, shape)


def _by_panels(
    accumulation: Accumulation,
    epilogue: Epilogue,
    a: PanelOperand,
    b: PanelOperand,
    c: PanelOperand | None,
    scales: ProductScales,
    shape: tuple[int, ...],
) -> NDArray[Any]:
    product, step, k = accumulation.product, accumulation.step, a.shape[-1]
    item = format_of(accumulation.result_format).storage.itemsize
    require_memory(shape, max(item, epilogue.result.storage.itemsize), "D")
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
                of_blocks = scales.of_run(index, run, step)
                return Parts(a.bits(index, run, step), b.bits(index, run, step), a.first(index, run), *of_blocks)

            promote = scales.promotion(index)
            sums = accumulation.panel(operands, np.broadcast_to(start, lengths), k, size.depth, report, promote)
            bits[index] = epilogue(scales.scaled(sums, accumulation.result_format, index), index)
            done += prod(lengths)
    return d


def _result_format(product: DotProduct, out_dtype: DTypeLike | None, is_scaled: bool) -> Format:
    if out_dtype is None:
        return format_of("f32") if is_scaled and product.d.name == "s32" else product.d
    fmt = format_meant(out_dtype)
    # All floats with a dtype of numbers: ue4m3, which is stored in uint8, is only for scales.
    legal = [x for x in FORMATS.values() if x.is_float and dtype_of(x).kind != "u"]
    if not (product.d.is_float or is_scaled):
        legal.append(product.d)
    if fmt not in legal:
        raise ArgumentError(
            f"out_dtype={shorten(out_dtype)} is not a format that {product.d} results can be rounded to; use one of "
            f"{', '.join(map(str, legal))}, {DTYPE_NAMES}{formats_near(out_dtype)}"
        )
    return fmt
