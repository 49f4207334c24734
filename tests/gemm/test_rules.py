# SPDX-License-Identifier: MIT
"""The rules of matrix products, one fact per test.

D = A B + C is computed by one instruction after another in ascending k, D of one is C of the next. The instruction
follows from the dtypes and the chip. The expected bits follow the rules of Hopper: 16 products per step, 25 fraction
bits, truncated to float32.
"""

import numpy as np
import pytest

import wmma_emu as we

SMALL = 2.0**-13  # its square, 2**-26, is below the 25 fraction bits of a step with a 1


def operands(k):
    """One row and one column with a product of 1 at k = 0, and products of 2**-26 elsewhere."""
    A = np.full((1, k), SMALL, np.float16)
    A[0, 0] = 1
    B = np.full((k, 1), SMALL, np.float16)
    B[0, 0] = 1
    return A, B


def bits(D):
    return f"{np.float32(D[0, 0]).view(np.uint32):08x}"


def test_products_below_the_fraction_bits_of_a_step_are_lost():
    A, B = operands(16)
    assert bits(we.gemm(A, B, arch="h100")) == "3f800000"


def test_c_is_aligned_with_the_products():
    A, B = np.full((1, 1), 2.0**-13, np.float16), np.full((1, 1), 2.0**-13, np.float16)
    assert bits(we.gemm(A, B, np.ones((1, 1), np.float32), arch="h100")) == "3f800000"
    assert bits(we.gemm(A, B, arch="h100")) == "32800000"  # 2**-26 alone


def test_instructions_are_chained_in_ascending_k():
    A, B = operands(32)
    assert bits(we.gemm(A, B, arch="h100")) == "3f800000"
    assert bits(we.gemm(A[:, ::-1], B[::-1], arch="h100")) == "3f800002"  # the first 16 sum to 2**-22, two ulps


def test_a_k_order_sums_ranges_separately():
    A, B = operands(32)
    assert bits(we.gemm(A, B, arch="h100", k_order=we.KOrder(splits=2))) == "3f800002"  # 1 + 16 x 2**-26


def test_k_is_padded_with_zeros():
    A, B = operands(17)
    assert bits(we.gemm(A, B, arch="h100")) == bits(we.gemm(*operands(16), arch="h100"))


def test_the_dtypes_determine_the_instruction():
    A, B = np.full((1, 1), 300, np.int16).astype(np.int8), np.full((1, 1), 2, np.int8)  # 300 is 44 modulo 256
    D = we.gemm(A, B, arch="h100")
    assert (D.dtype, D.item()) == (np.int32, 88)


def test_the_chip_changes_the_bits():
    A, B = np.full((1, 16), 1.75 * 2**-12, np.float16), np.full((16, 1), 2**-12, np.float16)
    A[0, 0] = B[0, 0] = 1
    assert [bits(we.gemm(A, B, arch=x)) for x in ("a100", "h100")] == ["3f800007", "3f80000b"]


def test_beta_adds_c_after_the_sum():
    A, C = np.array([[1, 2.0**-12]], np.float16), np.array([[-1]], np.float32)
    assert bits(we.gemm(A, A.T, C, arch="h100")) == "33800000"  # c is a term of the step: 2**-24 is kept
    assert bits(we.gemm(A, A.T, C, beta=1, arch="h100")) == "00000000"  # 2**-24 was lost before c is added


def test_out_dtype_rounds_the_result_once():
    A, B = np.array([[1, 2.0**-9]], np.float16), np.array([[1], [1]], np.float16)
    D = we.gemm(A, B, arch="h100", out_dtype="bf16")
    assert D.dtype.name == "bfloat16"
    assert float(D[0, 0]) == 1  # 1 + 2**-9 is less than half an ulp of bf16 above 1


def test_batches_broadcast():
    A, B = np.ones((3, 1, 2, 4), np.float16), np.ones((5, 4, 6), np.float16)
    assert we.gemm(A, B, arch="h100").shape == (3, 5, 2, 6)


def test_explain_has_the_bits_of_the_product():
    A, B = operands(32)
    e = we.explain("m16n8k16.f32.f16.f16.f32", A, B, row=0, col=0, arch="h100")
    assert f"{e.result:08x}" == bits(we.gemm(A, B, arch="h100"))
    assert len(e.steps) == 2


def test_shapes_that_do_not_match_are_an_error():
    with pytest.raises(we.WmmaEmuError):
        we.gemm(np.ones((2, 3), np.float16), np.ones((4, 2), np.float16))
