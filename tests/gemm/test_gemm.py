# SPDX-License-Identifier: MIT
"""Whole matrices: the order of k, padding, batches, the final rounding, memory."""

import contextlib
import tracemalloc

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.arithmetic import dot_product_of, reference
from wmma_emu.formats import encode, format_of
from wmma_emu.formats.dtypes import dtype_of, to_bits
from wmma_emu.gemm import sparse as sparse_gemm
from wmma_emu.instructions import lookup

RNG = np.random.default_rng(5)


def normal(shape, dtype=np.float16, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return values.astype(dtype)


@pytest.mark.parametrize("arch", ["sm_70", "sm_80", "sm_90", "sm_100"])
def test_each_element_is_the_chain_of_instructions_over_ascending_k(arch):
    A, B = normal((7, 70), seed=1), normal((70, 5), seed=2)
    C = normal((7, 5), np.float32, seed=3)
    D = we.gemm(A, B, C, arch=arch)
    name = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32" if arch == "sm_70" else "m16n8k16.f32.f16.f16.f32"
    p = dot_product_of(lookup(name), arch)
    a = np.pad(A.view(np.uint16), ((0, 0), (0, -70 % p.k)))
    b = np.pad(B.view(np.uint16), ((0, -70 % p.k), (0, 0)))
    for i, j in np.ndindex(7, 5):
        running = int(C.view(np.uint32)[i, j])
        for k in range(0, a.shape[1], p.k):
            running = reference.dot(p, a[i, k : k + p.k].tolist(), b[k : k + p.k, j].tolist(), running)
        assert int(D.view(np.uint32)[i, j]) == running


def test_one_tile_is_the_instruction_itself():
    A, B, C = normal((16, 16)), normal((16, 8), seed=1), normal((16, 8), np.float32, seed=2)
    np.testing.assert_array_equal(we.gemm(A, B, C).view(np.uint32), we.mma(A, B, C).view(np.uint32))


def test_tiles_of_the_engine_do_not_show():
    # Rows and columns beyond one tile of the engine, and the same product one row at a time.
    A, B = normal((150, 48)), normal((48, 1100), seed=1)
    D = we.gemm(A, B)
    rows = np.concatenate([we.gemm(A[i : i + 1], B) for i in range(0, 150, 7)])
    np.testing.assert_array_equal(D[::7].view(np.uint32), rows.view(np.uint32))


def test_out_dtype_rounds_the_result_again_to_nearest_even():
    A, B = normal((9, 64)), normal((64, 9), seed=1)
    D = we.gemm(A, B)
    for dtype, fmt in ((np.float16, "f16"), (ml_dtypes.bfloat16, "bf16")):
        rounded = we.gemm(A, B, out_dtype=dtype)
        assert rounded.dtype == dtype
        np.testing.assert_array_equal(rounded.view(np.uint16), encode(D.astype(np.float64), format_of(fmt)))


NAMES_OF_DTYPES = {
    "bf16": ("bf16", "bfloat16", ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16), format_of("bf16")),
    "f16": ("f16", "half", "float16", np.float16),
    "e4m3": ("e4m3", "float8_e4m3fn", ml_dtypes.float8_e4m3fn),
    "f32": ("f32", "float32", "single", "f4", np.float32, None),
    "e2m1": ("e2m1", "float4_e2m1fn"),
}


@pytest.mark.parametrize("fmt", NAMES_OF_DTYPES)
def test_out_dtype_takes_every_name_of_a_format(fmt):
    A, B = normal((9, 64)), normal((64, 9), seed=1)
    for name in NAMES_OF_DTYPES[fmt]:
        D = we.gemm(A, B, out_dtype=name)
        assert D.dtype == dtype_of(fmt)
        np.testing.assert_array_equal(to_bits(D, fmt), encode(we.gemm(A, B).astype(np.float64), format_of(fmt)))


def test_an_out_dtype_of_tf32_is_float32_with_thirteen_zeros():
    A, B = normal((9, 64)), normal((64, 9), seed=1)
    D, exact = we.gemm(A, B, out_dtype="tf32"), we.gemm(A, B)
    assert D.dtype == np.float32 and not (D.view(np.uint32) & 0x1FFF).any()
    np.testing.assert_array_equal(D.view(np.uint32), encode(exact.astype(np.float64), format_of("tf32")))


