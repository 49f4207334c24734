# SPDX-License-Identifier: MIT
"""Facts about the tables of instructions, one at a time: legal names, chips, machine code, defaults."""

import pytest

from wmma_emu.errors import UnknownNameError, UnsupportedInstructionError
from wmma_emu.instructions import arch_of, default_instruction, instructions_of, lookup
from wmma_emu.instructions.machine import lowerings, machine_instructions
from wmma_emu.instructions.notation import meaning_of
from wmma_emu.instructions.tensor import tensor_instruction, tensor_instruction_named


def test_optional_parts_of_a_mnemonic_may_be_omitted():
    assert str(lookup("m16n8k16.f32.bf16.bf16.f32")) == "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"


def test_a_modifier_may_be_anywhere():
    full = "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32"
    assert lookup("m16n8k32.satfinite.s32.s8.s8.s32").mnemonic == full
    assert lookup("m16n8k32.s32.s8.s8.s32.satfinite").mnemonic == full


def test_bf16_products_have_no_f16_accumulators():
    with pytest.raises(UnsupportedInstructionError, match=r"with bf16 operands there is f32\.bf16\.bf16\.f32"):
        lookup("m16n8k16.f16.bf16.bf16.f16")


def test_an_older_chip_does_not_support_fp8():
    with pytest.raises(UnsupportedInstructionError, match="the first chip that supports it is sm_89"):
        lookup("m16n8k32.f32.e4m3.e4m3.f32", arch="sm_80")


def test_wgmma_exists_on_hopper_only():
    assert lookup("wgmma.m64n8k16.f32.f16.f16").archs == ("sm_90",)


def test_wgmma_reads_b_from_shared_memory():
    ins = lookup("wgmma.m64n8k16.f32.f16.f16")
    assert [ins.place(x) for x in "abcd"] == ["registers", "shared memory", "registers", "registers"]
    assert ins.registers("b") == 0


def test_registers_hold_32_bits_of_a_warp():
    # 16 x 16 and 16 x 8 elements of 16 bits, 16 x 8 of 32 bits, over 32 lanes.
    assert lookup("m16n8k16.f32.f16.f16.f32").num_registers == (4, 2, 4, 4)


def test_a_sparse_a_is_half_as_wide_as_k():
    ins = lookup("mma.sp.m16n8k32.f32.f16.f16.f32")
    assert (ins.k, ins.terms, ins.matrix_shape("a"), ins.matrix_shape("b")) == (32, 16, (16, 16), (32, 8))


def test_a_narrow_element_of_f8f6f4_is_padded_to_a_byte():
    ins = lookup("m16n8k32.kind::f8f6f4.f32.e2m1.e3m2.f32")
    assert tuple(ins.container("a")) == (8, 2)
    assert tuple(ins.container("b")) == (8, 0)


def test_names_of_chips_are_targets_generations_and_products():
    assert [arch_of(x).name for x in ("sm_90a", "hopper", "NVIDIA H100 80GB HBM3", "4090")] == ["sm_90"] * 3 + ["sm_89"]


def test_an_unknown_chip_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match=r"did you mean 'hopper' \(sm_90\)"):
        arch_of("hoper")


def test_other_vendors_chips_are_named_as_such():
    with pytest.raises(UnknownNameError, match="it is AMD's, and only NVIDIA's chips are modelled"):
        arch_of("mi300x")


def test_the_default_instruction_is_the_widest_mma_of_the_formats():
    assert default_instruction("e4m3", "e5m2", "sm_89").short_mnemonic == "m16n8k32.f32.e4m3.e5m2.f32"


def test_float32_has_no_default_instruction():
    with pytest.raises(UnsupportedInstructionError, match="no matrix instruction multiplies f32 by f32"):
        default_instruction("f32", "f32", "sm_90")


def test_queries_combine_properties():
    found = instructions_of("sm_90", family="mma.sync", a="f16", d="f16", shape="m16n8k16")
    assert [x.short_mnemonic for x in found] == ["m16n8k16.f16.f16.f16.f16"]


def test_a_wmma_product_is_two_machine_instructions_on_ampere():
    assert machine_instructions("wmma.mma.m16n16k16.f32.f32", "sm_80").text == "2x HMMA.16816.F32"


def test_toolchains_differ_for_fp8_on_hopper_and_agree_on_ada():
    assert lowerings("m16n8k32.f32.e4m3.e4m3.f32", "sm_90") == ("ptxas-12.8", "ptxas-12.4")
    assert lowerings("m16n8k32.f32.e4m3.e4m3.f32", "sm_89") == ("native",)


def test_machine_code_and_cute_atoms_name_instructions():
    assert meaning_of("HMMA.16816.F32.BF16").instruction.short_mnemonic == "m16n8k16.f32.bf16.bf16.f32"
    assert meaning_of("SM89_16x8x32_F32E4M3E5M2F32_TN").instruction.short_mnemonic == "m16n8k32.f32.e4m3.e5m2.f32"


def test_a_tcgen05_mma_is_named_by_kind_and_descriptor():
    ins = tensor_instruction("f16", 128, 256, "f32", "f16", "f16")
    assert str(ins) == "tcgen05.mma.cta_group::1.kind::f16.m128n256k16.f32.f16.f16"
    assert tensor_instruction_named("tcgen05.mma.kind::f16.m128n256.f32.f16.f16") is ins
    assert ins.archs == ("sm_100", "sm_103")


def test_n_of_a_tcgen05_mma_is_a_multiple_of_eight():
    with pytest.raises(UnsupportedInstructionError, match="8 to 256 in steps of 8: the nearest is 96"):
        tensor_instruction("f16", 64, 100, "f32", "f16", "f16")
