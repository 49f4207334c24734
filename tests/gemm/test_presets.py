# SPDX-License-Identifier: MIT
"""`like=`: which kernels a name means, what it refuses, and when it warns."""

import re
import warnings

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.formats.dtypes import dtype_of
from wmma_emu.gemm import PRESETS
from wmma_emu.instructions import lookup
from wmma_emu.scalar import convert, fma, mul

NAMES = [row.name for row in PRESETS]
BF16 = ml_dtypes.bfloat16


def normal(shape, dtype=BF16, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32).astype(dtype)


def silent():
    return warnings.catch_warnings(action="error")


def test_names_are_distinct_and_rows_are_complete():
    assert len(set(NAMES)) == len(NAMES)
    for row in PRESETS:
        assert row.source and row.status == "recorded" and row.recorded and row.outs
        instructions = {row.instr, *(x.instr for x in row.recorded if x.instr)}
        for instr in instructions:
            found = lookup(instr, row.arch)
            assert found.a == found.b == row.a
            for x in row.recorded:
                x.order.check(we.instruction(found.mnemonic, arch=row.arch).product, found.k)
        claims = [(shape, out, epilogue, n) for x in row.recorded for shape in x.shapes for epilogue in x.epilogues
                  for out in row.outs if x.serves(out) for n in x.batches]  # fmt: skip
        assert len(set(claims)) == len(claims)
        assert {out for _, out, _, _ in claims} == set(row.outs)


def test_orders_fit_their_shapes():
    for row in PRESETS:
        for x in row.recorded:
            for _, _, k in x.shapes:
                assert len(x.order.ranges(k, lookup(x.instr or row.instr).k)) == x.order.splits


def test_a_recorded_product_has_chip_order_and_format_without_a_warning():
    A, B = normal((64, 8192)), normal((8192, 128), seed=1)
    with silent():
        D = we.gemm(A, B, like="cublas-sm90-bf16")
    assert D.dtype == BF16
    order = we.KOrder(tile=64, splits=6)
    np.testing.assert_array_equal(D, we.gemm(A, B, arch="h200", k_order=order, out_dtype=BF16))
    assert (D != we.gemm(A, B, arch="h200", out_dtype=BF16)).any()


def test_a_split_product_adds_c_by_another_multiply_add():
    A, B, order = normal((64, 8192), np.float16), normal((8192, 128), np.float16, 1), we.KOrder(tile=64, splits=6)
    accumulators = we.gemm(A, B, k_order=order)
    C = (accumulators * np.float32(-0.3 / 0.7)).astype(np.float16)  # little is left, so that the order shows
    with silent():
        D = we.gemm(A, B, C, like="cublas-sm90-f16", alpha=0.3, beta=0.7)
    alpha, beta = (np.array([x], np.float32).view(np.uint32) for x in (0.3, 0.7))
    x, y = (z.view(np.uint32) for z in (accumulators, C.astype(np.float32)))
    expected = convert(fma(beta, y, mul(alpha, x, "f32"), "f32"), "f32", "f16")
    np.testing.assert_array_equal(D.view(np.uint16), expected)
    plain = we.gemm(A, B, C, k_order=order, alpha=0.3, beta=0.7, out_dtype=np.float16)
    assert (plain != D).any()


def test_a_beta_of_one_adds_c_after_rounding():
    A, B, C = normal((128, 256)), normal((256, 128), seed=1), normal((128, 128), seed=2)
    with silent():
        D = we.gemm(A, B, C, like="cublas-sm90-bf16", beta=1)
    # The sum of two bf16 numbers, added in float32, rounds to bf16 as if it had been added in bf16.
    rounded = we.gemm(A, B, arch="sm_90", out_dtype=BF16)
    np.testing.assert_array_equal(D, (rounded.astype(np.float32) + C.astype(np.float32)).astype(BF16))


def test_fp8_is_promoted_or_not_and_its_d_may_be_float32():
    A, B = normal((64, 256), ml_dtypes.float8_e4m3fn), normal((256, 64), ml_dtypes.float8_e4m3fn, 1)
    with silent():
        precise = we.gemm(A, B, like="cublas-sm90-e4m3", out_dtype=np.float32)
        fast = we.gemm(A, B, like="cublas-sm90-e4m3-fast", out_dtype=np.float32)
        assert we.gemm(A, B, like="cublas-sm90-e4m3").dtype == BF16
    assert (precise != fast).any()


@pytest.mark.parametrize(
    ("a", "b", "keywords", "what", "nearest"),
    [
        ((64, 64), (64, 72), {}, "64x72x64 (MxNxK) to bf16", "64x64x64 (MxNxK) to bf16"),
        ((64, 8000), (8000, 128), {}, "64x128x8000 (MxNxK) to bf16", "64x128x8192 (MxNxK) to bf16"),
        ((2, 64, 64), (64, 64), {}, "2 products of 64x64x64 (MxNxK) to bf16", "64x64x64"),
        ((64, 64), (64, 64), {"alpha": 2}, "64x64x64 (MxNxK) to bf16 with alpha", "64x64x64"),
        (
            (64, 64),
            (64, 64),
            {"bias": normal(64)},
            "64x64x64 (MxNxK) to bf16 with bias",
            "128x128x256 (MxNxK) to bf16 with bias",
        ),
    ],
    ids=["n", "k", "batch", "alpha", "bias"],
)
def test_what_was_not_recorded_warns_with_the_nearest_that_was(a, b, keywords, what, nearest):
    A, B = normal(a), normal(b)
    message = rf"is not recorded for {re.escape(what)},.*the nearest recorded product is {re.escape(nearest)}"
    with pytest.warns(we.UnverifiedModelWarning, match=message) as caught:
        D = we.gemm(A, B, like="cublas-sm90-bf16", **keywords)
    assert [x.filename for x in caught] == [__file__]
    plain = we.gemm(A, B, arch="sm_90", out_dtype=BF16, **keywords)
    np.testing.assert_array_equal(D, plain)