@pytest.mark.parametrize(
    "given", ["fp8", "s32", "u8", "ue4m3", np.int8, 3, "x.bf16", pytest.param(object(), id="object")], ids=str
)
def test_an_out_dtype_that_is_none_lists_those_that_are(given):
    legal = "use one of f64, f32, tf32, bf16, f16, e4m3, e5m2, e3m2, e2m3, e2m1, ue8m0, or a dtype of NumPy, ml_dtypes"
    with pytest.raises(we.FragmentMismatchError, match=legal):
        we.gemm(normal((4, 16)), normal((16, 4)), out_dtype=given)


def test_leading_axes_broadcast_as_in_matmul():
    A, B = normal((3, 1, 20, 32)), normal((2, 32, 12), seed=1)
    C = normal((20, 12), np.float32, seed=2)
    D = we.gemm(A, B, C)
    assert D.shape == (3, 2, 20, 12)
    for i, j in np.ndindex(3, 2):
        np.testing.assert_array_equal(D[i, j], we.gemm(A[i, 0], B[j], C))


def test_a_batch_against_one_b_is_more_rows():
    A, B = normal((4, 5, 6, 40)), normal((40, 12), seed=1)
    C = normal((5, 6, 12), np.float32, seed=2)
    D = we.gemm(A, B, C)
    assert D.shape == (4, 5, 6, 12)
    np.testing.assert_array_equal(D[3, 2], we.gemm(A[3, 2], B, C[2]))


@pytest.mark.parametrize(
    ("m", "k", "n"), [(0, 16, 4), (4, 16, 0), (0, 0, 0), (4, 0, 3), (1, 1, 1), (17, 31, 13), (3, 97, 2)]
)
def test_odd_and_empty_sizes(m, k, n):
    A, B = normal((m, k)), normal((k, n), seed=1)
    D = we.gemm(A, B)
    assert D.shape == (m, n) and D.dtype == np.float32
    if k == 0:
        assert not D.any() and not np.signbit(D).any()


def test_no_k_gives_c_back():
    C = normal((4, 3), np.float32)
    C[0, 0] = -0.0
    D = we.gemm(np.zeros((4, 0), np.float16), np.zeros((0, 3), np.float16), C)
    np.testing.assert_array_equal(D.view(np.uint32), C.view(np.uint32))
    assert not np.shares_memory(D, C)


def test_strided_and_read_only_inputs_are_read_and_left_alone():
    A, B = normal((40, 64)), normal((30, 64), seed=1)
    view, transposed = A[::2, ::-2], B.T[::2]
    A.flags.writeable = B.flags.writeable = False
    before = A.tobytes(), B.tobytes()
    D = we.gemm(view, transposed)
    np.testing.assert_array_equal(D, we.gemm(view.copy(), transposed.copy()))
    assert (A.tobytes(), B.tobytes()) == before


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_integers_are_exact(dtype):
    A = RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (33, 100), dtype, endpoint=True)
    B = RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (100, 20), dtype, endpoint=True)
    C = RNG.integers(-1000, 1000, (33, 20), np.int32)
    np.testing.assert_array_equal(we.gemm(A, B, C), A.astype(np.int64) @ B.astype(np.int64) + C)


def test_satfinite_clamps_after_each_instruction():
    A = np.full((1, 64), 127, np.int8)
    B = np.concatenate([np.full((32, 1), 127, np.int8), np.full((32, 1), -127, np.int8)])
    C = np.array([[2**31 - 5]], np.int32)
    clamped = we.gemm(A, B, C, instr="mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32")
    assert clamped[0, 0] == 2**31 - 1 - 32 * 127 * 127
    assert we.gemm(A, B, C)[0, 0] == 2**31 - 5


