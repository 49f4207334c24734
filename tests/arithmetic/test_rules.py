# SPDX-License-Identifier: MIT
"""Facts about the units, one at a time, each with bits that a wrong model would not produce."""

import pytest

from tests.arithmetic.helpers import dot, f16, f32

F16 = "m16n8k16.f32.f16.f16.f32"
BF16 = "m16n8k16.f32.bf16.bf16.f32"
TF32 = "m16n8k8.f32.tf32.tf32.f32"
E4M3 = "m16n8k32.f32.e4m3.e4m3.f32"
TWO_24 = 2.0**24

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


def test_a_dot_product_that_fits_is_exact():
    assert dot(F16, "sm_90", [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], 0.5) == f32(32.5)


def test_hopper_truncates_products_below_25_fraction_bits():
    assert dot(F16, "sm_90", [1.0, 2.0**-13, 2.0**-13], [1.0, 2.0**-12, 2.0**-12]) == f32(1.0)
    # 2**-25 is kept, and two of them add up to 2**-24, which RZ to float32 drops; four do not vanish.
    assert dot(F16, "sm_90", [1.0, *[2.0**-13] * 4], [1.0, *[2.0**-12] * 4]) == f32(1 + 2.0**-23)
    assert dot(F16, "sm_90", [1.0, *[2.0**-13] * 8], [1.0, *[2.0**-13] * 8]) == f32(1.0)


def test_ampere_truncates_products_below_24_fraction_bits():
    assert dot(F16, "sm_80", [1.0, *[2.0**-13] * 4], [1.0, *[2.0**-12] * 4]) == f32(1.0)
    assert dot(F16, "sm_80", [1.0, *[2.0**-12] * 4], [1.0, *[2.0**-12] * 4]) == f32(1 + 2.0**-22)


def test_products_are_not_normalised_before_alignment():
    # 1.5 * 1.5 = 2.25 has exponent 0, not 1: its unit still keeps 2**-25.
    a = [1.5, *[2.0**-13] * 8]
    b = [1.5, *[2.0**-12] * 8]
    assert dot(F16, "sm_90", a, b) == f32(2.25 + 2.0**-22)


def test_products_are_rounded_toward_zero_and_not_down():
    assert dot(F16, "sm_90", [1.0, -(2.0**-13)], [1.0, 2.0**-13]) == f32(1.0)


def test_float32_results_are_truncated_and_float16_results_rounded_to_nearest():
    assert dot(F16, "sm_90", [1.0, 2.0**-12], [1.0, 2.0**-12 * 1.5]) == f32(1.0)
    h = "m16n8k16.f16.f16.f16.f16"
    assert dot(h, "sm_90", [1.0, 1.0], [1.0, 2.0**-11]) == f16(1.0)
    assert dot(h, "sm_90", [1.0, 1.0, 2.0**-10], [1.0, 2.0**-11, 2.0**-10]) == f16(1 + 2.0**-10)


def test_float16_results_are_rounded_once_and_not_through_float32():
    # 1 + 2**-11 is a tie; the tail 2**-25 is below float32's last bit and must still break it.
    h = "m16n8k16.f16.f16.f16.f16"
    assert dot(h, "sm_90", [1.0, 2.0**-5, 2.0**-13], [1.0, 2.0**-6, 2.0**-12]) == f16(1 + 2.0**-10)
    # A WMMA with c in f32 and d in f16 accumulates in f32, so there the tail is lost before the last rounding.
    mixed = "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32"
    assert dot(mixed, "sm_90", [1.0, 2.0**-5, 2.0**-13], [1.0, 2.0**-6, 2.0**-12]) == f16(1.0)


def test_zero_products_stay_out_of_the_alignment():
    # Measured on an NVIDIA H200, 2026-11-21; a zero with the exponent of its huge partner would wipe out 2**-40.
    a, b = [0.0, 2.0**-40 * 1.0078125], [2.0**120, 1.0]
    assert dot(BF16, "sm_90", a, b) == 0x2B81_0000


@pytest.mark.parametrize(("arch", "lowest"), [("sm_90", -158), ("sm_80", -156)])
def test_the_alignment_exponent_has_a_floor(arch, lowest):
    # Powers of two that add up to 2**-149, the smallest float32, without truncation: the last two decide.
    terms = [2.0**e for e in range(-150, lowest - 1, -1)]
    ones = [2.0**-60] * (len(terms) + 2)
    kept = [t * 2.0**60 for t in [*terms, 2.0**lowest]]
    lost = [t * 2.0**60 for t in [*terms, 2.0 ** (lowest - 1)]]
    assert dot(BF16, arch, kept, ones[: len(kept)]) == 0x0000_0001
    assert dot(BF16, arch, lost, ones[: len(lost)]) == 0x0000_0000


