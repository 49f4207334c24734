# SPDX-License-Identifier: MIT
"""Approximate functions: results equal the recordings of a Hopper GPU, and the recording tool detects differences."""

import json
from pathlib import Path

import numpy as np
import pytest

from tools import record_approx as tool
from tools.approx_gpu import INSTRUCTIONS, emulate, operands, source
from tools.approx_inputs import recorded_inputs

FILE = Path(__file__).parents[1] / "data" / "sm90_approx.npz"
EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence" / "h200-2026-11-21-approximate-functions.json"


@pytest.fixture(scope="module")
def recording():
    return tool.recorded(FILE)


@pytest.mark.vectors
@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_results_equal_the_results_of_the_gpu(recording, instruction):
    inputs = recorded_inputs(INSTRUCTIONS[instruction], operands(instruction))
    found = tool.summary(emulate(instruction, *inputs))
    wanted = recording[instruction]
    shown = zip(*inputs, found["whole"], wanted["whole"], strict=False)
    assert [[hex(x) for x in row] for row in shown if row[-1] != row[-2]] == []
    assert np.flatnonzero(found["digests"] != wanted["digests"]).tolist() == []


@pytest.fixture
def measured_elsewhere(monkeypatch):
    monkeypatch.setattr(tool, "machine", lambda: {"gpu": "none", "driver": "0", "nvrtc": "0"})
    monkeypatch.setattr(tool, "INSTRUCTIONS", {"ex2.approx.f16": "b16", "div.full.f32": "f32"})


def test_differences_are_shown_and_recorded(tmp_path, capsys, measured_elsewhere):
    def measure(instruction, *inputs):
        results = emulate(instruction, *inputs)
        results[5] ^= instruction == "div.full.f32"
        return results

    path = tmp_path / "approx.npz"
    assert tool.main(["--out", str(path)], measure) == 1
    assert "1 results differ" in capsys.readouterr().out
    assert json.loads((tmp_path / "sources.json").read_text())["approx.npz"]["gpu"] == "none"
    assert tool.main(["--out", str(path)], emulate) == 0
    assert list(tool.recorded(path)) == ["ex2.approx.f16", "div.full.f32"]


def test_there_is_a_kernel_for_each_instruction():
    text = source()
    assert all(text.count(f'asm("{instruction} %0') == 1 for instruction in INSTRUCTIONS)


def test_the_evidence_covers_every_instruction_without_differences():
    evidence = json.loads(EVIDENCE.read_text())["instructions"]
    assert list(evidence) == list(INSTRUCTIONS)
    assert {row["mismatches"] for row in evidence.values()} == {0}
    whole = {"f32": 1 << 32, "b16": 1 << 16}
    assert all(evidence[x]["inputs"] == whole[kind] for x, kind in INSTRUCTIONS.items() if kind in whole)