def test_packed_four_bit_matrices_give_the_bits_of_unpacked_ones():
    A = RNG.integers(-8, 8, (16, 64)).astype(ml_dtypes.int4)
    B = RNG.integers(-8, 8, (64, 8)).astype(ml_dtypes.int4)
    a, b = A.astype(np.int64) & 15, B.astype(np.int64) & 15
    packed_a = (a[:, ::2] | a[:, 1::2] << 4).astype(np.uint8)
    packed_b = (b[::2] | b[1::2] << 4).astype(np.uint8)
    expected = A.astype(np.int64) @ B.astype(np.int64)
    np.testing.assert_array_equal(we.gemm(A, B, arch="sm_80"), expected)
    np.testing.assert_array_equal(we.gemm(packed_a, packed_b, arch="sm_80", a_format="s4", b_format="s4"), expected)


def test_one_bit_matrices_count_xor():
    A, B = RNG.random((9, 300)) < 0.5, RNG.random((300, 4)) < 0.5
    expected = (A[:, :, None] ^ B[None]).sum(1)
    np.testing.assert_array_equal(we.gemm(A, B, arch="sm_80"), expected)


def test_fma_f32_is_the_cuda_cores_chain():
    A, B = normal((5, 33), np.float32), normal((33, 4), np.float32, seed=1)
    C = normal((5, 4), np.float32, seed=2)
    D = we.gemm(A, B, C, instr="fma.f32")
    # float64 holds a product exactly; rounding its sum with c to odd and then to float32 is a fused multiply-add.
    from fractions import Fraction

    for i, j in np.ndindex(5, 4):
        running = float(C[i, j])
        for k in range(33):
            exact = Fraction(float(A[i, k])) * Fraction(float(B[k, j])) + Fraction(running)
            running = float(_nearest_float32(exact))
        assert float(D[i, j]) == running


def _nearest_float32(exact):
    from fractions import Fraction

    guess = np.float32(float(exact))
    around = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    return min(around, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(np.uint32)) & 1))


def test_float32_needs_an_instruction_by_name():
    A = np.ones((4, 4), np.float32)
    with pytest.raises(we.UnsupportedInstructionError, match=r"fma\.f32.*m16n8k8\.f32\.tf32\.tf32\.f32"):
        we.gemm(A, A)


def test_c_and_d_of_different_formats_take_one_instruction_only():
    name = "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32"
    A, B = normal((16, 16)), normal((16, 16), seed=1)
    assert we.gemm(A, B, instr=name).dtype == np.float16
    with pytest.raises(we.FragmentMismatchError, match="C is f32 and D is f16"):
        we.gemm(np.hstack([A, A]), np.vstack([B, B]), instr=name)


@pytest.mark.slow
def test_memory_stays_below_512_mebibytes_beyond_the_matrices():
    A, B = np.zeros((4096, 4096), np.float16), np.zeros((4096, 256), np.float16)
    A[:], B[:] = 1, 1
    tracemalloc.start()
    D = we.gemm(A, np.tile(B, 16))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - D.nbytes < 2**29


@pytest.mark.thorough
def test_memory_of_a_product_is_a_few_tiles():
    A, B = normal((1024, 256)), normal((256, 2048), seed=1)
    we.gemm(A, B, engine="numpy")  # imports what the engine needs
    tracemalloc.start()
    D = we.gemm(A, B, engine="numpy")  # native code is compiled when it is worth it, perhaps here
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - D.nbytes < 64 * 2**20


def test_matrices_full_of_nan_give_nan():
    A, B = np.full((40, 32), np.nan, np.float16), normal((32, 40))
    assert (we.gemm(A, B).view(np.uint32) == 0x7FFF_FFFF).all()


def test_no_k_without_a_way_from_c_to_d_is_refused():
    with pytest.raises(we.FragmentMismatchError, match=r"no products \(K = 0\), and C is f16, D f32"):
        we.gemm(np.zeros((3, 0), np.float16), np.zeros((0, 4), np.float16), instr="wmma.mma.m16n16k16.f32.f16")