def test_tf32_reads_the_top_19_bits():
    assert dot(TF32, "sm_90", ["0x3F801FFF"], [1.0]) == f32(1.0)
    assert dot(TF32, "sm_90", ["0x3F802000"], [1.0]) == f32(1 + 2.0**-10)


def test_a_tf32_nan_whose_payload_is_not_read_is_an_infinity():
    assert dot(TF32, "sm_90", ["0x7F800001"], [1.0]) == 0x7F80_0000
    assert dot(TF32, "sm_90", ["0x7FC00000"], [1.0]) == 0x7FFF_FFFF


@pytest.mark.parametrize(("mnemonic", "nan"), [(F16, 0x7FFF_FFFF), ("m16n8k16.f16.f16.f16.f16", 0x7FFF)])
def test_nan_is_canonical_for_all_operands(mnemonic, nan):
    assert dot(mnemonic, "sm_90", ["0xFE01"], [1.0]) == nan
    assert dot(mnemonic, "sm_90", ["0x7C00"], [0.0]) == nan
    assert dot(mnemonic, "sm_90", ["0x7C00", "0xFC00"], [1.0, 1.0]) == nan
    c = "0xFF800001" if nan > 0xFFFF else "0xFC01"
    assert dot(mnemonic, "sm_90", [1.0], [1.0], c) == nan


def test_infinities_of_one_sign_are_kept():
    assert dot(F16, "sm_90", ["0xFC00"], [1.0]) == 0xFF80_0000
    assert dot(F16, "sm_90", [1.0], [1.0], "0x7F800000") == 0x7F80_0000


def test_overflow_is_infinity_although_results_are_truncated():
    assert dot(BF16, "sm_90", [2.0**127, 2.0**127], [1.0, 1.0]) == 0x7F80_0000
    assert dot(BF16, "sm_90", [-(2.0**127), -(2.0**127)], [1.0, 1.0]) == 0xFF80_0000


def test_a_product_beyond_the_float32_range_may_cancel():
    assert dot(BF16, "sm_90", [2.0**127, -(2.0**127), 1.0], [4.0, 4.0, 3.0]) == f32(0.0)
    assert dot(BF16, "sm_90", [2.0**127, -(2.0**127), 2.0**110], [4.0, 4.0, 3.0]) == f32(3 * 2.0**110)


@pytest.mark.parametrize("mnemonic", [F16, "m16n8k8.f32.f16.f16.f32", "m16n8k16.f16.f16.f16.f16", BF16, TF32])
def test_a_sum_of_minus_zeros_is_plus_zero(mnemonic):
    # Measured on an NVIDIA H200, 2026-11-21, through two independent kernels: no aligned sum gave -0.
    k = 8 if "k8" in mnemonic else 16
    assert dot(mnemonic, "sm_90", [-0.0] * k, [1.0] * k, -0.0) == 0
    assert dot(mnemonic, "sm_90", [1.0] * k, [-0.0] * k, -0.0) == 0
    assert dot(mnemonic, "sm_90", [-0.0] * k, [0.0] * k, -0.0) == 0


def test_a_chain_of_fmas_keeps_minus_zero():
    m = "m8n8k4.f64.f64.f64.f64"
    assert dot(m, "sm_90", [-0.0] * 4, [1.0] * 4, -0.0) == 0x8000_0000_0000_0000
    assert dot(m, "sm_90", [-0.0] * 4, [1.0] * 4, 0.0) == 0


def test_cancellation_and_underflow_give_plus_zero():
    assert dot(F16, "sm_90", [1.0, -1.0], [1.0, 1.0], -0.0) == 0
    assert dot(BF16, "sm_90", [-(2.0**-75)], [2.0**-75]) == 0
    assert dot(BF16, "sm_90", [-(2.0**-75)], [2.0**-74]) == 0x8000_0001


def test_subnormal_inputs_and_outputs_are_kept():
    assert dot(F16, "sm_90", ["0x0001"], [1.0]) == f32(2.0**-24)
    assert dot("m16n8k16.f16.f16.f16.f16", "sm_90", ["0x0001"], [1.0]) == 0x0001
    assert dot(BF16, "sm_90", ["0x0001"], [1.0]) == f32(2.0**-133)


