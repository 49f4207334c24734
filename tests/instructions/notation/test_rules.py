# SPDX-License-Identifier: MIT
"""The rules of other names of instructions, one fact each: machine code, CuTe atoms, fragments, words, formats."""

import pytest

from wmma_emu.errors import CallError, UnsupportedInstructionError
from wmma_emu.instructions import lookup
from wmma_emu.instructions.notation import cute_atoms, formats_called, machine_names, meaning_of

F16 = "m16n8k16.f32.f16.f16.f32"


def short(text, arch=None):
    return meaning_of(text, arch).instruction.short_mnemonic


def notation(text):
    return meaning_of(text).notation


@pytest.mark.parametrize("text", [F16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"])
def test_a_mnemonic_means_itself_alone(text):
    assert [x.short_mnemonic for x in meaning_of(text).instructions] == [F16]


def test_the_operands_of_a_ptx_statement_are_ignored():
    assert short("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2}, {%r1};") == F16


def test_a_cute_atom_states_chip_shape_and_formats_in_the_order_d_a_b_c():
    assert short("SM80_16x8x16_F32F16F16F32_TN") == F16
    assert short("SM80_16x8x32_S32S8U8S32_TN") == "m16n8k32.s32.s8.u8.s32"
    assert notation("SM80_16x8x16_F32F16F16F32_TN") == "cute"


def test_the_case_and_the_wrappers_of_an_atom_do_not_matter():
    assert short("cute::MMA_Atom<cute::SM80_16x8x16_F32F16F16F32_TN>") == short("sm80_16x8x16_f32f16f16f32_tn") == F16


def test_t_and_n_of_an_atom_are_row_and_col_for_a_and_col_and_row_for_b():
    assert short("SM70_8x8x4_F32F16F16F32_TN") == "m8n8k4.f32.f16.f16.f32"
    assert short("SM70_8x8x4_F32F16F16F32_NT") == "m8n8k4.col.row.f32.f16.f16.f32"


def test_an_instruction_has_the_names_of_its_atoms_or_none():
    assert cute_atoms(lookup(F16)) == ("SM80_16x8x16_F32F16F16F32_TN",)
    assert cute_atoms(lookup("wmma.mma.m16n16k16.f32.f32")) == ()


def test_machine_code_means_the_instruction_that_becomes_it():
    assert short("HMMA.16816.F32") == F16
    assert short("DMMA.884") == "m8n8k4.f64.f64.f64.f64"


def test_predicates_registers_and_reuse_in_machine_code_are_ignored():
    assert short("@P0 HMMA.16816.F32.reuse R4, R8.reuse, R12, R4 ;") == F16


def test_machine_code_may_stand_for_several_instructions_the_plainest_first():
    assert [x.short_mnemonic for x in meaning_of("HMMA.16816.F32", "a100").instructions[:2]] == [
        F16, "wmma.mma.m16n16k16.f32.f32",
    ]  # fmt: skip


def test_an_instruction_has_the_machine_names_of_a_chip():
    assert machine_names(lookup(F16), "sm_90") == ("HMMA.16816.F32",)
    assert machine_names(lookup("m16n8k8.f32.f16.f16.f32"), "sm_75") == ("HMMA.1688.F32",)


@pytest.mark.parametrize(("text", "mnemonic", "operand"), [
    ("wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>", "wmma.mma.m16n16k16.f32.f32", "a"),
    ("fragment<accumulator, 16, 16, 16, half>", "wmma.mma.m16n16k16.f16.f16", "d"),
])  # fmt: skip
def test_a_fragment_means_the_instruction_and_the_operand_that_it_holds(text, mnemonic, operand):
    assert (short(text), meaning_of(text).operand) == (mnemonic, operand)


def test_words_combine_and_may_name_a_family_a_generation_a_shape_and_a_format():
    assert short("16x8x16 bf16") == "m16n8k16.f32.bf16.bf16.f32"
    assert short("hopper wgmma fp8") == "wgmma.m64n8k32.f32.e4m3.e4m3"
    assert short("sparse int8") == "mma.sp.m16n8k32.s32.s8.s8.s32"


def test_with_a_chip_only_instructions_of_that_chip_are_meant():
    assert all("sm_75" in x.archs for x in meaning_of("f16", "t4").instructions)
    with pytest.raises(UnsupportedInstructionError, match="sm_75"):
        meaning_of("HMMA.16816.F32", "t4")


@pytest.mark.parametrize(("text", "said"), [
    ("SM80_16x8x16_F32F16F16F32_NN", "the nearest are SM80_16x8x16_F32F16F16F32_TN"),
    ("HMMA.16832.F32", "the nearest machine instructions are HMMA.SP.16832.F32"),
    ("m16n8k16 quux", "no instruction has 'quux'"),
    ("fragment<matrix_a, 16, 16, 32, half, row_major>", "WMMA has no m16n16k32"),
])  # fmt: skip
def test_a_name_that_means_nothing_is_an_error_with_the_nearest_names(text, said):
    with pytest.raises(UnsupportedInstructionError) as caught:
        meaning_of(text)
    assert said in str(caught.value)


def test_a_name_is_text():
    with pytest.raises(CallError):
        meaning_of(16)


def test_formats_have_the_names_of_every_language():
    assert formats_called("__half") == formats_called("half_t") == formats_called("fp16") == ("f16",)
    assert formats_called("torch.bfloat16") == formats_called("__nv_bfloat16") == ("bf16",)
    assert formats_called("fp8") == ("e4m3", "e5m2")
    assert formats_called("nosuch") == ()
