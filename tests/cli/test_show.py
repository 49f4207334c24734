# SPDX-License-Identifier: MIT
from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from tests.representatives import REPRESENTATIVES
from wmma_emu.arithmetic import DotModel, model_for
from wmma_emu.arithmetic.lookup import alternatives_for
from wmma_emu.cli.show import _PARAMETERS
from wmma_emu.instructions import INSTRUCTIONS, Instruction, lookup, lowerings

F16 = "m16n8k16.f32.f16.f16.f32"
FP8 = "m16n8k32.f32.e4m3.e4m3.f32"


def joined(text: str) -> str:
    """Undo the wrapping of lines."""
    return " ".join(text.split())


def test_show_names_operands_with_shapes_layouts_registers_and_elements(run):
    lines = [x.split() for x in run("show", F16).out.splitlines()]
    assert lines[0] == ["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
    assert ["A", "f16", "16", "x", "16", "row", "4", "of", "32", "bits", "8"] in lines
    assert ["B", "f16", "16", "x", "8", "col", "2", "of", "32", "bits", "4"] in lines
    assert ["D", "f32", "16", "x", "8", "-", "4", "of", "32", "bits", "4"] in lines


SHOWN = {
    "sm_80": """sm_80 (Ampere): recorded
  computes      steps of 8 exact products and c, aligned to the largest exponent (at least -132),
                cut toward zero to 24 fraction bits, summed exactly, rounded RZ to f32
  parameters    terms_per_step=8, fraction_bits=24, min_exponent=-132, output=f32, rounding=RZ,
                k_order=ascending, c_joins=first_step, partial_sums=chained
  known from    published recordings of MATLAB-tensor-core (BSD-2-Clause), no mismatch: A100
  note          recorded through wmma, where mma.sync is the same machine instruction; 8 of 16
                products not zero, so that there are two steps of k: literature; specials, zero sums
                and min_exponent: literature
  machine code  1x HMMA.16816.F32
  code from     ptxas 13.0 and 12.8, cubins disassembled, 2026-11-20 (measured)
  layouts from  PTX ISA 9.1, section 9.7.14.5.8 (documented)
""",
    "sm_120": """sm_120 (Blackwell, GB20x): literature
  computes      steps of 16 exact products and c, aligned to the largest exponent (at least -133),
                cut toward zero to 25 fraction bits, summed exactly, rounded RZ to f32
  parameters    terms_per_step=16, fraction_bits=25, min_exponent=-133, output=f32, rounding=RZ,
                k_order=ascending, c_joins=first_step, partial_sums=chained
  known from    MMA-Sim (arXiv 2511.10909) and MATLAB-tensor-core agree
  machine code  1x HMMA.16816.F32
  code from     ptxas 13.0 and 12.8, cubins disassembled, 2026-11-20 (measured)
  layouts from  PTX ISA 9.1, section 9.7.14.5.8 (documented)
""",
}


@pytest.mark.parametrize("chip", SHOWN)
def test_show_describes_the_arithmetic_of_a_chip_and_its_source(run, chip):
    status, out, err = run("show", F16, "--arch", chip)
    assert (status, err) == (0, "") and out.endswith("\n\n" + SHOWN[chip])


def test_show_without_an_arch_has_all_chips_and_repeats_no_arithmetic(run):
    out = joined(run("show", F16).out)
    for title in ("sm_80 (Ampere): recorded", "sm_90 (Hopper): measured", "sm_120 (Blackwell, GB20x): literature"):
        assert title in out
    assert out.count("fraction_bits=24") == 1 and out.count("computes as on sm_80 ") == 2
    assert out.count("fraction_bits=25") == 1 and out.count("computes as on sm_90 ") == 4


def test_show_has_a_part_for_each_lowering_with_its_machine_code(run):
    out = joined(run("show", FP8, "--arch", "h200").out)
    assert "sm_90 (Hopper), lowering ptxas-12.8 (default): measured" in out
    assert "sm_90 (Hopper), lowering ptxas-12.4: inferred" in out
    assert out.count("machine code 2x HMMA.16816.F32") == 2
    assert "sm_89" in out and "sm_89 (Ada" not in out


def test_show_counts_duplicated_elements_and_independent_products(run):
    assert "16 (each element 2 times)" in run("show", "wmma.mma.m16n16k16.f32.f32").out
    assert "4 x 8 x 4" in run("show", "m8n8k4.f32.f16.f16.f32", "--arch", "v100").out
    assert "2 of 64 bits" in run("show", "m8n8k4.f64.f64.f64.f64", "--arch", "a100").out


def test_every_parameter_that_show_prints_is_a_field_of_a_model():
    names = {x.name for x in fields(DotModel)}
    assert set(_PARAMETERS) <= set(get_args(get_type_hints(DotModel)["arithmetic"]))
    for kind, parameters in _PARAMETERS.items():
        assert set(parameters) <= names, kind


def one_of_each_model():
    """An instruction and a chip for each arithmetic that instructions of a warp have."""
    found = {}
    for row in REPRESENTATIVES.values():
        for chip in row.archs:
            model = model_for(row, chip)
            found.setdefault((model.arithmetic, model.parameters), (row.mnemonic, chip))
    return found


def test_models_that_compute_differently_are_shown_differently(run):
    models = one_of_each_model()
    said = {}
    for mnemonic, chip in models.values():
        text = run("show", mnemonic, "--arch", chip).out.rpartition("  computes  ")[2]
        said.setdefault(text.partition("  known from")[0], []).append(mnemonic)
    assert len(said) == len(models), [names for names in said.values() if len(names) > 1]


def is_shown(row: Instruction) -> bool:
    """One instruction of each group that differs in n, or in the formats that a kind mixes."""
    return row.n != 24 and (row.a == row.b or not any("f8f6f4" in x for x in row.modifiers))


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("mnemonic", [x for x, row in REPRESENTATIVES.items() if is_shown(row)])
def test_every_instruction_can_be_shown(run, mnemonic):
    status, out, err = run("show", mnemonic)
    row = INSTRUCTIONS[mnemonic]
    assert (status, err) == (0, "")
    assert out.startswith(mnemonic + "\n")
    parts = sum(len(lowerings(row, chip)) for chip in row.archs)
    for label in ("computes", "known from", "machine code", "code from", "layouts from"):
        given = sum(line.startswith(f"  {label}  ") for line in out.splitlines())
        assert given == parts + (label == "known from") * (1 + row.is_sparse + row.is_block_scaled)


@pytest.mark.parametrize(("instruction", "sparsity", "nibbles", "selectors"), [
    ("mma.sp.m16n8k16.f32.f16.f16.f32", "2:4: A has elements in 2 of every 4 columns", 12,
     "lanes that hold it: 0: lane % 4 = 0; 1: lane % 4 = 1; 2: lane % 4 = 2; 3: lane % 4 = 3 "),
    ("mma.sp.m16n8k32.f32.f16.f16.f32", "2:4: ", 12, "0: lane % 4 = 0 or 1; 1: lane % 4 = 2 or 3 "),
    ("mma.sp::ordered_metadata.m16n8k32.s32.s8.s8.s32", "2:4: ", 6, "0: lane % 4 = 0 or 1; 1: lane % 4 = 2 or 3 "),
    ("mma.sp.m16n8k64.s32.s8.s8.s32", "2:4: ", 12, "0: lane % 4 = 0 or 1 or 2 or 3 "),
    ("mma.sp.m16n8k128.s32.s4.s4.s32", "4:8: A has elements in 4 of every 8 columns, in pairs of neighbours", 12,
     "0: lane % 4 = 0 or 1 or 2 or 3 "),
    ("mma.sp.m16n8k8.f32.tf32.tf32.f32", "1:2: A has elements in 1 of every 2 columns", 2, "0: lane % 4 = 0; "),
    ("wgmma.sp.m64n8k32.f32.f16.f16", "2:4: ", 12, "lanes of each warp that hold it: 0: lane % 4 = 0 or 1; 1: "),
])  # fmt: skip
def test_show_describes_the_sparsity_of_a_and_the_lanes_of_its_metadata(run, instruction, sparsity, nibbles, selectors):
    out = joined(run("show", instruction, "--arch", "h200").out) + " "
    assert f"sparsity {sparsity}" in out and selectors in out
    legal = out.split("columns of a row: ")[1].split(" selector ")[0].split()
    assert len(legal) == len(set(legal)) == nibbles and all(len(x) == 4 and set(x) <= set("01") for x in legal)


def test_show_says_that_a_sparse_a_is_packed_and_that_wgmma_has_b_in_shared_memory(run):
    lines = [x.split() for x in run("show", "wgmma.sp.m64n24k32.f32.bf16.bf16").out.split("\n")]
    assert ["A", "bf16", *"64 x 16 of 64 x 32 - 4 of 32 bits 8".split()] in lines
    assert ["B", "bf16", *"32 x 24 - in shared memory -".split()] in lines
    assert ["D", "f32", *"64 x 24 - 12 of 32 bits 12".split()] in lines
    assert not any("sparsity" in x for x in run("show", F16).out.splitlines())


MXF4 = "mma.sp::ordered_metadata.m16n8k128.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"


def test_show_says_where_narrow_values_and_block_scales_are_and_what_other_sources_say(run):
    out = joined(run("show", "m16n8k32.kind::mxf8f6f4.block_scale.f32.e2m1.e3m2.f32.ue8m0", "--arch", "sm_121").out)
    assert "Each value has a byte: of A in bits 5:2 and of B in bits 5:0 of it; the other bits are ignored." in out
    assert "block scales ue8m0: one for 32 columns in each row of A, and for 32 rows in each column of B reg" in out
    assert "byte-id 0, 1, 2, 3 and thread-id 0, 1 of scale_a; " in out
    out = joined(run("show", MXF4, "--arch", "sm_120").out)
    assert (
        "one for 64 columns in each row of A, and for 64 rows in each column of B (k includes the columns that" in out
    )
    assert "Each value has a byte" not in out and "scaling=groups, group_terms=" in out
    for row in alternatives_for(lookup(MXF4), "sm_120"):
        assert f"{row.name!r} ({row.status}: " in out


def test_show_describes_the_arithmetic_of_an_instruction_of_tensor_memory(run):
    name = "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X.m128n64k64.f32.e2m1.e2m1.ue8m0"
    status, out, err = run("show", name)
    assert (status, err) == (0, "")
    text = joined(out)
    assert "A 128 x 64 e2m1 B 64 x 64 e2m1 D 128 x 64 f32, in tensor memory" in text
    assert "one for 32 k, in tensor memory" in text and "wmma_emu.tcgen05 documents where" in text
    for title in ("sm_100 (Blackwell): literature", "sm_103 (Blackwell Ultra): inferred"):
        assert (
            f"{title} computes steps of 64 exact products, in groups of 16 that are summed exactly and multiplied by "
            "both scales, and c, aligned to the largest exponent of scales and c (at least -126), cut toward zero to "
            "35 fraction bits, summed exactly, rounded RZ to f32 parameters terms_per_step=64, "
        ) in text