def test_ampere_takes_two_steps_where_hopper_takes_one():
    # Each step drops a single 1 added to 2**24; in one step the two make 2.
    a = [1.0, *[0.0] * 7, 1.0]
    assert dot(F16, "sm_80", a, a, TWO_24) == f32(TWO_24)
    assert dot(F16, "sm_90", a, a, TWO_24) == f32(TWO_24 + 2)


def test_ampere_takes_k_0_to_7_first():
    # c + 1 - 1: the first step loses the 1, or does not if 2**24 is taken away with it.
    a = [1.0, *[0.0] * 7, -1.0]
    b = [1.0, *[0.0] * 7, 1.0]
    assert dot(F16, "sm_80", a, b, TWO_24) == f32(TWO_24 - 1)
    assert dot(F16, "sm_80", [-1.0, *[0.0] * 7, 1.0], b, TWO_24) == f32(TWO_24)


def test_volta_takes_four_products_a_step_and_turing_eight():
    wmma = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
    a = [1.0, 0.0, 0.0, 0.0, 1.0]
    assert dot(wmma, "sm_70", a, a, TWO_24) == f32(TWO_24)
    assert dot(wmma, "sm_75", a, a, TWO_24) == f32(TWO_24 + 2)


def test_wmma_tf32_is_two_steps_of_four():
    wmma = "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32"
    a = [1.0, 0.0, 0.0, 0.0, 1.0]
    assert dot(wmma, "sm_90", a, a, TWO_24) == f32(TWO_24)
    assert dot(TF32, "sm_90", a, a, TWO_24) == f32(TWO_24 + 2)


def test_ada_fp8_keeps_13_fraction_bits_of_everything():
    assert dot(E4M3, "sm_89", [], [], "0x3FFFFFFF") == 0x3FFF_FC00
    assert dot(E4M3, "sm_89", [1.0, 2.0**-6], [1.0, 2.0**-7]) == f32(1 + 2.0**-13)
    assert dot(E4M3, "sm_89", [1.0, 2.0**-7], [1.0, 2.0**-7]) == f32(1.0)


def test_ada_fp8_rounds_to_13_bits_between_its_two_steps():
    # 2**-14 is truncated in either step, although two of them would reach the last kept bit.
    a = [2.0**-7, *[0.0] * 15, 2.0**-7]
    assert dot(E4M3, "sm_89", a, a, 1.0) == f32(1.0)
    a = [2.0**-6, *[0.0] * 15, 2.0**-6]
    b = [2.0**-7, *[0.0] * 15, 2.0**-7]
    assert dot(E4M3, "sm_89", a, b, 1.0) == f32(1 + 2.0**-12)


def test_hopper_runs_fp8_through_f16_and_adds_c_last_to_nearest():
    # 1 + 3 * 2**-25 relative to c: the unit would truncate, the addition rounds to nearest.
    assert dot(E4M3, "sm_90", [3.0], [1.0], TWO_24) == f32(TWO_24 + 4)
    assert dot("m16n8k16.f32.e4m3.e4m3.f32", "sm_90", [3.0], [1.0], TWO_24) == f32(TWO_24 + 4)
    assert dot(E4M3, "sm_120", [3.0], [1.0], TWO_24) == f32(TWO_24 + 2)


def test_hopper_fp8_takes_the_k_with_k_mod_4_below_2_first():
    h = "m16n8k32.f16.e4m3.e4m3.f16"
    # 2048 + 1 rounds to 2048 (tie to even) in the first half, unless the 1 arrives with another 1.
    first, second = [2.0**5, 1.0, 0.0, 0.0], [2.0**5, 0.0, 1.0, 0.0]
    b = [2.0**6, 1.0, 1.0, 0.0]
    assert dot(h, "sm_90", [*first, 1.0], [*b, 1.0]) == f16(2050)
    assert dot(h, "sm_90", [*second, 0.0, 0.0, 1.0], [*b, 0.0, 0.0, 1.0]) == f16(2050)
    assert dot(h, "sm_90", [*first, 0.0, 0.0, 1.0], [*b, 0.0, 0.0, 1.0]) == f16(2048)


