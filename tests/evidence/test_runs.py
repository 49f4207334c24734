# SPDX-License-Identifier: MIT
"""Every measured or recorded fact is in the list of runs, and the list matches the results of the runs."""

import ast
import gc
import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from tests.instructions.test_machine import recorded as machine_code_read
from tools import evidence_runs
from wmma_emu.arithmetic import alternatives_for, models_for
from wmma_emu.arithmetic.model import E8M13
from wmma_emu.evidence import Evidence, Run
from wmma_emu.evidence.runs import all_runs
from wmma_emu.formats import FORMATS
from wmma_emu.instructions import INSTRUCTIONS, lowerings, machine_instructions
from wmma_emu.layouts import layout_for, metadata_map
from wmma_emu.scalar.approx_status import APPROX_STATUS
from wmma_emu.scalar.cvt_table import CVT_FORMS
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES

ROOT = Path(__file__).parents[2]
PAIRS = [(row, chip) for row in INSTRUCTIONS.values() for chip in row.archs]
NEEDS_A_RUN = ("measured", "recorded")


@pytest.mark.thorough
def test_the_list_is_what_campaigns_and_recordings_left():
    assert evidence_runs.FILE.read_text() == evidence_runs.text()


def test_every_measured_product_is_in_the_campaigns_report():
    report = (ROOT / "docs" / "evidence" / "h200-2026-11-21-crosscheck.html").read_text()
    ran = set(re.findall(r'<td class="word">([\w.:]+)(?: \(ptxas-12\.8\))?</td>', report))
    measured = {
        (row.mnemonic, chip, model.lowering)
        for row, chip in PAIRS
        for model in models_for(row, chip) + alternatives_for(row, chip)
        if model.status == "measured"
    }
    assert {name for name, _, _ in measured} == set(evidence_runs.campaign()) <= ran
    assert {chip for _, chip, _ in measured} == {"sm_90"}
    assert {lowering for _, _, lowering in measured} == {"native", "ptxas-12.8"}


def test_every_recorded_product_consists_of_recorded_machine_instructions():
    code = evidence_runs.machine_code()
    for (_, chip), names in evidence_runs.recordings().items():
        opcodes = set().union(*(code[name, chip] for name in names))
        for row, on in PAIRS:
            if on == chip and any(model.status == "recorded" for model in models_for(row, chip)):
                assert code[row.mnemonic, chip] <= opcodes, (row.mnemonic, chip)
    chips = {chip for row, chip in PAIRS if any(x.status == "recorded" for x in models_for(row, chip))}
    assert chips == {chip for _, chip in evidence_runs.recordings()} - {"sm_90"}


def test_what_the_recordings_do_not_have_is_not_called_recorded():
    for name, chip, status in (
        ("m16n8k8.f32.f16.f16.f32", "sm_80", "literature"), ("m16n8k8.f32.tf32.tf32.f32", "sm_86", "literature"),
        ("m16n8k16.f32.e4m3.e4m3.f32", "sm_89", "literature"), ("m16n8k32.f32.e4m3.e5m2.f32", "sm_89", "literature"),
        ("m8n8k4.f64.f64.f64.f64", "sm_80", "literature"), ("m8n8k4.f64.f64.f64.f64.rz", "sm_80", "inferred"),
        ("m16n8k16.f32.e4m3.e4m3.f32", "sm_100", "inferred"), ("m16n8k32.f32.e4m3.e5m2.f32", "sm_100", "recorded"),
        ("m16n8k32.f32.e4m3.e4m3.f32", "sm_89", "recorded"), ("m16n8k16.f32.f16.f16.f32", "sm_80", "recorded"),
    ):  # fmt: skip
        mnemonic = f"mma.sync.aligned.{name.replace('.', '.row.col.', 1)}"
        assert models_for(INSTRUCTIONS[mnemonic], chip)[0].status == status, (name, chip)


def test_every_measured_layout_and_metadata_was_in_the_recorded_registers():
    with np.load(ROOT / "tests" / "data" / "sm90_instructions.npz") as arrays:
        ran = {str(x) for x in arrays["mnemonics"]}
    for row, chip in PAIRS:
        if row.family == "wmma.mma":
            continue
        operands = "acd" if row.is_warpgroup else "abcd"
        found = {layout_for(row, operand, chip).status for operand in operands}
        known = {"measured"} if chip == "sm_90" and row.mnemonic in ran else {"documented", "inferred"}
        assert found <= known, (row.mnemonic, chip)
        if row.is_sparse:
            assert (metadata_map(row).status == "measured") == (row.mnemonic in ran), row.mnemonic


def test_every_measured_machine_code_was_read_on_its_chip():
    read = machine_code_read()
    for row, chip in PAIRS:
        for lowering in lowerings(row, chip):
            if machine_instructions(row, chip, lowering).status == "measured":
                assert (row.mnemonic, chip) in read


def test_every_measured_conversion_and_move_was_recorded():
    with np.load(ROOT / "tests" / "data" / "sm90_conversions.npz") as arrays:
        ran = {str(x) for x in arrays["mnemonics"]}
    for row in (*CVT_FORMS.values(), *MATRIX_MOVES.values()):
        for chip in row.archs:
            assert (row.known_on(chip)[1] == "measured") == (chip == "sm_90" and row.mnemonic in ran), row.mnemonic


def test_every_measured_approximation_was_recorded():
    with np.load(ROOT / "tests" / "data" / "sm90_approx.npz") as arrays:
        ran = {re.sub(r"(\.approx|\.ftz|\|\w+)", "", key) for key in (*arrays.files, *arrays["same"][:, 0])}
    for (name, fmt, chip), row in APPROX_STATUS.items():
        assert (row.status == "measured") == (chip == "sm_90" and f"{name}.{fmt}" in ran), (name, fmt, chip)


def every_evidence():
    """Return all evidence in the package after importing every module that has some."""
    for path in sorted((ROOT / "wmma_emu").rglob("*.py")):
        if "wmma_emu.evidence import" in path.read_text():
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    return [x for x in gc.get_objects() if type(x) is Evidence]


def test_every_row_that_was_run_names_a_run_that_there_is():
    runs = {run.name for run in all_runs()}
    found = [x for x in every_evidence() if x.status in NEEDS_A_RUN]
    assert found
    for evidence in found:
        covers = evidence.covers
        assert covers.name in runs if isinstance(covers, Run) else covers, evidence.source


FIELDS_OF_USERS = {"RegisterLayout", "Format", "CodedScales"}
"""Classes whose sources users state (layouts and formats), or pages."""


def test_a_format_with_the_status_recorded_belongs_to_a_recording():
    found = {x.name for x in (*FORMATS.values(), E8M13) if x.status in NEEDS_A_RUN}
    outputs = {model.output for row, chip in PAIRS for model in models_for(row, chip) if model.status == "recorded"}
    assert found == {"e8m13"} <= outputs


def test_no_class_of_the_package_declares_a_separate_status():
    declaring = set()
    for path in sorted((ROOT / "wmma_emu").rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "    status:" in text else ():
            if isinstance(node, ast.ClassDef):
                fields = {x.target.id for x in node.body if isinstance(x, ast.AnnAssign)}
                declaring |= {node.name} if fields >= {"source", "status"} else set()
    assert declaring == {"Evidence", *FIELDS_OF_USERS}
