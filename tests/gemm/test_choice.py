# SPDX-License-Identifier: MIT
"""The instruction that a product without a named instruction uses: a table of formats, scales and chips."""

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.gemm.choice import chosen_instruction, requirements_of
from wmma_emu.gemm.options import Factors
from wmma_emu.instructions import arch_of

E4M3, E5M2, E2M1, E3M2 = (
    ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn, ml_dtypes.float6_e3m2fn,
)  # fmt: skip
UE8M0, RAW = ml_dtypes.float8_e8m0fnu, np.uint8
UNSUPPORTED, MISMATCH = we.UnsupportedInstructionError, we.FragmentMismatchError
MX8 = "kind::mxf8f6f4.block_scale.scale_vec::1X"
TABLE = [
    ("sm_120", E4M3, E4M3, UE8M0, 32, f"m16n8k32.{MX8}.f32.e4m3.e4m3.f32.ue8m0"),
    ("sm_120", E5M2, E2M1, RAW, 32, f"m16n8k32.{MX8}.f32.e5m2.e2m1.f32.ue8m0"),
    ("sm_121", E2M1, E3M2, UE8M0, 32, f"m16n8k32.{MX8}.f32.e2m1.e3m2.f32.ue8m0"),
    ("sm_120", E2M1, E2M1, UE8M0, 32, "m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"),
    ("sm_120", E2M1, E2M1, RAW, 32, "m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"),
    ("sm_120", E2M1, E2M1, E4M3, 16, "m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"),
    ("sm_121", E2M1, E2M1, UE8M0, 16, "m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0"),
    ("sm_100", E4M3, E5M2, UE8M0, 32, f"tcgen05.mma.cta_group::1.{MX8}.m128n128k32.f32.e4m3.e5m2.ue8m0"),
    ("sm_103", E2M1, E2M1, UE8M0, 32,
     "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X.m128n128k64.f32.e2m1.e2m1.ue8m0"),
    ("sm_100", E2M1, E2M1, E4M3, 16,
     "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X.m128n128k64.f32.e2m1.e2m1.ue4m3"),
    ("sm_120", E2M1, E2M1, None, 0, "m16n8k32.kind::f8f6f4.f32.e2m1.e2m1.f32"),
    ("sm_120", E3M2, E4M3, None, 0, "m16n8k32.kind::f8f6f4.f32.e3m2.e4m3.f32"),
    ("sm_100", E2M1, E4M3, None, 0, "tcgen05.mma.cta_group::1.kind::f8f6f4.m128n128k32.f32.e2m1.e4m3"),
    ("sm_100", E4M3, E4M3, None, 0, "m16n8k32.f32.e4m3.e4m3.f32"),
    ("sm_90", E4M3, E4M3, np.float32, 128, "m16n8k32.f32.e4m3.e4m3.f32"),
    ("sm_120", E2M1, E2M1, np.float32, 128, "m16n8k32.kind::f8f6f4.f32.e2m1.e2m1.f32"),
    ("sm_120", np.float16, np.float16, None, 0, "m16n8k16.f32.f16.f16.f32"),
]  # fmt: skip


def scales(dtype, block, k, m=3, n=5):
    if dtype is None:
        return {}
    blocks = -(-k // block)
    return {"scale_a": np.zeros((m, blocks), dtype), "scale_b": np.zeros((blocks, n), dtype)}


@pytest.mark.parametrize(("arch", "a", "b", "scale", "block", "expected"), TABLE, ids=[x[-1][-60:] for x in TABLE])
@pytest.mark.parametrize("k", [256, 100])
def test_dtypes_and_scales_choose_the_instruction(arch, a, b, scale, block, expected, k):
    what = requirements_of(Factors(np.zeros((3, k), a), np.zeros((k, 5), b), **scales(scale, block, k)))
    row = chosen_instruction(what, arch_of(arch))
    assert row.short_mnemonic == expected


def test_a_short_k_means_blocks_of_32_unless_the_scales_are_ue4m3():
    A, B = np.zeros((3, 16), E2M1), np.zeros((16, 5), E2M1)
    for scale, expected in ((UE8M0, 32), (E4M3, 16)):
        row = chosen_instruction(requirements_of(Factors(A, B, **scales(scale, 16, 16))), arch_of("sm_120"))
        assert row.scale_block == expected
    with pytest.raises(UNSUPPORTED, match="raw bytes for each 16 k, ue8m0 or ue4m3"):
        requirements_of(Factors(A, B, **scales(RAW, 16, 16)))
    assert requirements_of(Factors(A, np.zeros((16, 5), E4M3), **scales(RAW, 32, 16))).scale.name == "ue8m0"
    assert requirements_of(Factors(A[:, :0], B[:0], **scales(RAW, 16, 0))).scale.name == "ue8m0"


def test_packed_bytes_count_two_elements():
    A, B = np.zeros((3, 64), np.uint8), np.zeros((64, 5), np.uint8)
    what = requirements_of(Factors(A, B, a_format="e2m1", b_format="e2m1", **scales(UE8M0, 32, 128)))
    row = chosen_instruction(what, arch_of("sm_120"))
    assert row.short_mnemonic.startswith("m16n8k64.kind::mxf4.")


REFUSALS = [
    ("sm_90", E4M3, scales(UE8M0, 32, 64), UNSUPPORTED, r"sm_90 \(Hopper\) has no instruction with block scales; chips "
     "that have one for e4m3 times e4m3 are sm_100, sm_103, sm_120, sm_121; on this chip a kernel can multiply by f"),
    ("sm_90", E2M1, scales(UE8M0, 32, 64), UNSUPPORTED, "sm_100, sm_103, sm_120, sm_121$"),
    ("sm_90", E2M1, {}, UNSUPPORTED,
     r"^sm_90 \(Hopper\) does not multiply e2m1 by e2m1; chips that do are sm_100, sm_103, sm_120, sm_121$"),
    ("sm_120", E4M3, scales(E4M3, 32, 64), UNSUPPORTED, "multiplies e4m3 by e4m3 with a scale of ue4m3 for"),
    ("sm_120", E2M1, scales(RAW, 16, 64), UNSUPPORTED, "raw bytes for each 16 k, ue8m0 or ue4m3; view them as"),
    ("sm_120", E2M1, scales(UE8M0, 8, 64), MISMATCH, r"shape \(3, 8\), and A has K = 64: .*\(\.\.\., M, 2\), or .*4\)"),
    ("sm_120", E2M1, scales(E5M2, 32, 64), MISMATCH, "array of float8_e5m2; block scales are ml_dtypes.float8_e8m0fnu"),
    ("sm_120", E2M1, {**scales(UE8M0, 32, 64), "scale_b": np.zeros((2, 5), RAW)}, MISMATCH,
     "scale_a is of ue8m0 and scale_b of raw bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("arch", "dtype", "given", "kind", "message"), REFUSALS, ids=range(len(REFUSALS)))
def test_a_product_that_no_instruction_computes_is_refused_with_a_message(arch, dtype, given, kind, message):
    with pytest.raises(kind, match=message):
        factors = Factors(np.zeros((3, 64), dtype), np.zeros((64, 5), dtype), **given)
        chosen_instruction(requirements_of(factors), arch_of(arch))