def test_the_compiler_decides_fp8_on_hopper():
    # 12.8: H(hi, acc = H(lo)) adds inside the unit, truncating; 12.4 adds the halves to nearest.
    a = [240.0, 0.0, 2.0**-6]
    b = [240.0, 0.0, 1.5 * 2.0**-3]
    newest = dot(E4M3, "sm_90", a, b)
    assert newest == dot(E4M3, "sm_90", a, b, lowering="ptxas-12.8")
    assert dot(E4M3, "sm_90", a, b, lowering="ptxas-12.4") == f32(57600.0 + 2.0**-8)
    assert newest == f32(57600.0)


def test_subnormal_fp8_is_normalised_by_the_conversion_to_f16():
    # 2**-9 is subnormal in e4m3 and normal in f16: its product aligns at -18, not at -12.
    a = [2.0**-9, 2.0**-9]
    assert dot(E4M3, "sm_90", a, a) == f32(2.0**-17)


def test_m8n8k4_after_turing_with_f32_results_is_one_chain_of_fmas_with_c_added_last():
    m8 = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
    assert dot(m8, "sm_90", [1.0, 2.0], [1.0, 1.0], TWO_24) == f32(TWO_24 + 4)
    assert dot(m8, "sm_70", [1.0, 2.0], [1.0, 1.0], TWO_24) == f32(TWO_24 + 2)
    assert dot(m8, "sm_90", [1.0], [1.0], TWO_24) == f32(TWO_24)
    assert dot(m8, "sm_90", [-0.0] * 4, [1.0] * 4, -0.0) == 0


def test_m8n8k4_after_turing_with_f16_results_adds_two_pairs_of_products_to_c_in_turn():
    # Measured on an NVIDIA H200, 2026-11-21, and read off the machine code: FMUL, FFMA, FADD, FADD, F2FP.
    m8 = "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16"
    assert dot(m8, "sm_90", [1.0, 2.0**-11], [1.0, 1.0]) == f16(1.0)
    assert dot(m8, "sm_90", [-0.0] * 4, [1.0] * 4, -0.0) == 0x8000
    # c = 2**-14 and -+2**12: added to the first pair it is rounded away, added last it would be kept.
    assert dot(m8, "sm_90", [64.0, 0.0, 64.0], [-64.0, 0.0, 64.0], 2.0**-14) == 0
    assert dot(m8, "sm_90", [64.0, 64.0], [-64.0, 64.0], 2.0**-14) == f16(2.0**-14)


def test_f64_is_a_chain_of_fmas_from_c():
    m = "m8n8k4.f64.f64.f64.f64"
    assert dot(m, "sm_90", [2.0**-53, 2.0**-53], [1.0, 1.0], 1.0) == 0x3FF0_0000_0000_0000
    assert dot(m, "sm_90", [2.0**-53, 2.0**-53, 1.0], [1.0, 1.0, 1.0]) == 0x3FF0_0000_0000_0001
    assert dot(m + ".rp", "sm_90", [2.0**-53, 2.0**-53], [1.0, 1.0], 1.0) == 0x3FF0_0000_0000_0002
    assert dot(m + ".rz", "sm_90", [-(2.0**-60)], [1.0], 1.0) == 0x3FEF_FFFF_FFFF_FFFF


def test_f64_nan_keeps_sign_and_payload_of_the_first_of_b_c_a():
    m = "m8n8k4.f64.f64.f64.f64"
    a, b, c = "0xFFF0000000000AAA", "0x7FF0000000000BBB", "0x7FF8000000000CCC"
    assert dot(m, "sm_90", [a], [b], c) == 0x7FF8_0000_0000_0BBB
    assert dot(m, "sm_90", [a], [1.0], c) == 0x7FF8_0000_0000_0CCC
    assert dot(m, "sm_90", [a], [1.0], 0.0) == 0xFFF8_0000_0000_0AAA
    assert dot(m, "sm_90", ["0x7FF0000000000000"], [0.0], 0.0) == 0xFFF8_0000_0000_0000


def test_integers_wrap_or_clamp_once():
    wrap, clamp = "m16n8k32.s32.s8.s8.s32", "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32"
    a, b = [127, -128], [127, 127]
    assert dot(wrap, "sm_90", [127], [127], "0x7FFFFFFF") == (0x7FFF_FFFF + 127 * 127) & 0xFFFF_FFFF
    assert dot(clamp, "sm_90", [127], [127], "0x7FFFFFFF") == 0x7FFF_FFFF
    assert dot(clamp, "sm_90", [-128], [127], "0x80000000") == 0x8000_0000
    # The first product alone would overflow; the total does not.
    assert dot(clamp, "sm_90", a, b, "0x7FFFFFFF") == 0x7FFF_FFFF - 127


