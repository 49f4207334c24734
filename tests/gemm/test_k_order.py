# SPDX-License-Identifier: MIT
"""Orders of accumulation: tiles, split-K, stream-K, promotion, each rounding where it says."""

import dataclasses
import tracemalloc
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from tests.gemm.one_element import element
from wmma_emu.arithmetic import FMA_F32, dot_product_of
from wmma_emu.formats import format_of
from wmma_emu.instructions import lookup
from wmma_emu.scalar import reference as scalar

ORDERS = [
    we.KOrder(),
    we.KOrder(tile=32, residue="first"),
    we.KOrder(tile=64, splits=3),
    we.KOrder(tile=64, residue="first", splits=3, split_multiple=8),
    we.KOrder(splits=5, reduction="descending"),
    we.KOrder(splits=7, split_multiple=16, reduction="pairwise"),
    we.KOrder(splits=5, partials="f16"),
    we.KOrder(splits=5, partials="bf16", reduction="serial"),
    we.KOrder(cuts=(64, 96, 192)),
    we.KOrder(cuts=(96,), partials="bf16", residue="first", tile=64),
    we.KOrder(promote_every=2),
    we.KOrder(promote_every=3, splits=2, tile=32, residue="first"),
]
SHAPE = (5, 231, 4)


def name_of(order):
    fields = dataclasses.fields(order)
    changed = [f"{x.name}={getattr(order, x.name)}" for x in fields if getattr(order, x.name) != x.default]
    return ",".join(changed) or "plain"


