# SPDX-License-Identifier: MIT
"""Campaigns of block-scaled instructions, without a GPU: scales drawn, executed, shrunk, and written down as rows."""

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import wmma_emu as we
from tests.applications.altered_backends import OneLaneFails
from tests.gpu.emulated_gpu import EmulatedGpu
from wmma_emu.applications.campaign import mismatches as kept
from wmma_emu.applications.campaign.groups import bound_instructions
from wmma_emu.applications.campaign.pairs import emulate_pairs
from wmma_emu.applications.campaign.registers import apply_variant, pack_operands, read_scales, variants_of
from wmma_emu.applications.campaign.rows import load_rows, replay
from wmma_emu.applications.campaign.totals import Totals
from wmma_emu.arithmetic import alternatives_for, matmul
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.gpu.campaign import EmulatedBackend, GpuBackend, crosscheck
from wmma_emu.instructions.tensor import tensor_instruction_named
from wmma_emu.layouts.block_scales import SCALED, scale_selectors_of
from wmma_emu.testing import generators

MXF4 = "m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"
NVF4 = "m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
MXF8 = "m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e2m3.f32.ue8m0"
SPARSE_MXF4 = "mma.sp::ordered_metadata.m16n8k128.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
SPARSE_MXF8 = "mma.sp::ordered_metadata.m16n8k64.kind::mxf8f6f4.block_scale.f32.e5m2.e4m3.f32.ue8m0"
ALL = (MXF4, NVF4, MXF8, SPARSE_MXF4, SPARSE_MXF8)
NARROW = ("m16n8k32.kind::f8f6f4.f32.e3m2.e2m1.f32", "m16n8k32.kind::f8f6f4.f16.e4m3.e2m3.f16",
          "mma.sp::ordered_metadata.m16n8k64.kind::f8f6f4.f32.e2m1.e3m2.f32")  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


def bound(mnemonic, **keywords):
    return we.instruction(mnemonic, arch="sm_120", **keywords)


def non_zero_terms(row):
    indices = row["indices"] or range(len(row["a"]))
    products = sum(int(a, 16) != 0 or int(row["b"][k], 16) != 0 for a, k in zip(row["a"], indices, strict=True))
    return products + (int(row["c"], 16) != 0)


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("mnemonic", ALL + NARROW)
def test_the_emulator_agrees_with_itself_on_every_generator(mnemonic):
    report = crosscheck(mnemonic, count=8_000, workers=0, backend=EmulatedBackend("sm_120"))
    assert report.ok, str(report)
    assert {x["family"] for x in report.counts} == set(generators.generators_of(mnemonic))
    assert all(x["executed"] > 0 and x["referenced"] == 4 for x in report.counts)


@pytest.mark.parametrize("mnemonic", ALL)
def test_all_pairs_at_once_are_the_products_tile_by_tile(mnemonic):
    ins = bound(mnemonic)
    row, every = ins.instruction, variants_of(ins.instruction)
    for turn, generator in enumerate(generators.generators_of(row)):
        operands = generators.draw(row, generator, 3, 2, 3, 3)
        scales = generators.draw_scales(row, generator, 3, 2, 3)
        variant = every[turn % len(every)]
        pairs = emulate_pairs(row, ins.product, apply_variant(row, operands, variant), read_scales(row, scales))
        (a, b, c), keywords = pack_operands(ins, operands, variant, scales).all_pairs()
        assert np.array_equal(ins.execute(a, b, c, **keywords), ins.d.pack_bits(pairs)), (generator, variant)


@pytest.mark.parametrize("mnemonic", ALL)
def test_every_value_of_every_selector_of_scales_takes_its_turn(mnemonic):
    row = bound(mnemonic).instruction
    for operand in SCALED:
        legal = scale_selectors_of(row, operand)
        for name, values in (("byte_id", legal.byte_ids), ("thread_id", legal.thread_ids)):
            assert {getattr(x, f"{name}_{operand}") for x in variants_of(row)} == set(values)


@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.parametrize("mnemonic", [MXF4, NVF4, SPARSE_MXF4])
def test_another_model_is_found_shrunk_to_three_terms_and_named(mnemonic, monkeypatch, tmp_path):
    monkeypatch.setattr(kept, "_KEPT_OF_AN_INSTRUCTION", 1)  # shrinking takes most of the time
    backend = EmulatedBackend("sm_120", model="F=34")
    report = crosscheck(mnemonic, count=2000, generators=["cancel_halves"], workers=0, backend=backend)
    assert report.mismatches > 0
    assert report.self_mismatches == 0
    [finding] = report.findings
    assert finding["hints"][0] == "fraction_bits 34 instead of 35"
    assert finding["reproduced"]
    assert non_zero_terms(finding["test_row"]) <= 3
    path = tmp_path / "rows.json"
    assert report.save_rows(path) == 1
    [row] = load_rows(path)
    expected, product, registers = replay(row)
    assert product == registers == int(row["emulated"], 16) != expected
    assert len(row["scale_a"]) == len(row["scale_b"]) == bound(mnemonic).instruction.scale_vec


def test_scales_that_a_mismatch_does_not_need_become_one(monkeypatch):
    monkeypatch.setattr(kept, "_KEPT_OF_AN_INSTRUCTION", 2)
    report = crosscheck(MXF4, count=1000, generators=["scales_far"], workers=0, backend=OneLaneFails("sm_120"))
    assert report.findings
    for finding in report.findings:
        row = finding["test_row"]
        assert {*row["scale_a"], *row["scale_b"]} == {"0x7f"}
        assert non_zero_terms(row) == 0
        assert row["options"] == {}


