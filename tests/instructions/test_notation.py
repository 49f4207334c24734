# SPDX-License-Identifier: MIT
"""Machine code, CuTe atoms, fragments and words, read and written."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from wmma_emu.errors import CallError, UnsupportedInstructionError
from wmma_emu.formats.extension_dtypes import DTYPES
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, lookup, machine_instructions
from wmma_emu.instructions.family_names import FAMILY_NAMES, families_called
from wmma_emu.instructions.notation import cute_atoms, formats_called, machine_names, meaning_of
from wmma_emu.instructions.notation.machine_names import opcodes
from wmma_emu.instructions.spec import Family

ATOMS = Path(__file__).parent / "data" / "cute_atoms.txt"


def cutlass_names() -> Iterator[str]:
    """Every recorded name of CUTLASS, with its template arguments where it is specialised for them."""
    for line in ATOMS.read_text().splitlines():
        name, *values = line.split()
        if name == "#":
            continue
        if values == ["8..256"]:
            values = [str(n) for n in range(8, 257, 8)]
        for value in values:
            a, _, b = value.partition(".")
            yield name.replace("#", f"float_{a}_t,float_{b}_t" if b else value)
        if not values:
            yield name


NAMES = list(cutlass_names())
NO_MATRIX = {"SM61_DP2A", "SM61_DP4A", "SM100_1x2x1_F32F32F32F32", "SM100_2x1x1_F32F32F32F32"}


def test_every_atom_of_cutlass_resolves_except_four_that_are_not_matrix_instructions():
    refused = set()
    for name in NAMES:
        try:
            meaning = meaning_of(name)
        except UnsupportedInstructionError as error:
            assert "is not a matrix instruction but" in str(error)
            refused.add(name)
        else:
            assert meaning.notation == "cute"
    assert refused == NO_MATRIX


def test_every_atom_that_is_written_is_one_of_cutlass_and_reads_back_as_its_instruction():
    known = {name.replace(",VS>", ">") for name in NAMES}
    written = set()
    for row in INSTRUCTIONS.values():
        for name in cute_atoms(row):
            assert meaning_of(name).instructions == (row,), name
            plain = name.replace(" ", "")
            assert plain in known or plain.rpartition(",")[0] + ">" in known, name
            assert name not in written, name
            written.add(name)
    families = {row.family for row in INSTRUCTIONS.values() if cute_atoms(row)}
    assert families == {"mma.sync", "mma.sp::ordered_metadata", "wgmma", "wgmma.sp"}


def test_an_instruction_without_an_atom_has_none():
    assert cute_atoms(lookup("wmma.mma.m16n16k16.f32.f32")) == ()
    assert cute_atoms(lookup("m16n8k16.f32.e4m3.e4m3.f32")) == ()
    assert cute_atoms(lookup("m8n8k4.rz.f64.f64.f64.f64")) == ()


@pytest.mark.parametrize(
    ("text", "short", "operand"),
    [
        ("sm80_16x8x16_f32f16f16f32_tn", "m16n8k16.f32.f16.f16.f32", None),
        ("cute::MMA_Atom<cute::SM80_16x8x8_F32TF32TF32F32_TN>", "m16n8k8.f32.tf32.tf32.f32", None),
        ("MMA_Traits<SM90::GMMA::MMA_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>>",
         "wgmma.m64n64k16.f32.f16.f16", None),
        ("SM70_8x8x4_F32F16F16F32_NT", "mma.m8n8k4.col.row.f32.f16.f16.f32", None),
        ("SM70_8x8x4_F16F16F16F16_TN", "m8n8k4.f16.f16.f16.f16", None),
        ("SM90_16x8x4_F64F64F64F64_TN", "m16n8k4.f64.f64.f64.f64", None),
        ("SM80_8x8x4_C64C64C64C64_TN", "m8n8k4.f64.f64.f64.f64", None),
        ("SM80_16x8x256_S32U1U1S32_TN_XORPOPC", "m16n8k256.s32.b1.b1.s32.xor.popc", None),
        ("SM80_SPARSE_16x8x32_F32F16F16F32_TN", "mma.sp.m16n8k32.f32.f16.f16.f32", None),
        ("SM90::GMMA::SPARSE::GMMA_64x8x32_F16F16F16_RS", "wgmma.sp.m64n8k32.f16.f16.f16", None),
        ("SM120_16x8x32_TN<cutlass::float_e5m2_t, cutlass::float_e2m1_t, float>",
         "m16n8k32.kind::f8f6f4.f32.e5m2.e2m1.f32", None),
        ("SM120::BLOCKSCALED::SM120_16x8x64_TN_VS<float_e2m1_t, float_e2m1_t, float, float_ue8m0_t, 32>",
         "m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", None),
        ("SM100_MMA_TF32_SS<tfloat32_t, tfloat32_t, float, 64, 128, UMMA::Major::K, UMMA::Major::K>",
         "tcgen05.mma.cta_group::1.kind::tf32.m64n128k8.f32.tf32.tf32", None),
        ("SM103_MXF4_ULTRA_2x1SM_SS_VS",
         "tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block16.m256n256k96.f32.e2m1.e2m1.ue4m3", None),
        ("SM100_MMA_MXF4_SS<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, 128, 64, 16>",
         "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X.m128n64k64.f32.e2m1.e2m1.ue4m3", None),
        ("IMMA.16832.S8.S8.SAT", "m16n8k32.satfinite.s32.s8.s8.s32", None),
        ("qgmma.64x64x32.f32.e4m3.e4m3", "wgmma.m64n64k32.f32.e4m3.e4m3", None),
        ("HGMMA.64x128x16.F32.BF16", "wgmma.m64n128k16.f32.bf16.bf16", None),
        ("DMMA.884", "m8n8k4.f64.f64.f64.f64", None),
        ("@P0 HMMA.16816.F32.reuse R4, R8.reuse, R12, R4 ;", "m16n8k16.f32.f16.f16.f32", None),
        ("HMMA", "m16n8k8.f32.f16.f16.f32", None),
        ("wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>", "wmma.mma.m16n16k16.f32.f32", "a"),
        ("nvcuda::wmma::fragment<nvcuda::wmma::matrix_b,32,8,16,__nv_bfloat16,nvcuda::wmma::row_major> b_frag;",
         "wmma.mma.row.row.m32n8k16.f32.bf16.bf16.f32", "b"),
        ("fragment<accumulator, 16, 16, 16, half>", "wmma.mma.m16n16k16.f16.f16", "d"),
        ("wmma::fragment<wmma::accumulator, 16, 16, 8, float>", "wmma.mma.m16n16k8.f32.tf32.tf32.f32", "d"),
        ("wmma::fragment<wmma::matrix_a, 8, 8, 32, wmma::experimental::precision::s4, wmma::row_major>",
         "wmma.mma.m8n8k32.s32.s4.s4.s32", "a"),
        ("wmma::fragment<wmma::matrix_a, 16, 16, 16, unsigned char, wmma::col_major>",
         "wmma.mma.col.col.m16n16k16.s32.u8.u8.s32", "a"),
        ("wmma::fragment<wmma::matrix_a, 16, 16, 16, half", "wmma.mma.m16n16k16.f32.f32", "a"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2}, {%r1};", "m16n8k16.f32.f16.f16.f32", None),
        ("mma.sync.aligned.kind::f8f6f4.sp::ordered_metadata.m16n8k64.row.col.f32.e2m1.e2m1.f32",
         "mma.sp::ordered_metadata.m16n8k64.kind::f8f6f4.f32.e2m1.e2m1.f32", None),
        ("m16n8k16", "m16n8k16.f32.f16.f16.f32", None),
        ("16x8x16 bf16", "m16n8k16.f32.bf16.bf16.f32", None),
        ("fp8", "m16n8k16.f32.e4m3.e4m3.f32", None),
        ("wgmma", "wgmma.m64n8k16.f32.f16.f16", None),
        ("wmma", "wmma.mma.m16n16k16.f32.f32", None),
        ("hopper wgmma fp8", "wgmma.m64n8k32.f32.e4m3.e4m3", None),
        ("sparse int8", "mma.sp.m16n8k32.s32.s8.s8.s32", None),
        ("nvfp4", "m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", None),
    ],
)  # fmt: skip
def test_what_people_type_means_the_instruction(text: str, short: str, operand: str | None):
    meaning = meaning_of(text)
    assert (meaning.instruction.mnemonic, meaning.operand) == (lookup(short).mnemonic, operand)


def test_every_mnemonic_of_the_table_means_itself_alone():
    for row in list(INSTRUCTIONS.values())[::7]:
        assert meaning_of(row.mnemonic).instructions == meaning_of(row.short_mnemonic).instructions == (row,)


def test_every_machine_instruction_finds_what_becomes_it_on_each_chip():
    for row in list(INSTRUCTIONS.values())[::23]:
        for arch in row.archs:
            for name in opcodes(machine_instructions(row, arch).text):
                assert row in meaning_of(name.lower(), arch).instructions, (name, arch)
                assert name in machine_names(row, arch)


def test_machine_code_says_on_which_chip_it_means_what():
    assert meaning_of("HMMA.16816.F32").arch == "sm_90"
    assert meaning_of("QMMA.16832.F32.E4M3.E4M3").arch == "sm_89"
    assert meaning_of("HMMA.884.F32.F32", "v100").arch == "sm_70"
    assert [x.short_mnemonic for x in meaning_of("HMMA.16816.F32", "a100").instructions[:2]] == [
        "m16n8k16.f32.f16.f16.f32", "wmma.mma.m16n16k16.f32.f32",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["HMMA.16816.F32", "SM80_16x8x16_F32F16F16F32_TN", "bf16",
                                  "fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major>"])  # fmt: skip
@pytest.mark.parametrize("arch", ARCHS)
def test_with_a_chip_only_what_it_has_is_meant(text: str, arch: str):
    try:
        meaning = meaning_of(text, arch)
    except UnsupportedInstructionError as error:
        assert arch in str(error) and ARCHS[arch].number < 80
    else:
        assert all(arch in row.archs for row in meaning.instructions)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("HMMA.16832.F32", "the nearest machine instructions are HMMA.SP.16832.F32, HMMA.1688.F32, HMMA.16816.F32"),
        ("SM80_16x8x16_F32F16F16F32_NN", "the nearest are SM80_16x8x16_F32F16F16F32_TN"),
        ("SM75_16x8x16_F32F16F16F32_TN", "the nearest are"),
        ("SM90_64x12x16_F32F16F16_SS", "the nearest are SM90_64x16x16_F32F16F16_SS, SM90_64x8x16"),
        ("SM80_", "atoms are named like SM80_16x8x16_F32F16F16F32_TN"),
        ("SM100_MMA_F16_SS", "SM100_MMA_F16BF16_SS"),
        ("SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 100>", "the nearest is 96"),
        ("fragment<matrix_a, 16, 16, 32, half, row_major>", "WMMA has no m16n16k32; it has m16n16k16"),
        ("fragment<matrix_a, 16, 16, 16, double, row_major>", "m16n16k16 has no double for this operand; it has f16"),
        ("fragment<matrix_a, 8, 8, 32, precision::s4, col_major>", "accepts only row_major"),
        ("fragment<accumulator, 16, 16, 16, float, row_major>", "an accumulator, which has none"),
        ("fragment<matrix_c, 16, 16, 16, float>", "Uses are matrix_a, matrix_b, accumulator"),
        ("m16n8k16 quux", "no instruction has 'quux'"),
        ("wgmma wmma fp64", "not all together"),
        ("m16n8k16.f16.bf16.bf16.f16", "with bf16 operands there is f32.bf16.bf16.f32"),
        ("", "an empty string names no instruction"),
        ("HMMA" * 200, "800 characters are too long for the name of an instruction"),
    ],
)
def test_unknown_text_gets_the_nearest_suggestions(text: str, said: str):
    with pytest.raises(UnsupportedInstructionError) as caught:
        meaning_of(text)
    assert said in str(caught.value)


def test_a_name_is_text():
    with pytest.raises(CallError):
        meaning_of(16)  # type: ignore[arg-type]


def test_formats_are_called_as_the_dtypes_of_their_arrays_are():
    own = {name: dtype for name, dtype in DTYPES.items() if name not in ("tf32", "ue4m3", "b1")}  # which have none
    assert [name for name, dtype in own.items() if name not in formats_called(dtype.name)] == []


def test_formats_have_the_names_of_every_language():
    assert formats_called("__half") == formats_called("half_t") == formats_called("fp16") == ("f16",)
    assert formats_called("torch.bfloat16") == formats_called("__nv_bfloat16") == ("bf16",)
    assert formats_called("fp8") == ("e4m3", "e5m2") and formats_called("unsigned  char") == ("u8",)
    assert formats_called("f16") == ("f16",) and formats_called("") == ()


@pytest.mark.parametrize("text", ["HMMA.\uff11\uff16\uff18\uff11\uff16.F32", "m16n8k16\x00", "m16n8k\u0661\u0666 f16"])
def test_digits_and_signs_that_are_not_ascii_name_no_instruction(text):
    with pytest.raises(UnsupportedInstructionError, match="only ASCII letters and digits"):
        meaning_of(text)


def test_shapes_may_have_multiplication_signs():
    assert meaning_of("16\u00d78\u00d716 bf16").instructions == meaning_of("m16n8k16 bf16").instructions


def test_every_family_has_its_words_and_each_word_finds_it():
    assert set(FAMILY_NAMES) == set(get_args(Family))
    assert all(family in families_called(word.upper()) for family, words in FAMILY_NAMES.items() for word in words)
    assert all((".sp" in family) == ("sparse" in words) != ("dense" in words) for family, words in FAMILY_NAMES.items())