def test_four_bit_integers_are_signed_or_not_according_to_their_names():
    assert dot("m16n8k64.s32.s4.u4.s32", "sm_80", [-8, 7], [15, 1], 0) == (-120 + 7) & 0xFFFF_FFFF


def test_one_bit_products_count_xor_or_and():
    xor, both = "m16n8k128.s32.b1.b1.s32.xor.popc", "m16n8k128.s32.b1.b1.s32.and.popc"
    a, b = [1, 1, 0, 0], [1, 0, 1, 0]
    assert dot(xor, "sm_80", a, b, 5) == 7
    assert dot(both, "sm_80", a, b, 5) == 6
    assert dot(xor, "sm_90", a, b, "0xFFFFFFFF") == 1


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize(("c", "d"), [(2.0**127, 0), (-(2.0**127), 0), (2.0**125, 0)])
def test_a_large_c_is_truncated_if_larger_products_cancel(arch, c, d):
    # 2**254 - 2**254 + c: c is below the last place kept. An NVIDIA H200 agrees (generator "extremes").
    assert dot(BF16, arch, [2.0**127, -(2.0**127)], [2.0**127, 2.0**127], c) == d


def test_a_huge_product_overflows_to_infinity_even_if_another_product_is_zero():
    assert dot(BF16, "sm_90", [2.0**127, 2.0**60], [0.0, 2.0**100]) == 0x7F80_0000


def test_a_zero_times_the_largest_number_does_not_raise_the_floor():
    terms = [2.0**e for e in range(-150, -159, -1)] + [2.0**-158, 0.0]
    ones = [2.0**-60] * 10 + [2.0**127]
    assert dot(BF16, "sm_90", [t * 2.0**60 for t in terms], ones) == 0x0000_0001


def test_a_subnormal_f16_c_is_aligned_at_the_smallest_normal_exponent():
    # -42 is 22 below the exponent of c's format, and 17 below that of its leading bit: it is kept, and breaks the tie.
    h = "m16n8k16.f16.f16.f16.f16"
    assert dot(h, "sm_90", [2.0**-12, 2.0**-21], [2.0**-13, 2.0**-21], "0x0002") == 0x0002


@pytest.mark.parametrize("c", ["0x80000001", "0x800003FF"])
def test_ada_fp8_truncates_a_small_negative_c_to_plus_zero(c):
    assert dot("m16n8k16.f32.e4m3.e4m3.f32", "sm_89", [], [], c) == 0


def test_ada_fp8_keeps_the_smallest_subnormals():
    assert dot("m16n8k16.f32.e4m3.e4m3.f32", "sm_89", [], [], "0x00000400") == 0x0000_0400


@pytest.mark.parametrize(("fmt", "value", "d"), [("e4m3", 1.875, 0x42E1_0000), ("e5m2", 1.75, 0x42C4_0000)])
def test_the_largest_significands_of_32_products_add_up(fmt, value, d):
    assert dot(f"m16n8k32.f32.{fmt}.{fmt}.f32", "sm_120", [value] * 32, [value] * 32) == d


def test_volta_m8n8k4_and_turing_m8n8k4_truncate_at_different_bits():
    m8 = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
    a, b = [1.0, 2.0**-12, 2.0**-12], [1.0, 2.0**-12, 2.0**-12]
    assert dot(m8, "sm_70", a, b) == f32(1.0)
    assert dot(m8, "sm_75", a, b) == f32(1 + 2.0**-23)


def test_ampere_tf32_takes_four_products_a_step():
    a = [1.0, 0.0, 0.0, 0.0, 1.0]
    assert dot(TF32, "sm_80", a, a, TWO_24) == f32(TWO_24)
    assert dot("m16n8k4.f32.tf32.tf32.f32", "sm_80", [1.0, 1.0], [1.0, 1.0], TWO_24) == f32(TWO_24 + 2)


def test_sm_120_takes_all_32_fp8_products_in_one_step_and_keeps_25_bits():
    a = [1.0, *[0.0] * 15, 1.0]
    assert dot(E4M3, "sm_120", a, a, TWO_24) == f32(TWO_24 + 2)
    assert dot("m16n8k32.f32.e5m2.e5m2.f32", "sm_120", [1.0, *[2.0**-13] * 4], [1.0, *[2.0**-12] * 4]) == f32(
        1 + 2.0**-23
    )