@pytest.mark.thorough
def test_each_of_several_models_is_compared_with_the_same_chip(monkeypatch):
    monkeypatch.setattr(kept, "_KEPT_OF_AN_INSTRUCTION", 1)
    every = [bound(MXF4), *(bound(MXF4, model=x) for x in ("F=34", "F=36", "zero groups aligned"))]
    other = EmulatedBackend("sm_120", model="F=34")
    assert [x.model.name for x in bound_instructions(every, "sm_120")] == ["", "F=34", "F=36", "zero groups aligned"]
    report = crosscheck(every, count=200, generators=["cancel_halves", "c_alone"], workers=0, backend=other)
    wrong = {x["model"]: x["mismatches"] for x in report.summed("model")}
    assert wrong.pop("F=34") == 0
    assert all(wrong.values())
    text = re.sub(r"\s+", " ", str(report))
    assert re.search(r"by model: the default \d+, F=34 0, F=36 \d+, zero groups aligned \d+", text)
    assert "on sm_120 (model='F=36')" in text
    assert {x["model"] for x in json.loads(report.to_json())["findings"]} == {"", "F=36", "zero groups aligned"}
    assert "(F=36)" in report.to_html()
    assert {x["test_row"].get("model", "") for x in report.findings} == {"", "F=36", "zero groups aligned"}
    assert all(replay(x["test_row"])[1] == int(x["test_row"]["emulated"], 16) for x in report.findings)


def test_worker_processes_bind_the_requested_model():
    ins = bound(MXF4, model="F=34")
    backend = EmulatedBackend("sm_120", model="F=34")
    assert crosscheck(ins, count=1000, generators=["cancel_halves"], workers=1, backend=backend).ok


def test_an_interrupted_campaign_with_scales_continues_to_the_same_totals(monkeypatch, tmp_path):
    monkeypatch.setattr(kept, "_KEPT_OF_AN_INSTRUCTION", 1)
    backend, path = EmulatedBackend("sm_120", model="F=34"), tmp_path / "state.json"
    once = crosscheck(NVF4, count=128, generators=["cancel_halves"], workers=0, backend=backend, state=path)
    again = crosscheck(NVF4, count=128, generators=["cancel_halves"], workers=0, backend=backend, state=path)
    assert once.mismatches == again.mismatches > 0
    assert [x["test_row"] for x in once.findings] == [x["test_row"] for x in again.findings]
    [finding] = Totals.from_dict(json.loads(path.read_text())["totals"]).findings
    assert {type(x) for case in (finding.found, finding.smallest) for x in (case.scale_a, case.scale_b)} == {tuple}


def test_the_state_of_another_model_is_refused(tmp_path):
    backend, path = EmulatedBackend("sm_120"), tmp_path / "state.json"
    crosscheck(bound(MXF4), count=1, generators=["normal"], workers=0, backend=backend, state=path)
    with pytest.raises(UnsupportedInstructionError, match=r"another campaign.*instructions"):
        crosscheck(bound(MXF4, model="F=34"), count=1, generators=["normal"], workers=0, backend=backend, state=path)


@pytest.mark.parametrize("mnemonic", [MXF4, SPARSE_MXF8])
def test_scales_reach_the_kernel_of_a_gpu(mnemonic, monkeypatch):
    ins = bound(mnemonic)
    gpu = EmulatedGpu(ins)
    monkeypatch.setattr(sys.modules["wmma_emu.gpu.execute"], "open_gpu", lambda: gpu)
    monkeypatch.setattr(GpuBackend, "describe", lambda self: {"name": "stand-in", "arch": "sm_120"})
    monkeypatch.setattr(GpuBackend, "kernel_seconds", 0.0)
    report = crosscheck(ins, count=512, generators=["wide", "scales_far", "normal", "raw"], workers=0)
    assert report.ok, str(report)
    assert len(gpu.launches) == 4


def test_the_top_bit_of_ue4m3_is_never_read():
    ins = bound(NVF4)
    o = generators.draw(ins, "normal", 0, 2, 2, 2)
    scales = generators.draw_scales(ins, "normal", 0, 2, 2)
    padded = generators.Scales(*(x | np.uint8(0x80) for x in scales))
    d = [emulate_pairs(ins.instruction, ins.product, o, read_scales(ins.instruction, x)) for x in (scales, padded)]
    assert np.array_equal(*d)


@pytest.mark.parametrize("mnemonic", ["tcgen05.mma.cta_group::1.kind::f16.m128n256k16.f32.f16.f16"])
def test_what_works_on_tensor_memory_is_refused(mnemonic):
    for what in (mnemonic, tensor_instruction_named(mnemonic)):
        with pytest.raises(UnsupportedInstructionError, match="uses tensor memory, but a campaign"):
            crosscheck(what, count=1, workers=0, backend=EmulatedBackend("sm_100"))


def test_the_generators_tell_every_alternative_from_the_default():
    """A campaign on a chip settles which of them it is: for each some input has other bits."""
    for mnemonic, unseen in ((MXF4, set()), (NVF4, {"min_exponent=-143"}), (MXF8, set())):
        ins = bound(mnemonic)
        left = {x.name: x for x in alternatives_for(ins.instruction, "sm_120")}
        for generator in generators.generators_of(ins):
            a, b, c, _ = generators.draw(ins, generator, 0, 8, 8, 8)
            scales = read_scales(ins.instruction, generators.draw_scales(ins, generator, 0, 8, 8))
            given = {"scale_a": scales.a[:, None], "scale_b": scales.b}
            default = matmul(ins.product, a[:, None], b, c, **given)
            for name, model in list(left.items()):
                if (matmul(replace(ins.product, model=model), a[:, None], b, c, **given) != default).any():
                    del left[name]
        assert set(left) == unseen, mnemonic
