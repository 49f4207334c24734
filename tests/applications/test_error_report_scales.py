# SPDX-License-Identifier: MIT
"""Error reports of block-scaled instructions: the books balance, the bound holds, and scales are read as gemm does."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats.dtypes import dtype_of, from_bits
from wmma_emu.testing import assert_bits_equal, error_report, exact_matmul, generators

MXF4 = "m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"
NVF4 = "m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
MXF8 = "m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e5m2.f32.ue8m0"
SPARSE = "mma.sp::ordered_metadata.m16n8k128.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


def drawn(ins, generator, seed=0):
    [sample] = generators.matrices(ins, [generator], seed=seed)
    scales = generators.draw_scales(ins, generator, seed, 1, 1)
    scale_a, scale_b = (from_bits(x[0], ins.instruction.scale) for x in scales)
    return (sample.A, sample.B, sample.C), {"scale_a": scale_a, "scale_b": scale_b}


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("mnemonic", [MXF4, NVF4, MXF8, SPARSE])
@pytest.mark.parametrize("generator", ["cancel_pairs", "one_large", "scales_far", "scales_limits", "scales_special"])
def test_the_books_balance_and_the_bound_holds(mnemonic, generator):
    ins = we.instruction(mnemonic, arch="sm_120")
    matrices, scales = drawn(ins, generator)
    report = error_report(ins, *matrices, **scales)
    assert_bits_equal(report.result, ins(*matrices, **scales))
    counted = [where for where in np.ndindex(report.errors.shape) if report.errors[where] is not None]
    assert len(counted) + report.specials + report.overflows == report.errors.size
    for where in counted:
        assert sum(x[where] for x in report.contributions.values()) == report.errors[where]
        assert abs(report.errors[where]) <= report.bounds[where]
    if generator not in ("scales_special", "scales_limits"):
        raw = {name: np.asarray(x).view(np.uint8) for name, x in scales.items()}
        exact = exact_matmul(*matrices, **raw, scale_format=ins.instruction.scale)
        assert all(report.exact[where] == exact[where] for where in counted)
        assert counted


def test_nan_scales_leave_their_rows_and_columns_out():
    ones = np.ones((16, 64)).astype(ml_dtypes.float4_e2m1fn)
    scale_a, scale_b = np.full((16, 2), 127, np.uint8), np.full((2, 8), 127, np.uint8)
    scale_a[3, 1] = scale_b[0, 5] = 255
    report = error_report(MXF4, ones, ones[:8].T, arch="sm_120", scale_a=scale_a, scale_b=scale_b)
    assert report.specials == 8 + 16 - 1
    assert report.exact[0, 0] == 64


@pytest.mark.parametrize(("mnemonic", "exponent"), [(MXF4, 20), (MXF8, 18)])
def test_the_bound_counts_the_exponents_that_terms_are_aligned_by(mnemonic, exponent):
    """Those of the scales alone where groups are summed first; else those of products and scales together."""
    ins = we.instruction(mnemonic, arch="sm_120")
    row = ins.instruction
    a, b = np.zeros((row.m, row.k)), np.zeros((row.k, row.n))
    a[:, 0] = b[0] = 0.5
    A, B = a.astype(dtype_of(ins.product.a)), b.astype(dtype_of(ins.product.b))
    scales = {f"scale_{x}": np.full(y, 137, np.uint8) for x, y in (("a", (row.m, row.scale_vec)),
                                                                  ("b", (row.scale_vec, row.n)))}  # fmt: skip
    report = error_report(ins, A, B, **scales)
    assert report.bounds[0, 0] == report.bound.of(Fraction(0), Fraction(1 << 18), exponent)
    assert report.bounds[0, 0] != report.bound.of(Fraction(0), Fraction(1 << 18), 24)


def test_a_report_follows_gemm_over_several_instructions_of_which_the_last_is_not_full():
    rng = np.random.default_rng(0)
    A, B = (from_bits(rng.integers(0, 16, s, np.uint8), "e2m1") for s in ((3, 96), (96, 2)))
    scales = {"scale_a": rng.integers(110, 140, (3, 3), np.uint8), "scale_b": rng.integers(110, 140, (3, 2), np.uint8)}
    for model in (None, "F=34"):
        report = error_report(MXF4, A, B, arch="sm_120", model=model, **scales)
        assert_bits_equal(report.result, we.gemm(A, B, instr=MXF4, arch="sm_120", model=model, **scales))
        assert report.explain(1, 1).result == int(report.result.view(np.uint32)[1, 1])
        assert (report.exact == exact_matmul(A, B, **scales, scale_format="ue8m0")).all()
    assert report.bound.fraction_bits == 34
    assert report.bound.steps == 2
    assert report.bound.terms == 4 + 1


def test_scales_that_are_missing_superfluous_or_a_kernel_s_are_refused():
    ones = np.ones((16, 64)).astype(ml_dtypes.float4_e2m1fn)
    with pytest.raises(UnsupportedInstructionError, match="scale_a and scale_b are missing"):
        error_report(MXF4, ones, ones[:8].T, arch="sm_120")
    half, scale = np.ones((4, 4), np.float16), np.ones((4, 1), np.uint8)
    with pytest.raises((FragmentMismatchError, UnsupportedInstructionError), match="scale"):
        error_report(None, half, half, arch="h200", scale_a=scale, scale_b=scale.T)
    with pytest.raises(UnsupportedInstructionError, match="float32"):
        error_report(None, half, half, arch="h200", scale_a=np.float32(2), scale_b=np.float32(2))
