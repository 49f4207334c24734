# SPDX-License-Identifier: MIT
"""The table of models is complete: every legal (instruction, chip) has its row, and every row serves somebody."""

import pytest

from wmma_emu.arithmetic import FMA_F32, MODELS, model_for, models_for
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.formats import format_of
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, lookup, lowerings

STATUSES = {"measured", "recorded", "literature", "documented", "inferred"}
PAIRS = [(row, arch) for row in INSTRUCTIONS.values() for arch in row.archs]


def test_every_legal_instruction_has_one_model_for_each_lowering():
    for row, arch in PAIRS:
        names = [model.lowering for model in models_for(row, arch)]
        assert names, (row.mnemonic, arch)
        assert len(set(names)) == len(names), (row.mnemonic, arch, names)
        assert tuple(names) == lowerings(row, arch), (row.mnemonic, arch, names)


def test_every_model_serves_an_instruction():
    used = {id(model) for row, arch in PAIRS for model in models_for(row, arch)}
    assert [model for model in MODELS if id(model) not in used] == []


@pytest.mark.parametrize(
    "model", [*MODELS, FMA_F32.model], ids=lambda m: f"{m.arch}-{m.inputs[0]}-{m.accumulator}-{m.lowering}"
)
def test_every_model_names_its_source_and_status(model):
    assert model.status in STATUSES
    assert len(model.source) > 10
    assert model.describe()
    assert model.arch in ARCHS or model.arch == "every chip"
    assert format_of(model.accumulator)


def test_no_two_rows_serve_the_same_instruction_with_different_arithmetic():
    rows = {
        (m.arch, f, s, i, m.accumulator, m.lowering)
        for m in MODELS
        for f in m.families
        for s in m.shapes
        for i in m.inputs
    }
    assert len(rows) == sum(len(m.families) * len(m.shapes) * len(m.inputs) for m in MODELS)


def test_an_unknown_lowering_is_refused_by_name():
    with pytest.raises(UnsupportedInstructionError, match=r"no lowering 'ptxas-11'; it has 'ptxas-12.8', 'ptxas-12.4'"):
        model_for(lookup("m16n8k32.f32.e4m3.e4m3.f32"), "sm_90", "ptxas-11")


def test_a_chip_without_the_instruction_is_refused():
    with pytest.raises(UnsupportedInstructionError, match="not legal on sm_70"):
        model_for(lookup("m16n8k16.f32.bf16.bf16.f32"), "sm_70")