def test_one_matrix_with_leading_axes_does_not_count_as_a_batch():
    A = normal((1, 1, 64, 64))
    with silent():
        assert we.gemm(A, A, like="cublas-sm90-bf16").shape == (1, 1, 64, 64)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"arch": "sm_80"}, "arch='sm_80' contradicts like='cublas-sm90-bf16', a kernel of sm_90"),
        ({"instr": "m16n8k8.f32.bf16.bf16.f32"}, "instr='m16n8k8.f32.bf16.bf16.f32' contradicts.*which runs m16n8k16"),
        ({"instr": "fma.f32"}, "instr='fma.f32' contradicts"),
        ({"k_order": we.KOrder()}, "k_order=.* contradicts .*its own for each shape"),
        ({"out_dtype": np.float32}, "out_dtype=.*float32.* contradicts .*whose D is bf16"),
        ({"out_dtype": "nonsense"}, "out_dtype='nonsense' contradicts"),
        ({"lowering": "ptxas-12.8"}, "lowering='ptxas-12.8' contradicts"),
        ({"a_format": "s4"}, "a_format='s4' contradicts"),
        ({"C": normal((64, 64))}, "C was given without beta"),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else "",
)
def test_options_that_contradict_a_preset_are_refused(keywords, message):
    A = normal((64, 64))
    with pytest.raises(we.UnsupportedInstructionError, match=message):
        we.gemm(A, A, like="cublas-sm90-bf16", **keywords)


def test_options_that_say_the_same_are_taken():
    A = normal((64, 64))
    with silent():
        we.gemm(A, A, like="cublas-sm90-bf16", arch="h200", instr="m16n8k16.f32.bf16.bf16.f32", out_dtype=BF16,
                lowering="native", engine="numpy", threads=1)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "hint"), [("cublas-sm90-b16", "did you mean 'cublas-sm90-bf16'"), (3, "the presets are")]
)
def test_an_unknown_name_is_answered_with_the_nearest(name, hint):
    A = normal((64, 64))
    with pytest.raises(we.UnsupportedInstructionError, match=rf"like={name!r} is not a preset; {hint}"):
        we.gemm(A, A, like=name)


@pytest.mark.parametrize("row", PRESETS, ids=lambda row: row.name)
def test_matrices_of_another_format_are_refused(row):
    A = np.ones(row.recorded[0].shapes[0][:2], np.float64)
    with warnings.catch_warnings(action="ignore"), pytest.raises(we.FragmentMismatchError, match="float64"):
        we.gemm(A, A.T, like=row.name)
    m, n, k = row.recorded[0].shapes[0]
    with silent():
        assert we.gemm(np.ones((m, k), dtype_of(row.a)), np.ones((k, n), dtype_of(row.a)), like=row.name).shape == (
            m,
            n,
        )


def test_vectors_are_refused_as_without_a_preset():
    with pytest.raises(we.FragmentMismatchError, match="add an axis of length 1"):
        we.gemm(normal(64), normal((64, 64)), like="cublas-sm90-bf16")


def test_a_beta_that_rounds_to_one_is_one():
    a, b, c = normal((128, 256)), normal((256, 128), seed=1), normal((128, 128), seed=2)
    with silent():
        wanted = we.gemm(a, b, c, beta=1, like="cublas-sm90-bf16")
        for beta in (np.float32(1), np.array(1.0), 1 + 1e-12):
            found = we.gemm(a, b, c, beta=beta, like="cublas-sm90-bf16")
            np.testing.assert_array_equal(found.view(np.uint16), wanted.view(np.uint16))


def test_a_c_of_another_format_and_a_batch_of_c_alone_are_not_what_was_recorded():
    a, b, c = normal((128, 256)), normal((256, 128), seed=1), normal((128, 128), np.float32, seed=2)
    with pytest.warns(we.UnverifiedModelWarning, match="with beta of 1 in f32, for which"):
        we.gemm(a, b, c, beta=1, like="cublas-sm90-bf16")
    with pytest.warns(we.UnverifiedModelWarning, match="with bias in f32, for which"):
        we.gemm(a, b, bias=c[0], like="cublas-sm90-bf16")
    with pytest.warns(we.UnverifiedModelWarning, match="2 products of 128x128x256"):
        we.gemm(a, b, np.stack([c, c]).astype(BF16), beta=1, like="cublas-sm90-bf16")


def test_operands_with_bits_that_tf32_has_not_are_not_what_was_recorded():
    row = next(x for x in PRESETS if x.name == "cublas-sm90-tf32")
    m, n, k = row.recorded[0].shapes[0]
    a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    with silent():
        we.gemm(a, b, like=row.name)
    a[0, 0] += 2.0**-23
    with pytest.warns(we.UnverifiedModelWarning, match="A has bits that tf32 does not have"):
        we.gemm(a, b, like=row.name)