def drawn(dtype, seed=0):
    m, k, n = SHAPE
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    B[k // 2 :] *= -1
    A[:, ::7] *= 64  # large terms here and there, so that the order shows
    return A.astype(np.float32).astype(dtype), B.astype(np.float32).astype(dtype)


def raw(x):
    return x.view(f"u{x.dtype.itemsize}")


def expected(product, step, A, B, order, C=None, fmt="f32"):
    """All elements, one after another, rounded to D's format."""
    a, b = raw(A).tolist(), raw(B).T.tolist()
    wide = format_of("f32" if product.d.name == "f16" else product.d.name)
    c = np.zeros((len(a), len(b)), np.uint64) if C is None else raw(C)
    return [
        [
            scalar.convert(element(product, step, x, y, order, int(c[i, j])), wide, format_of(fmt))
            for j, y in enumerate(b)
        ]
        for i, x in enumerate(a)
    ]


@pytest.mark.parametrize("order", ORDERS, ids=name_of)
@pytest.mark.parametrize(
    "instr",
    ["m16n8k16.f32.f16.f16.f32", pytest.param("m16n8k8.f32.bf16.bf16.f32", marks=pytest.mark.slow)],
)
def test_every_order_equals_one_element_at_a_time(instr, order):
    A, B = drawn(np.float16 if "f16.f16" in instr and "bf16" not in instr else ml_dtypes.bfloat16)
    row = lookup(instr)
    D = we.gemm(A, B, instr=instr, k_order=order)
    assert raw(D).tolist() == expected(dot_product_of(row, "sm_90"), row.k, A, B, order)


@pytest.mark.parametrize("order", ORDERS, ids=name_of)
def test_the_first_range_of_k_starts_from_c(order):
    A, B = drawn(np.float16, seed=1)
    C = np.random.default_rng(3).standard_normal((5, 4)).astype(np.float32) * 100
    row = lookup("m16n8k16.f32.f16.f16.f32")
    D = we.gemm(A, B, C, k_order=order)
    assert raw(D).tolist() == expected(dot_product_of(row, "sm_90"), row.k, A, B, order, C)


@pytest.mark.parametrize("order", [x for x in ORDERS if not x.promote_every], ids=name_of)
def test_sums_of_f16_accumulators_are_added_in_float32_and_rounded_to_f16_at_the_end(order):
    A, B = drawn(np.float16, seed=2)
    row = lookup("m16n8k16.f16.f16.f16.f16")
    D = we.gemm(A, B, instr=row.mnemonic, k_order=order)
    assert D.dtype == np.float16
    assert raw(D).tolist() == expected(dot_product_of(row, "sm_90"), row.k, A, B, order, fmt="f16")


@pytest.mark.parametrize("order", [we.KOrder(tile=8, splits=4), we.KOrder(promote_every=32), we.KOrder(cuts=(5, 77)),
                                   we.KOrder(splits=3, reduction="serial", partials="f16")], ids=name_of)  # fmt: skip
def test_cuda_cores_may_be_ordered_too(order):
    A, B = drawn(np.float32, seed=4)
    D = we.gemm(A, B, instr="fma.f32", k_order=order)
    assert raw(D).tolist() == expected(FMA_F32, 1, A, B, order)


@pytest.mark.parametrize("reduction", ["ascending", "descending", "pairwise", "serial"])
def test_float64_sums_are_added_in_float64(reduction):
    A, B = drawn(np.float64, seed=5)
    row = lookup("m16n8k16.f64.f64.f64.f64")
    order = we.KOrder(splits=4, reduction=reduction)
    D = we.gemm(A, B, instr=row.mnemonic, k_order=order)
    assert raw(D).tolist() == expected(dot_product_of(row, "sm_90"), row.k, A, B, order, fmt="f64")


@pytest.mark.parametrize("order", [we.KOrder(tile=64, splits=3), we.KOrder(cuts=(32, 192), reduction="pairwise")],
                         ids=name_of)  # fmt: skip
def test_integers_are_the_same_in_every_order(order):
    rng = np.random.default_rng(0)
    A, B = rng.integers(-128, 128, (5, 231), np.int8), rng.integers(-128, 128, (231, 4), np.int8)
    C = rng.integers(-(2**31), 2**31, (5, 4)).astype(np.int32)
    np.testing.assert_array_equal(we.gemm(A, B, C, k_order=order), we.gemm(A, B, C))


def test_fp8_kernels_promote_every_128_k():
    A, B = drawn(ml_dtypes.float8_e4m3fn, seed=6)
    row = lookup("wgmma.m64n8k32.f32.e4m3.e4m3")
    order = we.KOrder(tile=128, promote_every=4)
    D = we.gemm(A, B, instr=row.mnemonic, k_order=order)
    assert raw(D).tolist() == expected(dot_product_of(row, "sm_90"), row.k, A, B, order)
    assert (D != we.gemm(A, B, instr=row.mnemonic)).any()


def test_a_sparse_a_is_ordered_by_its_own_k():
    A, B = drawn(np.float16, seed=7)
    A[:, 2::4] = A[:, 3::4] = 0
    parts = [we.gemm(A[:, a:b], B[a:b], instr="mma.sp.m16n8k32.f32.f16.f16.f32") for a, b in ((0, 128), (128, 231))]
    D = we.gemm(A, B, instr="mma.sp.m16n8k32.f32.f16.f16.f32", k_order=we.KOrder(tile=64, splits=2))
    np.testing.assert_array_equal(D, parts[0] + parts[1])


def test_each_matrix_of_a_batch_is_summed_as_it_would_be_alone():
    A, B = drawn(np.float16)
    A, B = np.stack([A, A[::-1]])[:, None], np.stack([B, B * 2, -B])
    order = we.KOrder(tile=64, residue="first", splits=3, promote_every=2)
    D = we.gemm(A, B, k_order=order)
    assert D.shape == (2, 3, 5, 4)
    for i, j in np.ndindex(2, 3):
        np.testing.assert_array_equal(D[i, j], we.gemm(A[i, 0], B[j], k_order=order))


@pytest.mark.parametrize("order", [we.KOrder(), we.KOrder(tile=64, residue="first"), we.KOrder(promote_every=2)],
                         ids=name_of)  # fmt: skip
def test_no_k_gives_c_back_in_any_order(order):
    C = np.array([[-0.0, 1.5]], np.float32)
    D = we.gemm(np.zeros((1, 0), np.float16), np.zeros((0, 2), np.float16), C, k_order=order)
    assert raw(D).tolist() == raw(C).tolist()


def test_packed_elements_may_be_cut_between_bytes_of_a_range():
    rng = np.random.default_rng(1)
    A, B = rng.integers(0, 16, (3, 150), np.uint8), rng.integers(0, 16, (150, 4), np.uint8)
    packed_a, packed_b = A[:, ::2] | A[:, 1::2] << 4, B[::2] | B[1::2] << 4
    order = we.KOrder(tile=64, residue="first", splits=3, split_multiple=5)
    D = we.gemm(packed_a, packed_b, arch="sm_80", a_format="u4", b_format="u4", k_order=order)
    np.testing.assert_array_equal(D, A.astype(int) @ B)


@pytest.mark.parametrize("k", [64, 128, 4096, 8192, 2001, 130])
@pytest.mark.parametrize("splits", [1, 2, 3, 6, 8])
def test_ranges_cover_k_once_in_whole_multiples(k, splits):
    ranges = we.KOrder(splits=splits, split_multiple=8).ranges(k)
    assert ranges[0][0] == 0 and ranges[-1][1] == k and len(ranges) <= splits
    assert all(one[1] == other[0] for one, other in pairwise(ranges))
    lengths = {b - a for a, b in ranges[:-1]} or {8}
    assert len(lengths) == 1 and lengths.pop() % 8 == 0


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"tile": -1}, "tile=-1 is not an integer of at least 0"),
        ({"splits": 0}, "splits=0 is not an integer of at least 1"),
        ({"splits": 2.0}, r"splits=2\.0 is not an integer"),
        ({"promote_every": True}, "promote_every=True is not an integer"),
        ({"residue": "middle"}, "residue='middle' does not exist; use 'last', 'first'"),
        ({"reduction": "atomic"}, "reduction='atomic' does not exist; use 'ascending'"),
        ({"partials": "f64"}, "partials='f64' does not exist; use '', 'f32', 'f16', 'bf16'"),
        ({"cuts": 64}, "cuts=64 is not a tuple of k"),
        ({"cuts": (64, 32)}, r"cuts=\(64, 32\) are not ascending; did you mean \(32, 64\)"),
        ({"cuts": (0, 32)}, "cuts=0 is not an integer of at least 1"),
        ({"cuts": (32,), "splits": 2}, r"splits=2 and cuts=\(32,\) both define the ends of ranges"),
        ({"cuts": (32,), "split_multiple": 8}, "split_multiple applies to splits"),
    ],
    ids=str,
)
def test_an_order_that_makes_no_sense_is_refused(keywords, message):
    with pytest.raises(we.UnsupportedInstructionError, match=message):
        we.KOrder(**keywords)