def pruned(shape, group=4, seed=0, dtype=np.float16):
    """Half of every group of columns is zero, at random."""
    A = normal(shape, dtype, seed)
    order = np.random.default_rng(seed).random((*shape[:-1], -(-shape[-1] // group), group)).argsort(-1)
    A[(order < group // 2).reshape(*shape[:-1], -1)[..., : shape[-1]]] = 0
    return A


@pytest.mark.parametrize("instr", ["wgmma.m64n64k16.f32.f16.f16", "wgmma.m64n8k16.f32.f16.f16"])
def test_wgmma_walks_over_k_as_mma_sync_of_its_chip_does(instr):
    A, B, C = normal((70, 50)), normal((50, 9), seed=1), normal((70, 9), np.float32, seed=2)
    expected = we.gemm(A, B, C, instr="m16n8k16.f32.f16.f16.f32", arch="h200")
    np.testing.assert_array_equal(we.gemm(A, B, C, instr=instr).view(np.uint32), expected.view(np.uint32))


def test_wgmma_of_fp8_differs_from_mma_sync_and_follows_its_own_model():
    A, B = normal((5, 70), ml_dtypes.float8_e4m3fn), normal((70, 4), ml_dtypes.float8_e4m3fn, seed=1)
    D = we.gemm(A, B, instr="wgmma.m64n8k32.f32.e4m3.e4m3")
    assert (D != we.gemm(A, B, instr="m16n8k32.f32.e4m3.e4m3.f32")).any()
    p = dot_product_of(lookup("wgmma.m64n8k32.f32.e4m3.e4m3"), "sm_90")
    a = np.pad(A.view(np.uint8), ((0, 0), (0, 26)))
    b = np.pad(B.view(np.uint8), ((0, 26), (0, 0)))
    for i, j in np.ndindex(5, 4):
        running = 0
        for k in range(0, 96, 32):
            running = reference.dot(p, a[i, k : k + 32].tolist(), b[k : k + 32, j].tolist(), running)
        assert int(D.view(np.uint32)[i, j]) == running


@pytest.mark.parametrize(
    "instr",
    [
        "mma.sp.m16n8k32.f32.f16.f16.f32",
        "mma.sp::ordered_metadata.m16n8k16.f32.f16.f16.f32",
        "wgmma.sp.m64n8k32.f32.f16.f16",
    ],
)
def test_a_sparse_instruction_multiplies_the_elements_that_are_there_k_after_k(instr):
    A, B, C = pruned((7, 70)), normal((70, 5), seed=1), normal((7, 5), np.float32, seed=2)
    row = lookup(instr)
    p = dot_product_of(row, "sm_90")
    bits = [
        np.pad(x, pad) for x, pad in ((A.view(np.uint16), ((0, 0), (0, 26))), (B.view(np.uint16), ((0, 26), (0, 0))))
    ]
    D = we.gemm(A, B, C, instr=instr)
    for i, j in np.ndindex(7, 5):
        running = int(C.view(np.uint32)[i, j])
        for start in range(0, 96 if row.k == 32 else 80, row.k):
            there = []
            for chunk in range(start, start + row.k, 4):
                kept = [k for k in range(chunk, chunk + 4) if bits[0][i, k]]
                others = [k for k in range(chunk, chunk + 4) if k not in kept]
                there += sorted(kept + others[: 2 - len(kept)])
            running = reference.dot(p, bits[0][i, there].tolist(), bits[1][there, j].tolist(), running)
        assert int(D.view(np.uint32)[i, j]) == running


def test_a_sparse_product_of_one_tile_is_the_instruction_itself():
    name = "mma.sp.m16n8k32.f32.f16.f16.f32"
    A, B, C = pruned((16, 32)), normal((32, 8), seed=1), normal((16, 8), np.float32, seed=2)
    np.testing.assert_array_equal(we.gemm(A, B, C, instr=name), we.mma(A, B, C, instr=name))


def test_sparse_products_broadcast_and_their_row_panels_do_not_show(monkeypatch):
    name = "mma.sp.m16n8k32.f32.f16.f16.f32"
    A, B = pruned((2, 1, 13, 40)), normal((3, 40, 6), seed=1)
    D = we.gemm(A, B, instr=name)
    assert D.shape == (2, 3, 13, 6)
    for i, j in np.ndindex(2, 3):
        np.testing.assert_array_equal(we.gemm(A[i, 0], B[j], instr=name), D[i, j])
    monkeypatch.setattr(sparse_gemm, "_GATHERED", 3 * 32 * 6)
    np.testing.assert_array_equal(we.gemm(A, B, instr=name), D)


@pytest.mark.parametrize(("a", "b"), [((4, 0), (0, 3)), ((0, 8), (8, 3)), ((4, 8), (8, 0)), ((0, 4, 8), (8, 3))])
def test_empty_sparse_products_equal_the_products_of_a_dense_instruction(a, b):
    found, dense = (we.gemm(np.zeros(a, np.float16), np.zeros(b, np.float16), instr=x)
                    for x in ("mma.sp.m16n8k32.f32.f16.f16.f32", "m16n8k16.f32.f16.f16.f32"))  # fmt: skip
    assert found.shape == dense.shape and np.array_equal(found, dense)


def test_integers_4_bit_pairs_and_tf32_may_be_sparse_too():
    A, B = np.random.default_rng(0).integers(-8, 8, (2, 5, 128), np.int8)
    A.reshape(5, 32, 2, 2)[:, :, 1] = 0
    exact = A.astype(int) @ B.T.astype(int)
    assert np.array_equal(we.gemm(A, B.T, instr="mma.sp.m16n8k64.s32.s8.s8.s32"), exact)
    pairs = A.astype(ml_dtypes.int4)
    assert np.array_equal(we.gemm(pairs, B.T.astype(ml_dtypes.int4), instr="mma.sp.m16n8k64.s32.s4.s4.s32"), exact)
    F = A.astype(np.float32)
    F[:, 1::2] = 0
    assert np.array_equal(we.gemm(F, B.T.astype(np.float32), instr="mma.sp.m16n8k8.f32.tf32.tf32.f32"), F @ B.T)


def test_a_matrix_that_is_not_sparse_is_refused_with_row_and_columns_of_all_of_a():
    A = pruned((9, 100))
    A[5, 68:72] = 1
    message = (
        "row 5, columns 68 to 71 of A have 4 that are not zero; mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
    )
    for call in (lambda: we.gemm(A, A.T, instr="mma.sp.m16n8k32.f32.f16.f16.f32"),
                 lambda: we.explain("mma.sp.m16n8k32.f32.f16.f16.f32", A, A.T, row=5, col=1)):  # fmt: skip
        with pytest.raises(we.FragmentMismatchError, match=f"{message}keeps 2 of 4 elements: prune A first"):
            call()


def test_chips_are_compared_with_a_sparse_instruction_too():
    A, B = pruned((6, 64)), normal((64, 5), seed=1)
    with pytest.warns(we.UnverifiedModelWarning):
        found = we.compare_archs(A, B, instr="mma.sp.m16n8k32.f32.f16.f16.f32", archs=["sm_80", "sm_90"])
    for arch in ("sm_80", "sm_90"):
        with pytest.warns(we.UnverifiedModelWarning) if arch == "sm_80" else contextlib.nullcontext():
            expected = we.gemm(A, B, instr="mma.sp.m16n8k32.f32.f16.f16.f32", arch=arch)
        assert np.array_equal(found.results[arch], expected)
    assert found.differing["sm_90"] > 0


def test_a_bound_instruction_multiplies_with_its_model_and_its_chip():
    from dataclasses import replace

    A, B = (np.random.default_rng(i).standard_normal(x).astype(np.float16) for i, x in enumerate(((5, 40), (40, 3))))
    ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_80")
    np.testing.assert_array_equal(we.gemm(A, B, instr=ins), we.gemm(A, B, arch="sm_80"))
    short = ins.with_model(replace(ins.model, fraction_bits=12))
    assert (we.gemm(A, B, instr=short) != we.gemm(A, B, instr=ins)).any()
    with pytest.raises(we.errors.OptionError, match=r"arch='sm_89' was given, but .* is already bound to 'sm_80'"):
        we.gemm(A, B, instr=ins, arch="l40s")
    with pytest.raises(we.errors.OptionError, match="contradicts like='cublas-sm90-f16'"):
        we.gemm(A, B, instr=ins, like="cublas-sm90-f16")
