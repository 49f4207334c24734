# SPDX-License-Identifier: MIT
"""The table of models is complete: every legal (instruction, chip) has a model, and every model is used."""

from collections import Counter

import pytest

from tests.arithmetic.helpers import tensor_instructions
from wmma_emu.arithmetic import (
    FMA_F32,
    MODELS,
    DotProduct,
    alternatives_for,
    dot_product_of,
    model_for,
    models_for,
)
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.formats import format_of
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, lookup, lowerings

STATUSES = {"measured", "recorded", "literature", "documented", "inferred"}
PAIRS = [(row, arch) for row in INSTRUCTIONS.values() for arch in row.archs]
TENSOR_PAIRS = [(row, arch) for row in tensor_instructions() for arch in row.archs]


def test_every_legal_instruction_has_one_model_for_each_lowering():
    for row, arch in PAIRS:
        names = [model.lowering for model in models_for(row, arch)]
        assert names, (row.mnemonic, arch)
        assert len(set(names)) == len(names), (row.mnemonic, arch, names)
        assert tuple(names) == lowerings(row, arch), (row.mnemonic, arch, names)


def test_every_legal_tensor_instruction_has_one_model():
    for row, arch in TENSOR_PAIRS:
        assert len(models_for(row, arch)) == 1, (row.mnemonic, arch)


def test_every_model_belongs_to_an_instruction():
    served = [models_for(row, arch) + alternatives_for(row, arch) for row, arch in PAIRS + TENSOR_PAIRS]
    used = {id(model) for models in served for model in models}
    assert [model for model in MODELS if id(model) not in used] == []


def test_alternatives_have_distinct_names_and_different_arithmetic():
    for row, arch in PAIRS + TENSOR_PAIRS:
        models = models_for(row, arch)[:1] + alternatives_for(row, arch)
        assert len({model.name for model in models}) == len(models), (row.mnemonic, arch)
        assert len({model.parameters for model in models}) == len(models), (row.mnemonic, arch)


def test_block_scales_and_models_with_scales_belong_together():
    for row, arch in PAIRS + TENSOR_PAIRS:
        for model in models_for(row, arch) + alternatives_for(row, arch):
            assert bool(model.scaling) == row.is_block_scaled, (row.mnemonic, arch)
            product = DotProduct.of(model, row)
            assert product.scale_vec * product.scale_block == (row.terms if row.is_block_scaled else 0)


def test_chips_of_one_family_of_targets_have_the_same_arithmetic():
    for relative, arch in (("sm_103", "sm_100"), ("sm_121", "sm_120")):
        rows = [row for row, chip in PAIRS + TENSOR_PAIRS if chip == arch and relative in row.archs]
        assert {row.family for row in rows} >= {"mma.sync", "wmma.mma", "mma.sp", "mma.sp::ordered_metadata"}
        for row in rows:
            mine, others = models_for(row, relative), models_for(row, arch)
            assert [x.parameters for x in mine] == [x.parameters for x in others], row.mnemonic
            assert {x.status for x in mine} <= {"inferred", "documented"}, row.mnemonic


def test_models_without_a_source_do_not_have_the_status_literature():
    """Check FP6 in either operand, a sparse A, .ws; and chips other than the B200 of the DeepGEMM measurements."""
    seen = set()
    for row, arch in PAIRS + TENSOR_PAIRS:
        if arch not in ("sm_100", "sm_120") or row.format("a").kind != "float":
            continue
        unseen = {row.a, row.b} & {"e3m2", "e2m3"} or row.is_sparse or ".ws" in row.family
        for model in models_for(row, arch) + alternatives_for(row, arch):
            unseen_here = unseen or (model.name.startswith("F=") and arch != "sm_100")
            assert model.status == "inferred" or not unseen_here, (row.mnemonic, arch, model.name)
            assert model.status != "measured", (row.mnemonic, arch)
            seen.add((bool(unseen_here), model.status))
    assert {(True, "inferred"), (False, "literature"), (False, "recorded")} <= seen