@pytest.mark.parametrize(
    ("keywords", "instr", "message"),
    [
        ({"tile": 40}, None, "tile=40 is not a multiple of the instruction's k, 16; the nearest is 32"),
        ({"cuts": (72,)}, None, "the cut 72 is not a multiple of the instruction's k, 16; the nearest is 80"),
        ({"cuts": (256,)}, None, r"cuts=\(256,\) exceed K = 231"),
        ({"splits": 16}, None, "K = 231 has 15 multiples of 16, too few for splits=16"),
        ({"promote_every": 2}, "m16n8k16.f16.f16.f16.f16", "this instruction's accumulators are f16"),
        ({"splits": 2}, "wmma.mma.m16n16k16.f16.f32", "C is f32 and D is f16"),
    ],
    ids=str,
)
def test_an_order_that_the_instruction_or_k_does_not_allow_is_refused(keywords, instr, message):
    A, B = drawn(np.float16)
    with pytest.raises(we.UnsupportedInstructionError, match=message):
        we.gemm(A, B, instr=instr, k_order=we.KOrder(**keywords))


def test_what_is_exact_is_not_rounded():
    A = np.ones((1, 64), np.int8)
    with pytest.raises(we.UnsupportedInstructionError, match="partials='f16' would round s32 sums"):
        we.gemm(A, A.T, k_order=we.KOrder(splits=2, partials="f16"))
    with pytest.raises(we.UnsupportedInstructionError, match="this instruction's accumulators are s32"):
        we.gemm(A, A.T, k_order=we.KOrder(promote_every=2))
    F = np.ones((1, 64))
    with pytest.raises(we.UnsupportedInstructionError, match="partials='f32' would round f64 sums"):
        we.gemm(F, F.T, k_order=we.KOrder(splits=2, partials="f32"))


def test_k_order_is_a_k_order():
    A = np.ones((1, 16), np.float16)
    with pytest.raises(we.UnsupportedInstructionError, match=r"k_order=4 is not a KOrder; pass, for example"):
        we.gemm(A, A.T, k_order=4)


def test_an_order_is_frozen_and_hashable():
    order = we.KOrder(cuts=[32, 64])
    assert order == we.KOrder(cuts=(32, 64)) and hash(order) == hash(we.KOrder(cuts=(32, 64)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        order.splits = 2


@pytest.mark.parametrize(
    ("k", "order"), [(98, we.KOrder(tile=64, residue="first")), (128, we.KOrder(splits=4, split_multiple=5))]
)
def test_a_sparse_a_is_not_cut_within_its_groups(k, order):
    A, B = np.zeros((1, k), np.float16), np.ones((k, 2), np.float16)
    A[0, 2::4] = 1
    instr = "mma.sp.m16n8k32.f32.f16.f16.f32"
    assert we.gemm(A, B, instr=instr)[0, 0] == len(A[0, 2::4])
    with pytest.raises(we.UnsupportedInstructionError, match="inside 4 k of which a sparse A keeps 2; make tiles"):
        we.gemm(A, B, instr=instr, k_order=order)


@pytest.mark.parametrize(
    "keywords",
    [{"k_order": we.KOrder(splits=2, partials="f16")}, {"k_order": we.KOrder(), "instr": "m16n8k16.f16.f16.f16.f16"}],
    ids=["stored as f16", "f16 accumulators"],
)
def test_sums_are_converted_some_elements_at_a_time(keywords):
    A, B = np.ones((700, 32), np.float16), np.ones((32, 1024), np.float16)
    we.gemm(A[:8], B, **keywords)
    tracemalloc.start()
    D = we.gemm(A, B, **keywords)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - D.nbytes < 40 * 2**20
