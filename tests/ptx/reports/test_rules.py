# SPDX-License-Identifier: MIT
"""The rules of findings and their reports, one fact each: kinds, causes, identifiers, text, baselines, formats."""

import json

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import SHIFT
from wmma_emu.errors import OptionError


@pytest.fixture(scope="module")
def report():
    module = we.ptx.Module(SHIFT.replace("BARRIER", ""), arch="sm_90", findings="report")
    return module["shift"][1, 64](np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32))


def test_a_missing_barrier_is_one_finding_for_all_its_threads(report):
    (finding,) = report.findings
    assert (finding.kind, finding.severity, finding.variables) == ("race", "error", ("tile",))
    assert finding.count == 64  # each thread reads a word of the other warp


def test_a_finding_names_both_lines_and_their_roles(report):
    text = SHIFT.splitlines()
    assert [(x.role, text[x.number - 1].strip().split(".")[0]) for x in report.findings[0].sides] == [
        ("writes", "st"), ("reads", "ld"),
    ]  # fmt: skip


def test_a_fix_is_a_barrier_between_the_two_lines(report):
    first, second = (x.number for x in report.findings[0].sides)
    fix = report.findings[0].fix
    assert fix == f"a __syncthreads() between line {first} and line {second} (tried: the finding is gone)"


def test_a_finding_has_at_most_12_lines(report):
    lines = str(report.findings[0]).splitlines()
    assert lines[0].startswith("error: race on tile at ") and len(lines) <= 12
    assert any(x.strip().startswith("possible fix: ") for x in lines)
    assert any(x.strip().startswith("seen: 64 times") for x in lines)


def test_an_identifier_consists_of_the_kind_and_ten_digits(report):
    kind, digits = report.findings[0].id.rsplit("-", 1)
    assert kind == "race" and len(digits) == 10 and int(digits, 16) >= 0


def test_only_notes_are_about_correct_kernels():
    severities = {x.severity for x in we.ptx.KINDS.values()}
    assert severities == {"error", "warning", "note"} == set(we.ptx.SEVERITIES)
    assert we.ptx.KINDS["race of equal bytes"].severity == "note"
    assert we.ptx.KINDS["race within a warp"].severity == "warning"


def test_kinds_that_end_a_launch_belong_to_no_check():
    assert [x for x, kind in we.ptx.KINDS.items() if not kind.check] == ["deadlock", "trap"]
    assert not we.ptx.KINDS["deadlock"].may_be_silenced


def test_a_baseline_recognises_a_finding_by_its_identifier(report, tmp_path):
    path = tmp_path / "known.json"
    we.ptx.Baseline.of([report]).write(path)
    new, known = we.ptx.Baseline.read(path).divided(report.findings)
    assert new == () and known == report.findings


def test_a_deadlock_is_never_a_known_finding():
    with pytest.raises(OptionError, match="a deadlock ends the launch and cannot be a known finding"):
        we.ptx.Baseline([we.ptx.KnownFinding("deadlock-0123456789", "deadlock", "k", "deadlock at line 3")])


def test_json_contains_addresses_as_strings_and_every_field(report):
    data = json.loads(report.to_json())
    assert data["version"] == 1 and data["known"] == [] and data["baseline"] is None
    sighting = data["findings"][0]["sightings"][0]
    assert sighting["address"].startswith("0x") and sighting["thread"] == [0, 0, 0]


def test_sarif_has_one_result_per_finding_with_its_severity(report):
    log = report.to_sarif()
    (result,) = log["runs"][0]["results"]
    assert (log["version"], result["ruleId"], result["level"]) == ("2.1.0", "race", "error")
    assert result["message"]["text"].count("Possible fix: a __syncthreads()") == 1
