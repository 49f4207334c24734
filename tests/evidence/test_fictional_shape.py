# SPDX-License-Identifier: MIT
"""A shape that no GPU has, added to every table: nothing that was run may be said of it."""

from dataclasses import replace

import pytest

from wmma_emu.arithmetic import lookup as models
from wmma_emu.arithmetic import model_for, table
from wmma_emu.instructions import lookup, machine, machine_instructions
from wmma_emu.instructions.table import GROUPS
from wmma_emu.layouts import layout_for

CHIPS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "sm_121")
NEAREST = lookup("m16n8k16.f32.f16.f16.f32")
FICTIONAL = replace(NEAREST, k=32, num_registers=(8, 4, 4, 4))


@pytest.fixture
def added(monkeypatch):
    """The tables with the shape m16n8k32 of f16, and a figure of its layouts that it has not."""
    monkeypatch.setattr(table, "_F16_MMA", (*table._F16_MMA, "m16n8k32"))
    rows = (*table._ampere_and_ada(), *table._hopper_and_blackwell())
    monkeypatch.setattr(models, "MODELS", rows)
    row = GROUPS[NEAREST.mnemonic]
    monkeypatch.setitem(GROUPS, FICTIONAL.mnemonic, row._replace(shapes="m16n8k16 m16n8k32", figures="8 8"))
    caches = (models._rows_for, models.models_for, machine._code_entry)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def test_the_shape_is_one_that_does_not_exist():
    assert FICTIONAL.mnemonic == "mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
    assert not model_exists(FICTIONAL)


def model_exists(row):
    return any(models.models_for(row, chip) for chip in CHIPS)


@pytest.mark.parametrize("chip", CHIPS)
def test_its_arithmetic_is_inferred_and_claims_no_dot_products(added, chip):
    model = model_for(FICTIONAL, chip)
    assert (model.status, model.note) == ("inferred", "")
    assert "1.03e10" not in model.source and "recordings" not in model.source
    assert model.parameters == model_for(NEAREST, chip).parameters


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("operand", "abcd")
def test_its_layouts_are_inferred(added, chip, operand):
    layout = layout_for(FICTIONAL, operand, chip)
    assert layout.status == "inferred" and "H200" not in layout.source and "PTX ISA" not in layout.source


@pytest.mark.parametrize("chip", CHIPS)
def test_its_machine_code_is_inferred(added, chip):
    code = machine_instructions(FICTIONAL, chip)
    assert (code.text, code.status) == ("1x HMMA.16832.F32", "inferred") and "disassembled" not in code.source


def test_that_it_exists_is_inferred():
    assert (FICTIONAL.status, NEAREST.status) == ("inferred", "documented")


def test_runs_keep_their_status_next_to_it(added):
    assert (model_for(NEAREST, "sm_90").status, model_for(NEAREST, "sm_80").status) == ("measured", "recorded")
    assert "1.03e10 dot products" in model_for(NEAREST, "sm_90").source
    assert layout_for(NEAREST, "a", "sm_90").status == machine_instructions(NEAREST, "sm_80").status == "measured"
