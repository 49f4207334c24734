"""Whole matrices: the order of k, padding, batches, the final rounding, memory."""

import tracemalloc

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.arithmetic import dot_product_of, reference
from wmma_emu.formats import encode, format_of
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


def test_out_dtype_rounds_once_more_to_nearest_even():
    A, B = normal((9, 64)), normal((64, 9), seed=1)
    D = we.gemm(A, B)
    for dtype, fmt in ((np.float16, "f16"), (ml_dtypes.bfloat16, "bf16")):
        rounded = we.gemm(A, B, out_dtype=dtype)
        assert rounded.dtype == dtype
        np.testing.assert_array_equal(rounded.view(np.uint16), encode(D.astype(np.float64), format_of(fmt)))


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
    with pytest.raises(we.UnsupportedInstructionError, match=r"m16n8k8\.f32\.tf32\.tf32\.f32.*fma\.f32"):
        we.gemm(A, A)


def test_c_and_d_of_different_formats_take_one_instruction_only():
    name = "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32"
    A, B = normal((16, 16)), normal((16, 16), seed=1)
    assert we.gemm(A, B, instr=name).dtype == np.float16
    with pytest.raises(we.FragmentMismatchError, match="C is f32 and D is f16"):
        we.gemm(np.hstack([A, A]), np.vstack([B, B]), instr=name)


@pytest.mark.slow
def test_memory_stays_below_one_gibibyte_beyond_the_matrices():
    A, B = np.zeros((4096, 4096), np.float16), np.zeros((4096, 256), np.float16)
    A[:], B[:] = 1, 1
    tracemalloc.start()
    D = we.gemm(A, np.tile(B, 16))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - D.nbytes < 2**30


def test_memory_of_a_product_is_a_few_tiles():
    A, B = normal((1024, 256)), normal((256, 2048), seed=1)
    we.gemm(A[:16], B[:, :16])
    tracemalloc.start()
    D = we.gemm(A, B)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - D.nbytes < 64 * 2**20


def test_matrices_full_of_nan_give_nan():
    A, B = np.full((40, 32), np.nan, np.float16), normal((32, 40))
    assert (we.gemm(A, B).view(np.uint32) == 0x7FFF_FFFF).all()


def test_no_k_without_a_way_from_c_to_d_is_refused():
    with pytest.raises(we.FragmentMismatchError, match=r"no products \(K = 0\), and C is f16, D f32"):
        we.gemm(np.zeros((3, 0), np.float16), np.zeros((0, 4), np.float16), instr="wmma.mma.m16n16k16.f32.f16")
