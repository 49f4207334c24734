# SPDX-License-Identifier: MIT
"""Whole matrices with block scales: instruction by instruction, element by element, and exactly if nothing is cut."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.arithmetic import dot_product_of, reference
from wmma_emu.formats import format_of
from wmma_emu.gemm import panels, sparse
from wmma_emu.instructions import lookup

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")

E4M3, E5M2, E2M1 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn
UE8M0 = ml_dtypes.float8_e8m0fnu
UNSUPPORTED, MISMATCH = we.UnsupportedInstructionError, we.FragmentMismatchError

WARP = "m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0"
NVF4 = "m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
KINDS = [
    ("sm_120", WARP),
    ("sm_120", "m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"),
    ("sm_121", NVF4),
    ("sm_100", "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X.m128n8k32.f32.e5m2.e3m2.ue8m0"),
    ("sm_103", "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X.m128n8k64.f32.e2m1.e2m1.ue8m0"),
    ("sm_100", "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X.m128n8k64.f32.e2m1.e2m1.ue4m3"),
]

# A model in which what fills K takes part in the alignment; of kind::mxf8f6f4 no block is all filled.
FILLED = [(*x, None) for x in KINDS] + [(*x, "zero groups aligned") for x in KINDS if "mxf4" in x[1]]


def short(name):
    return name.split("block_scale.")[-1] if isinstance(name, str) else str(name)


def drawn(row, m, k, n, seed=0, batch=()):
    """A and B as patterns, without NaN and infinity; their scales, some decades wide."""
    rng = np.random.default_rng(seed)
    matrices = []
    for fmt, shape in ((row.format("a"), (*batch, m, k)), (row.format("b"), (k, n))):
        x = rng.integers(0, fmt.mask + 1, shape, np.uint8)
        for special in [0x7F, 0xFF] if fmt.name == "e4m3" else [*range(0x7C, 0x80), *range(0xFC, 0x100)]:
            x[x == special] = 1
        matrices.append(x.view(ml_dtypes.uint4) if fmt.bits == 4 else x)
    blocks = -(-k // row.scale_block)
    low, high = (110, 144) if row.scale == "ue8m0" else (0x08, 0x70)
    scales = (rng.integers(low, high, shape, np.uint8) for shape in ((*batch, m, blocks), (blocks, n)))
    return (*matrices, *scales)


def raw(x):
    return x.view(np.uint8) if x.itemsize == 1 else x.view(np.uint32)


def padded(x, axis, length):
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, length - x.shape[axis])
    return np.pad(raw(x), widths).view(x.dtype)


@pytest.mark.parametrize(("arch", "instr"), KINDS, ids=short)
def test_a_product_is_one_instruction_after_another(arch, instr):
    row = lookup(instr)
    k = 3 * row.k
    A, B, S, T = drawn(row, row.m, k, row.n)
    ins = we.instruction(instr, arch=arch)
    d = np.random.default_rng(1).standard_normal((row.m, row.n)).astype(np.float32)
    D = we.gemm(A, B, d, instr=instr, arch=arch, scale_a=S, scale_b=T)
    v = row.scale_vec
    for i in range(3):
        here, blocks = slice(i * row.k, (i + 1) * row.k), slice(i * v, (i + 1) * v)
        d = ins(A[:, here], B[here], d, scale_a=S[:, blocks], scale_b=T[blocks])
    np.testing.assert_array_equal(raw(D), raw(d))


@pytest.mark.parametrize(("arch", "instr", "model"), FILLED, ids=short)
def test_what_fills_k_is_zero_and_so_are_the_patterns_of_its_scales(arch, instr, model):
    row = lookup(instr)
    k = row.k + row.scale_block // 2 + 5
    A, B, S, T = drawn(row, 3, k, 4, seed=2)
    if row.scale == "ue8m0":
        S = S - 40  # far below 1.0
    D = we.gemm(A, B, instr=instr, arch=arch, scale_a=S, scale_b=T, model=model)
    product = dot_product_of(row, arch, model=model)
    whole = 2 * row.k
    a, b = padded(A, 1, whole), padded(B, 0, whole)
    s, t = (padded(x, axis, 2 * row.scale_vec) for x, axis in ((S, 1), (T, 0)))
    for i, j in np.ndindex(3, 4):
        c = 0
        for x in range(2):
            ks, blocks = slice(x * row.k, (x + 1) * row.k), slice(x * row.scale_vec, (x + 1) * row.scale_vec)
            c = reference.dot(
                product, raw(a)[i, ks].tolist(), raw(b)[ks, j].tolist(), c,
                scale_a=s[i, blocks].tolist(), scale_b=t[blocks, j].tolist(),
            )  # fmt: skip
        assert raw(D)[i, j] == c


@pytest.mark.parametrize(("arch", "instr"), KINDS, ids=short)
def test_where_nothing_is_cut_it_is_the_exact_sum_of_scaled_products(arch, instr):
    row = lookup(instr)
    rng = np.random.default_rng(3)
    m, k, n = 4, 2 * row.k + 7, 5
    blocks = -(-k // row.scale_block)
    ones = {"e4m3": [0, 0x38, 0xB8], "e5m2": [0, 0x3C, 0xBC], "e3m2": [0, 0xC, 0x2C], "e2m1": [0, 2, 10]}
    A, B = (
        rng.choice(np.array(ones[fmt], np.uint8), shape) for fmt, shape in ((row.a, (m, k)), (row.b, (k, n)))
    )  # fmt: skip
    powers = {"ue8m0": [126, 127, 128], "ue4m3": [0x30, 0x38, 0x40]}[row.scale]
    S, T = (rng.choice(np.array(powers, np.uint8), shape) for shape in ((m, blocks), (blocks, n)))
    A, B = (x.view(ml_dtypes.uint4) if format_of(f).bits == 4 else x for x, f in ((A, row.a), (B, row.b)))
    D = we.gemm(A, B, instr=instr, arch=arch, scale_a=S, scale_b=T)

    for i, j in np.ndindex(m, n):
        total = sum(
            exact(raw(A)[i, x], row.a) * exact(raw(B)[x, j], row.b)
            * exact(S[i, x // row.scale_block], row.scale) * exact(T[x // row.scale_block, j], row.scale)
            for x in range(k)
        )  # fmt: skip
        assert Fraction(float(D[i, j])) == total


def exact(bits, fmt):
    """The number of a pattern of a narrow format: ml_dtypes widens exactly."""
    dtypes = {
        "e4m3": E4M3, "ue4m3": E4M3, "e5m2": E5M2, "e2m1": E2M1, "ue8m0": UE8M0, "e3m2": ml_dtypes.float6_e3m2fn,
    }  # fmt: skip
    return Fraction(float(np.array(bits, np.uint8).view(dtypes[fmt]).astype(np.float32)))


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["reference", "numpy", "native"])
def test_every_engine_gives_the_same_bits(engine):
    pytest.importorskip("llvmlite") if engine == "native" else None
    for arch, instr in KINDS[:3]:
        row = lookup(instr)
        A, B, S, T = drawn(row, 5, 100, 3, seed=4)
        given = {"instr": instr, "arch": arch, "scale_a": S, "scale_b": T}
        np.testing.assert_array_equal(
            raw(we.gemm(A, B, engine=engine, **given)), raw(we.gemm(A, B, **given)), strict=True
        )


def test_a_nan_scale_makes_nan_of_its_row_and_its_column():
    row = lookup(WARP)
    A, B, S, T = drawn(row, 4, 64, 6, seed=5)
    S[1, 1], T[0, 2] = 0xFF, 0xFF
    D = we.gemm(A, B, instr=WARP, arch="sm_120", scale_a=S.view(UE8M0), scale_b=T.view(UE8M0))
    expected = np.zeros((4, 6), bool)
    expected[1], expected[:, 2] = True, True
    np.testing.assert_array_equal(np.isnan(D), expected)
    assert set(raw(D)[expected].tolist()) == {0x7FFFFFFF}


@pytest.mark.parametrize("arch", ["sm_120", "sm_100"])
def test_packed_fp4_is_read_two_elements_a_byte(arch):
    row = lookup(NVF4)
    A, B, S, T = drawn(row, 6, 96, 4, seed=12)
    S, T = S.view(E4M3), T.view(E4M3)
    packed_a = raw(A)[:, ::2] | raw(A)[:, 1::2] << 4
    packed_b = raw(B)[::2] | raw(B)[1::2] << 4
    given = {"arch": arch, "scale_a": S, "scale_b": T}
    D = we.gemm(packed_a, packed_b, a_format="e2m1", b_format="e2m1", **given)
    np.testing.assert_array_equal(raw(D), raw(we.gemm(raw(A).view(E2M1), raw(B).view(E2M1), **given)))


def test_leading_axes_broadcast_those_of_scales_too():
    row = lookup(WARP)
    A, B, S, T = drawn(row, 3, 40, 2, seed=6, batch=(2,))
    given = {"instr": WARP, "arch": "sm_120"}
    D = we.gemm(A, B, scale_a=S, scale_b=T, **given)
    for i in range(2):
        np.testing.assert_array_equal(raw(D)[i], raw(we.gemm(A[i], B, scale_a=S[i], scale_b=T, **given)))
    of_scales = we.gemm(A[0], B, scale_a=S, scale_b=T[None], **given)
    assert of_scales.shape == (2, 3, 2)
    np.testing.assert_array_equal(raw(of_scales)[1], raw(we.gemm(A[0], B, scale_a=S[1], scale_b=T, **given)))


def test_panels_do_not_show(monkeypatch):
    row = lookup(NVF4)
    A, B, S, T = drawn(row, 9, 300, 7, seed=7)
    given = {"instr": NVF4, "arch": "sm_120", "scale_a": S, "scale_b": T}
    whole = we.gemm(A, B, **given)
    monkeypatch.setattr(panels, "PANEL_BYTES", 256)
    monkeypatch.setattr(panels, "_WIDTH", 4)
    np.testing.assert_array_equal(raw(we.gemm(A, B, **given)), raw(whole))


def test_an_order_of_k_takes_the_scales_along():
    row = lookup(WARP)
    A, B, S, T = drawn(row, 3, 128, 4, seed=8)
    given = {"instr": WARP, "arch": "sm_120"}
    halves = [we.gemm(A[:, x], B[x], scale_a=S[:, y], scale_b=T[y], **given)
              for x, y in ((slice(64), slice(2)), (slice(64, 128), slice(2, 4)))]  # fmt: skip
    both = {"scale_a": S, "scale_b": T, **given}
    np.testing.assert_array_equal(we.gemm(A, B, k_order=we.KOrder(splits=2), **both), halves[0] + halves[1])
    every_two = we.gemm(A, B, k_order=we.KOrder(promote_every=2), **both)
    np.testing.assert_array_equal(every_two, halves[0] + halves[1])
    A, B, S, T = drawn(row, 3, 100, 4, seed=8)
    with pytest.raises(UNSUPPORTED, match=r"starts a run at k = 4, inside 32 k that share a scale"):
        we.gemm(A, B, k_order=we.KOrder(tile=32, residue="first"), scale_a=S, scale_b=T, **given)


def test_a_sparse_a_has_scales_by_its_logical_k(monkeypatch):
    instr = "mma.sp::ordered_metadata.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0"
    row = lookup(instr)
    A, B, S, T = drawn(row, 20, 128, 8, seed=9)
    A.reshape(20, 32, 4)[:, :, 2:] = 0
    D = we.gemm(A, B, instr=instr, arch="sm_120", scale_a=S, scale_b=T)
    monkeypatch.setattr(sparse, "_GATHERED", 64 * 8 * 3)  # three rows of A at a time
    np.testing.assert_array_equal(raw(we.gemm(A, B, instr=instr, arch="sm_120", scale_a=S, scale_b=T)), raw(D))
    ins, d = we.instruction(instr, arch="sm_120"), None
    vec = row.scale_vec
    for i in range(128 // row.k):
        x, y = slice(i * row.k, (i + 1) * row.k), slice(i * vec, (i + 1) * vec)
        d = ins(A[:16, x], B[x], d, scale_a=S[:16, y], scale_b=T[y])
    np.testing.assert_array_equal(raw(D)[:16], raw(d))


def test_explain_fills_k_as_gemm_does_where_a_group_of_zeros_counts():
    # Scales far below 1.0: a filled block that had the scale 1.0 would be the largest term, and cut all others.
    for arch, instr, model in FILLED:
        if model is None:
            continue
        row = lookup(instr)
        A, B, S, T = drawn(row, 3, row.k + row.scale_block - 3, 4, seed=13)
        S = S - 40 if row.scale == "ue8m0" else S & 0x1F
        given = {"arch": arch, "scale_a": S, "scale_b": T, "model": model}
        D = we.gemm(A, B, instr=instr, **given)
        assert np.count_nonzero(D) > 9
        for i, j in np.ndindex(3, 4):
            e = we.explain(instr, A, B, row=i, col=j, **given)
            assert e.result == raw(D)[i, j]
            filled = row.scale_vec - 1
            assert e.scale_a[-filled:] == e.scale_b[-filled:] == (0,) * filled


def test_explain_is_the_element_that_gemm_computes():
    for arch, instr in KINDS:
        row = lookup(instr)
        A, B, S, T = drawn(row, 3, row.k + 9, 4, seed=10)
        given = {"arch": arch, "scale_a": S, "scale_b": T}
        e = we.explain(instr, A, B, row=2, col=3, **given)
        assert e.result == raw(we.gemm(A, B, instr=instr, **given))[2, 3] and e.instruction == row.mnemonic
        bound = we.instruction(instr, arch=arch)
        assert we.explain(bound, A, B, row=2, col=3, scale_a=S, scale_b=T) == e


def refusals():
    row = lookup(WARP)
    A, B, S, T = drawn(row, 3, 64, 4)
    here = {"instr": WARP, "arch": "sm_120"}
    f32 = np.ones((3, 1), np.float32), np.ones((1, 4), np.float32)
    a8, b8 = A.view(E4M3), np.zeros((64, 4), E4M3)
    return [
        ("missing", UNSUPPORTED, "scale_a and scale_b are missing: .* block scales of ue8m0.*quantise makes them",
         (A, B), here),
        ("one", UNSUPPORTED, "scale_a was given without scale_b", (A, B), {**here, "scale_a": S}),
        ("float", UNSUPPORTED, "do not have 8-bit elements: .* for each 32 k; .* or leave instr out", (A, B),
         {**here, "scale_a": f32[0], "scale_b": f32[1]}),
        ("shape", MISMATCH, r"scale_a has shape \(3, 3\); .* \(\.\.\., 3, 2\)", (A, B),
         {**here, "scale_a": np.ones((3, 3), np.uint8), "scale_b": T}),
        ("one row", MISMATCH, r"scale_a has shape \(1, 2\); .* \(\.\.\., 3, 2\)", (A, B),
         {**here, "scale_a": S[:1], "scale_b": T}),
        ("one column", MISMATCH, r"scale_b has shape \(2, 1\); .* \(\.\.\., 2, 4\)", (A, B),
         {**here, "scale_a": S, "scale_b": T[:, :1]}),
        ("transposed", MISMATCH, r"scale_b has shape \(4, 2\); .* scale_b\.T would fit", (A, B),
         {**here, "scale_a": S, "scale_b": T.T}),
        ("vector", MISMATCH, r"scale_a has shape \(3,\)", (A, B), {**here, "scale_a": S[:, 0], "scale_b": T}),
        ("mixed", MISMATCH, "one of scale_a and scale_b has 8-bit elements", (A, B),
         {**here, "scale_a": S, "scale_b": f32[1]}),
        ("dtype", MISMATCH, "scale_a is an array of int8.*ue8m0", (A, B),
         {**here, "scale_a": S.view(np.int8), "scale_b": T}),
        ("batch", MISMATCH, r"leading axes of the scales, \(2,\), \(3,\), do not broadcast", (A, B),
         {**here, "scale_a": np.stack([S] * 2), "scale_b": np.stack([T] * 3)}),
        ("none there", UNSUPPORTED, r"m16n8k32.row.col.f32.e4m3.e4m3.f32 has no block scales", (a8, b8),
         {"instr": "m16n8k32.f32.e4m3.e4m3.f32", "arch": "sm_90", "scale_a": S, "scale_b": T}),
        ("order", UNSUPPORTED, "scale_order='cublas' applies to float32 scales", (A, B),
         {**here, "scale_a": S, "scale_b": T, "scale_order": "cublas"}),
        ("like", UNSUPPORTED, "is recorded with scales of 1", (a8, b8),
         {"like": "cublas-sm90-e4m3", "scale_a": f32[0], "scale_b": f32[1]}),
        ("no preset", UNSUPPORTED, "like='cublas' is not a preset", (a8, b8),
         {"like": "cublas", "scale_a": f32[0], "scale_b": f32[1]}),
        ("bytes and dtype", MISMATCH, "raw bytes and scale_b of ue8m0; .* view the bytes as ml_dtypes.fl", (a8, b8),
         {"arch": "sm_120", "scale_a": S, "scale_b": T.view(UE8M0)}),
        ("few k", UNSUPPORTED, "raw bytes for each 12 k, ue8m0 or ue4m3; view them",
         (np.zeros((3, 12), E2M1), np.zeros((12, 4), E2M1)),
         {"arch": "sm_120", "scale_a": S[:, :1], "scale_b": T[:1]}),
        ("fma", UNSUPPORTED, r"fma\.f32 has no block scales", (np.ones((3, 64), "f4"), np.ones((64, 4), "f4")),
         {"instr": "fma.f32", "scale_a": S, "scale_b": T}),
    ]  # fmt: skip


@pytest.mark.parametrize(("kind", "message", "matrices", "options"), [x[1:] for x in refusals()],
                         ids=[x[0] for x in refusals()])  # fmt: skip
def test_arguments_that_do_not_fit_are_refused_with_a_message(kind, message, matrices, options):
    with pytest.raises(kind, match=message):
        we.gemm(*matrices, **options)


def test_the_sign_bit_of_a_ue4m3_scale_is_not_read():
    row = lookup(NVF4)
    A, B, S, T = drawn(row, 3, 64, 4, seed=11)
    given = {"instr": NVF4, "arch": "sm_120", "scale_b": T}
    plain = we.gemm(A, B, scale_a=S, **given)
    np.testing.assert_array_equal(raw(we.gemm(A, B, scale_a=S | 0x80, **given)), raw(plain))
    with pytest.raises(MISMATCH, match="negative e4m3 numbers"):
        we.gemm(A, B, scale_a=(S | 0x80).view(E4M3), **given)


def test_arrays_of_dask_are_refused():
    dask = pytest.importorskip("dask.array")
    row = lookup(WARP)
    A, B, S, T = drawn(row, 3, 64, 4)
    with pytest.raises(UNSUPPORTED, match="not supported for Dask arrays"):
        we.gemm(dask.from_array(A), B, instr=WARP, arch="sm_120", scale_a=S, scale_b=T)