@pytest.mark.parametrize(
    ("pair", "arch", "status"),
    [("e4m3.e2m3", "sm_120", "inferred"), ("e2m1.e3m2", "sm_120", "inferred"), ("e3m2.e4m3", "sm_120", "inferred"),
     ("e4m3.e2m1", "sm_120", "literature"), ("e2m1.e5m2", "sm_120", "literature"), ("e4m3.e4m3", "sm_121", "inferred")],
)  # fmt: skip
def test_the_status_depends_on_the_formats_of_both_operands(pair, arch, status):
    plain = model_for(lookup(f"m16n8k32.kind::f8f6f4.f32.{pair}.f32"), arch)
    scaled = model_for(lookup(f"m16n8k32.kind::mxf8f6f4.block_scale.f32.{pair}.f32.ue8m0"), arch)
    assert (plain.status, scaled.status) == (status, status)


def test_fp8_of_warps_on_blackwell_is_one_step_in_hardware_and_f16_in_software():
    ins = lookup("m16n8k32.kind::f8f6f4.f32.e4m3.e5m2.f32")
    assert {arch: model_for(ins, arch).operand_format for arch in ins.archs} == {
        "sm_100": "f16", "sm_103": "f16", "sm_120": "", "sm_121": "",
    }  # fmt: skip
    assert model_for(ins, "sm_121").terms_per_step == 32


def test_models_of_groups_are_named_by_their_difference():
    ins = lookup("m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0")
    names = ["F=34", "F=36", "F=37", "zero groups aligned", "groups of 32", "min_exponent=-143"]
    assert [model.name for model in alternatives_for(ins, "sm_120")] == names
    # A group of 32 would have two scales of A here.
    ins = lookup("m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3")
    assert [model.name for model in alternatives_for(ins, "sm_120")] == [x for x in names if x != "groups of 32"]


def test_an_unknown_model_is_rejected_by_name():
    turing = lookup("m16n8k8.f32.f16.f16.f32")
    with pytest.raises(UnsupportedInstructionError, match=r"no model 'F=99'; it has '4 terms'; omit model"):
        model_for(turing, "sm_75", model="F=99")
    with pytest.raises(UnsupportedInstructionError, match=r"no model 5; it has only one model"):
        model_for(turing, "sm_80", model=5)
    assert dot_product_of(turing, "sm_75", model="4 terms").steps == ((0, 1, 2, 3), (4, 5, 6, 7))


@pytest.mark.parametrize(
    "model", [*MODELS, FMA_F32.model], ids=lambda m: f"{m.arch}-{m.inputs[0]}-{m.accumulator}-{m.name or m.lowering}"
)
def test_every_model_names_its_source_and_status(model):
    assert model.status in STATUSES
    assert len(model.source) > 10
    assert model.describe()
    assert model.arch in ARCHS or model.arch == "every chip"
    assert format_of(model.accumulator)


def test_no_two_default_models_give_an_instruction_different_arithmetic():
    served = Counter(
        (m.arch, f, s, i, b, m.accumulator, m.lowering, m.scaling, m.name)
        for m in MODELS
        for f in m.families
        for s in m.shapes
        for i in m.inputs
        for b in m.b_inputs or ("any",)
    )
    assert [what for what, models in served.items() if models > 1] == []


def test_an_unknown_lowering_is_rejected_by_name():
    with pytest.raises(UnsupportedInstructionError, match=r"no lowering 'ptxas-11'; it has 'ptxas-12.8', 'ptxas-12.4'"):
        model_for(lookup("m16n8k32.f32.e4m3.e4m3.f32"), "sm_90", "ptxas-11")


def test_a_chip_without_the_instruction_is_rejected():
    with pytest.raises(UnsupportedInstructionError, match="not legal on sm_70"):
        model_for(lookup("m16n8k16.f32.bf16.bf16.f32"), "sm_70")
