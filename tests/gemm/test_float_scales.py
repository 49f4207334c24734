# SPDX-License-Identifier: MIT
"""Float32 scales: a scalar reference of every granularity and order, exact sums, shapes, and what is refused."""

import re
import warnings
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.arithmetic import dot_product_of, reference
from wmma_emu.formats import format_of
from wmma_emu.gemm import SCALE_ORDERS, panels
from wmma_emu.instructions import lookup
from wmma_emu.scalar import reference as scalar

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")

E4M3, BF16, F32 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32)
UNSUPPORTED, MISMATCH = we.UnsupportedInstructionError, we.FragmentMismatchError
WGMMA = "wgmma.m64n8k32.f32.e4m3.e4m3"
M, K, N = 130, 300, 132
BLOCKS = 3
SHAPES = {
    "tensor": ((), ()),
    "row": ((M, 1), (1, N)),
    "row and tensor": ((M, 1), (1, 1)),
    "block of B": ((M, BLOCKS), (BLOCKS, 2)),
    "block of A": ((2, BLOCKS), (BLOCKS, N)),
    "blocks": ((2, BLOCKS), (BLOCKS, 2)),
    "vector": ((M, BLOCKS), (BLOCKS, N)),
}
GRANULARITY = {"row and tensor": "row", "block of A": "block", "block of B": "block", "blocks": "block"}
STEPS = {
    "factor": (lambda a, b, x: (mul(a, b), x)),
    "a_first": (lambda a, b, x: (mul(x, a), b)),
    "b_first": (lambda a, b, x: (mul(x, b), a)),
}
CASES = [
    (kind, order) for kind in SHAPES for order in SCALE_ORDERS if GRANULARITY.get(kind, kind) in order.granularities
]
f32 = format_of("f32")


def mul(x, y):
    return scalar.mul(x, y, f32)


def raw(x):
    return np.asarray(x).view(f"u{np.asarray(x).itemsize}")


def drawn(kind="tensor", seed=0, shape=(M, K, N)):
    rng = np.random.default_rng(seed)
    m, k, n = shape
    matrices = []
    for size in ((m, k), (k, n)):
        x = rng.integers(0, 256, size, np.uint8)
        x[(x & 0x7F) == 0x7F] = 0
        matrices.append(x.view(E4M3))
    scales = (np.asarray(rng.integers(0x3A000000, 0x3D000000, x, np.uint32)).view(F32) for x in SHAPES[kind])
    return (*matrices, *scales)


def scale_at(scale, axis, line, count, block):
    """The scale of a row of A (axis -2) or a column of B (axis -1) in one block of k."""
    if scale.ndim == 0:
        return int(raw(scale))
    lines, blocks = scale.shape[axis], scale.shape[-3 - axis]
    at = line if lines == count else line // 128 if lines > 1 else 0
    where = (at, block if blocks > 1 else 0)
    return int(raw(scale)[where if axis == -2 else where[::-1]])


def element(product, A, B, S, T, i, j, order):
    """One element, from +0 every 128 k, or over all of k: Python integers alone."""
    a, b = raw(A)[i].tolist(), raw(B)[:, j].tolist()
    in_blocks = {"block", "vector"} & set(order.granularities)
    total, step = 0, product.k
    for block, start in enumerate(range(0, K, 128 if in_blocks else K)):
        stop = min(start + (128 if in_blocks else K), K)
        x = 0
        for k in range(start, stop, step):
            left, right = a[k : min(k + step, stop)], b[k : min(k + step, stop)]
            fill = [0] * (step - len(left))
            x = reference.dot(product, left + fill, right + fill, x)
        scales = scale_at(S, -2, i, M, block), scale_at(T, -1, j, N, block)
        first, second = STEPS[order.steps](*scales, x)
        total = scalar.fma(first, second, total, f32) if in_blocks else mul(first, second)
    return total


@pytest.mark.parametrize(("kind", "order"), CASES, ids=[f"{kind}, {order.name}" for kind, order in CASES])
def test_every_order_equals_one_element_at_a_time(kind, order):
    A, B, S, T = drawn(kind, seed=len(kind))
    D = we.gemm(A, B, instr=WGMMA, scale_a=S, scale_b=T, scale_order=order.name)
    product = dot_product_of(lookup(WGMMA), "sm_90")
    for i, j in ((0, 0), (127, 127), (128, 128), (129, 131), (64, 128), (128, 3)):
        assert raw(D)[i, j] == element(product, A, B, S, T, i, j, order), (i, j)


@pytest.mark.parametrize("kind", SHAPES)
def test_the_default_order_is_the_first_one_that_applies(kind):
    A, B, S, T = drawn(kind)
    D = we.gemm(A, B, instr=WGMMA, scale_a=S, scale_b=T)
    by_name = we.gemm(A, B, instr=WGMMA, scale_a=S, scale_b=T, scale_order="cublas")
    np.testing.assert_array_equal(raw(D), raw(by_name))


def test_orders_differ_in_bits():
    A, B, S, T = drawn("vector")
    one, other = (raw(we.gemm(A, B, instr=WGMMA, scale_a=S, scale_b=T, scale_order=x)) for x in ("cublas", "deepgemm"))
    assert (one != other).mean() > 0.2


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("arch", [pytest.param("sm_89", marks=pytest.mark.slow), "sm_90", "sm_120"])
def test_where_nothing_is_rounded_it_is_the_exact_sum_of_scaled_products(kind, arch):
    rng = np.random.default_rng(7)
    A, B = (rng.integers(-2, 3, x).astype(F32).astype(E4M3) for x in ((M, K), (K, N)))
    S, T = (np.exp2(rng.integers(-3, 4, x)).astype(F32) for x in SHAPES[kind])
    D = we.gemm(A, B, arch=arch, scale_a=S, scale_b=T)
    a, b = A.astype(np.int8).tolist(), B.astype(np.int8).tolist()

    def value(scale, axis, line, count, k):
        bits = np.array(scale_at(scale, axis, line, count, k // 128), np.uint32)
        return Fraction(float(bits.view(F32)))

    for i, j in ((0, 0), (127, 131), (128, 127), (129, 128)):
        exact = sum(a[i][k] * b[k][j] * value(S, -2, i, M, k) * value(T, -1, j, N, k) for k in range(K))
        assert Fraction(float(D[i, j])) == exact


def test_the_sums_of_128_k_start_from_zero_and_are_fused_into_the_total():
    # 1 + 2**-24 is a tie that a rounded product would lose: the fused multiply-add sees 3 * (1/3 rounded).
    A, B = np.zeros((1, 256), E4M3), np.zeros((256, 1), E4M3)
    A[0, 0], A[0, 128], B[0, 0], B[128, 0] = 1, 3, 1, 1
    S, T = np.array([[1, 1 / 3]], F32), np.ones((2, 1), F32)
    D = we.gemm(A, B, instr=WGMMA, scale_a=S, scale_b=T)
    exact = 1 + 3 * Fraction(float(S[0, 1]))
    assert raw(D)[0, 0] == scalar.fma(0x40400000, int(raw(S)[0, 1]), 0x3F800000, f32)
    assert abs(Fraction(float(D[0, 0])) - exact) <= Fraction(1, 2**23)


def test_rows_are_meant_where_a_shape_may_mean_rows_and_128_k():
    A, B, _, _ = drawn(shape=(6, 100, 5), seed=3)
    rng = np.random.default_rng(4)
    S, T = (rng.integers(0x3A000000, 0x3D000000, x, np.uint32).view(F32) for x in ((6, 1), (1, 5)))
    x = we.gemm(A, B, instr=WGMMA)
    given = {"instr": WGMMA, "scale_a": S, "scale_b": T}
    products = np.vectorize(mul, otypes=[np.uint32])
    rows = products(products(raw(x), raw(T)), raw(S))
    np.testing.assert_array_equal(raw(we.gemm(A, B, **given)), rows)
    blocks = products(products(raw(S), raw(T)), raw(x))
    np.testing.assert_array_equal(raw(we.gemm(A, B, scale_order="deepgemm", **given)), blocks)


def test_a_python_number_is_rounded_once():
    A, B, _, _ = drawn(shape=(3, 40, 4))
    one = we.gemm(A, B, instr=WGMMA, scale_a=0.1, scale_b=3)
    other = we.gemm(A, B, instr=WGMMA, scale_a=np.float32(0.1), scale_b=np.array([3], F32))
    np.testing.assert_array_equal(raw(one), raw(other))
    np.testing.assert_array_equal(raw(we.gemm(A, B, instr=WGMMA, scale_a=np.float64(0.1), scale_b=3)), raw(one))
    huge = we.gemm(A, B, instr=WGMMA, scale_a=10**400, scale_b=1)
    assert not np.isfinite(huge).any()


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["numpy", "native"])
def test_engines_and_panels_do_not_show(engine, monkeypatch):
    pytest.importorskip("llvmlite") if engine == "native" else None
    for kind in ("row", "block of B", "vector"):
        A, B, S, T = drawn(kind)
        given = {"instr": WGMMA, "scale_a": S, "scale_b": T, "engine": engine}
        whole = we.gemm(A, B, **given)
        with monkeypatch.context() as patch:
            patch.setattr(panels, "PANEL_BYTES", 1 << 14)
            patch.setattr(panels, "_WIDTH", 50)
            np.testing.assert_array_equal(raw(we.gemm(A, B, **given)), raw(whole))


def test_leading_axes_broadcast():
    A, B, S, T = drawn("block of B")
    given = {"instr": WGMMA}
    two = np.stack([A, A[::-1]])
    both = np.stack([S, S[::-1]])
    D = we.gemm(two, B, scale_a=both, scale_b=T, **given)
    first = we.gemm(A, B, scale_a=S, scale_b=T, **given)
    np.testing.assert_array_equal(raw(D), raw(np.stack([first, first[::-1]])))
    np.testing.assert_array_equal(raw(we.gemm(A, B, scale_a=both[:, None], scale_b=T, **given))[0, 0], raw(first))


def test_sums_of_integers_are_scaled_in_float32():
    rng = np.random.default_rng(5)
    A, B = rng.integers(-128, 128, (4, 2048), np.int8), np.full((2048, 3), 127, np.int8)
    S, T = (rng.integers(0x3A000000, 0x3D000000, x, np.uint32).view(F32) for x in ((4, 1), (1, 3)))
    D = we.gemm(A, B, arch="sm_80", scale_a=S, scale_b=T)
    x = we.gemm(A, B, arch="sm_80").astype(np.float64).astype(F32)
    products = np.vectorize(mul, otypes=[np.uint32])
    assert D.dtype == F32
    np.testing.assert_array_equal(raw(D), products(products(raw(x), raw(T)), raw(S)))


def test_a_bias_and_the_rounding_to_d_follow_the_scales():
    A, B, S, T = drawn("row")
    bias = np.linspace(-2, 2, N).astype(F32)
    given = {"instr": WGMMA, "scale_a": S, "scale_b": T}
    scaled = we.gemm(A, B, **given)
    D = we.gemm(A, B, bias=bias, out_dtype=BF16, **given)
    np.testing.assert_array_equal(raw(D), raw((scaled + bias).astype(BF16)))
    C = np.ones((M, N), F32)
    D = we.gemm(A, B, C, beta=0.5, **given)
    np.testing.assert_array_equal(raw(D), raw(scaled + np.float32(0.5)))


def test_one_scale_for_each_matrix_is_a_part_of_alpha():
    A, B, S, T = drawn("tensor", seed=8)
    C = np.linspace(-99, 99, M * N).astype(F32).reshape(M, N)
    x = we.gemm(A, B, instr=WGMMA)
    D = we.gemm(A, B, C, instr=WGMMA, scale_a=S, scale_b=T, alpha=0.7, beta=0.3)
    factor = mul(mul(int(raw(np.float32(0.7))), int(raw(T))), int(raw(S)))
    for i, j in ((0, 0), (5, 7), (129, 131)):
        added = mul(int(raw(np.float32(0.3))), int(raw(C)[i, j]))
        assert raw(D)[i, j] == scalar.fma(factor, int(raw(x)[i, j]), added, f32)
    other = we.gemm(A, B, C, instr=WGMMA, scale_a=S, scale_b=T, alpha=0.7, beta=0.3, scale_order="vllm")
    assert (raw(D) != raw(other)).any()
    each = np.stack([S, S * 2]).reshape(2, 1, 1)
    both = we.gemm(np.stack([A, A]), B, instr=WGMMA, scale_a=each, scale_b=T)
    np.testing.assert_array_equal(raw(both)[0], raw(we.gemm(A, B, instr=WGMMA, scale_a=S, scale_b=T)))
    with pytest.raises(UNSUPPORTED, match="each matrix of the batch has its own scale"):
        we.gemm(np.stack([A, A]), B, C, instr=WGMMA, scale_a=each, scale_b=T, beta=1)


def test_each_range_of_k_is_scaled_separately():
    A, B, S, T = drawn("vector")
    given = {"instr": WGMMA, "scale_order": "deepgemm"}
    D = we.gemm(A, B, k_order=we.KOrder(splits=2), scale_a=S, scale_b=T, **given)
    parts = [we.gemm(A[:, x], B[x], scale_a=S[:, y], scale_b=T[y], **given)
             for x, y in ((slice(256), slice(2)), (slice(256, K), slice(2, 3)))]  # fmt: skip
    np.testing.assert_array_equal(raw(D), raw(parts[0] + parts[1]))
    cut = we.gemm(A, B, k_order=we.KOrder(cuts=(256,), promote_every=4), scale_a=S, scale_b=T, **given)
    np.testing.assert_array_equal(raw(cut), raw(D))


def test_nan_and_infinite_scales_are_legal():
    A, B, S, T = drawn("vector")
    S, T = S.copy(), T.copy()
    S[2, 1], T[0, 3] = np.nan, np.inf
    D = we.gemm(A, B, instr=WGMMA, scale_a=S, scale_b=T)
    assert set(raw(D)[2].tolist()) == {0x7FFFFFFF}
    assert not np.isfinite(D[:, 3]).any() and np.isfinite(np.delete(D, 2, 0)[:, 4:]).all()


def test_nothing_is_left_where_there_is_no_k_or_no_row():
    given = {"instr": WGMMA, "scale_b": np.ones((0, 4), F32)}
    D = we.gemm(np.zeros((3, 0), E4M3), np.zeros((0, 4), E4M3), scale_a=np.ones((3, 0), F32), **given)
    assert raw(D).tolist() == [[0] * 4] * 3
    empty = we.gemm(np.zeros((0, 8), E4M3), np.zeros((8, 4), E4M3), instr=WGMMA, scale_a=2.0, scale_b=1.0)
    assert empty.shape == (0, 4)


@pytest.mark.filterwarnings("error::wmma_emu.errors.UnverifiedModelWarning")
def test_what_is_measured_does_not_warn_and_what_is_not_does():
    A, B, S, T = drawn("vector", shape=(M, K, N))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        we.gemm(A, B, instr=WGMMA, scale_a=S, scale_b=T)
    with pytest.warns(we.UnverifiedModelWarning, match=r"in the order 'deepgemm', sum \+ \(a \* b\) \* x: literature"):
        we.gemm(A, B, instr=WGMMA, scale_a=S, scale_b=T, scale_order="deepgemm")
    with pytest.warns(we.UnverifiedModelWarning, match="measured on sm_90 only"):
        we.gemm(A, B, arch="sm_89", scale_a=S, scale_b=T)


@pytest.mark.filterwarnings("error::wmma_emu.errors.UnverifiedModelWarning")
def test_pairs_of_shapes_that_no_library_offered_are_not_called_measured():
    A, B, _, T = drawn("row")
    with pytest.warns(we.UnverifiedModelWarning, match="measured only for scales of rows with scales of columns"):
        D = we.gemm(A, B, instr=WGMMA, scale_a=2.0, scale_b=T)
    rows = we.gemm(A, B, instr=WGMMA, scale_a=np.full((M, 1), 2, F32), scale_b=T)
    np.testing.assert_array_equal(raw(D), raw(rows))
    one, other = np.full((-(-M // 128), BLOCKS), 0.3, F32), np.full((BLOCKS, -(-N // 128)), 0.7, F32)
    with pytest.warns(we.UnverifiedModelWarning, match="and of 128 x 128 with scales of 128 k"):
        D = we.gemm(A, B, instr=WGMMA, scale_a=one, scale_b=other)
    finer = we.gemm(A, B, instr=WGMMA, scale_a=np.full((M, BLOCKS), 0.3, F32), scale_b=other)
    np.testing.assert_array_equal(raw(D), raw(finer))


def test_rows_of_the_table_say_where_they_come_from():
    known = set()
    for row in SCALE_ORDERS:
        assert row.source and row.status in ("measured", "literature")
        for granularity in row.granularities:
            assert (row.name, granularity) not in known
            known.add((row.name, granularity))
    assert {granularity for _, granularity in known} == {"tensor", "row", "block", "vector"}


def ones(*shape):
    return np.ones(shape, F32)


REFUSALS = {
    "vector": (MISMATCH, "scale_a has one axis: scale_a[:, None] has two", {"scale_a": ones(M), "scale_b": ones(1, N)}),
    "vector of B": (MISMATCH, "scale_b has one axis: scale_b[None] has two",
                    {"scale_a": ones(M, 1), "scale_b": ones(N)}),
    "shape": (MISMATCH, f"legal shapes are one for each matrix, (); of rows ({M}, 1) and of columns (1, {N}); of 128 k "
              f"({M}, 3) and (3, {N}), or of 128 x 128 elements (2, 3) and (3, 2)",
              {"scale_a": ones(M, 4), "scale_b": ones(4, N)}),
    "kinds": (MISMATCH, "scales of 128 k must be combined with scales of 128 k: numpy.broadcast_to repeats coarser",
              {"scale_a": 1.0, "scale_b": ones(BLOCKS, N)}),
    "float64": (MISMATCH, "float64; kernel scales are float32: pass scale_a.astype(numpy.float32), which rounds once",
                {"scale_a": np.ones((M, 1)), "scale_b": ones(1, N)}),
    "float16": (MISMATCH, "float16; kernel scales are float32: pass scale_a.astype(numpy.float32); 8-bit block scales",
                {"scale_a": np.ones((M, 1), np.float16), "scale_b": ones(1, N)}),
    "one": (UNSUPPORTED, "scale_a was given without scale_b", {"scale_a": 1.0}),
    "order": (UNSUPPORTED, "scale_order='cutlas' does not exist; use 'cublas', 'cublas_blocks', 'torch', 'vllm', "
                           "'deepgemm', 'cutlass'",
              {"scale_a": 1.0, "scale_b": 1.0, "scale_order": "cutlas"}),
    "serves": (UNSUPPORTED, "scale_order='deepgemm' has no kernels with a scale for each tensor; use 'cublas', 'vllm'",
               {"scale_a": 1.0, "scale_b": 1.0, "scale_order": "deepgemm"}),
    "alone": (UNSUPPORTED, "scale_order='cublas' applies to float32 scales; without them, leave it out",
              {"scale_order": "cublas"}),
    "c": (UNSUPPORTED, "C was given without beta, but scaled accumulators start from +0",
          {"scale_a": 1.0, "scale_b": 1.0, "C": ones(M, N)}),
    "promotion": (UNSUPPORTED, "promote_every=2 contradicts scales of 128 k",
                  {"scale_a": ones(M, 3), "scale_b": ones(3, N), "k_order": we.KOrder(promote_every=2)}),
    "residue": (UNSUPPORTED, "residue='first' shifts the 128 k that share a scale",
                {"scale_a": ones(M, 3), "scale_b": ones(3, N), "k_order": we.KOrder(tile=64, residue="first")}),
    "cuts": (UNSUPPORTED, "ranges of multiples of 160 k (cuts) split 128 k that share a scale; the nearest is 128",
             {"scale_a": ones(M, 3), "scale_b": ones(3, N), "k_order": we.KOrder(cuts=(160,))}),
    "f16": (UNSUPPORTED, "scales of 128 k require float32 sums; this instruction's sums are f16",
            {"scale_a": ones(M, 3), "scale_b": ones(3, N), "instr": "m16n8k32.f16.e4m3.e4m3.f16"}),
    "integers": (MISMATCH, "is not a format that s32 results can be rounded to; use one of f64, f32",
                 {"scale_a": 1.0, "scale_b": 1.0, "out_dtype": np.int32, "instr": "m16n8k32.s32.s8.s8.s32"}),
    "f64": (UNSUPPORTED, "scales are float32, but the sums of this instruction are f64",
            {"scale_a": 1.0, "scale_b": 1.0, "instr": "m16n8k16.f64.f64.f64.f64"}),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_arguments_that_do_not_fit_are_refused_with_a_message(name):
    kind, message, options = REFUSALS[name]
    A, B, _, _ = drawn()
    if "s8" in options.get("instr", ""):
        A, B = A.view(np.int8), B.view(np.int8)
    if "f64" in options.get("instr", ""):
        A, B = A.astype(F32).astype(np.float64), B.astype(F32).astype(np.float64)
    with pytest.raises(kind, match=re.escape(message)):
        we.gemm(A, B, **{"instr": WGMMA, **options})


def test_explain_requires_the_sums_without_the_scales():
    A, B, S, T = drawn("row")
    with pytest.raises(UNSUPPORTED, match="which a kernel multiplies by such scales afterwards; leave them out"):
        we.explain(WGMMA, A, B, row=0, col=0, scale_a=S, scale_b=T)
