# SPDX-License-Identifier: MIT
"""A baseline removes known findings from a report, lists them, and never hides that a launch did not end."""

import json
import warnings

import pytest

from tests.ptx.planted.table import PLANTED
from tests.ptx.reports.launches import REVERSED, launched
from wmma_emu.errors import KernelFindingsError, OptionError
from wmma_emu.ptx import Baseline, KnownFinding

OTHER = KnownFinding("race-0123456789", "race", "other", "race on x at other.cu:5")


@pytest.fixture
def known():
    return Baseline([*Baseline.of([launched()]), OTHER], "known.json")


def test_known_findings_are_listed_separately_and_neither_raise_nor_warn(known):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for findings in ("raise", "warn"):
            report = launched(baseline=known, findings=findings)
    assert not report.findings and not report.errors
    assert [x.id for x in report.known] == [x.id for x in launched().findings]
    assert f"1 known finding, of known.json:\n  {report.known[0].title} [{report.known[0].id}]" in str(report)
    assert known.unused == (OTHER,)


def test_a_new_finding_raises_and_the_known_ones_are_counted():
    both = PLANTED["barriers_of_both_branches"]
    assert len(launched(both).errors) > 1
    with pytest.raises(KernelFindingsError) as error:
        launched(both, findings="raise", baseline=Baseline([*Baseline.of([launched(both)])][:1]))
    assert len(error.value.report.known) == 1 and str(error.value).endswith("1 known finding")


@pytest.mark.thorough
def test_a_path_is_read(tmp_path, known):
    path = tmp_path / "known.json"
    known.write(path)
    assert launched(baseline=path).known and launched(launch_options={"baseline": str(path)}).known
    assert not launched(launch_options={"baseline": None}, baseline=path).known


def test_a_file_has_one_finding_per_line_in_a_stable_order(tmp_path, known):
    path = tmp_path / "known.json"
    Baseline(reversed(list(known))).write(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["{", '  "version": 1,'] and len(lines) == 7
    assert Baseline.read(path).findings == known.findings and Baseline.read(path).name == str(path)
    assert json.loads(path.read_text(encoding="utf-8"))["findings"][0]["title"] == "race on x at other.cu:5"
    assert [x.name for x in tmp_path.iterdir()] == ["known.json"]


def test_a_finding_of_two_merged_baselines_has_the_title_of_the_newer_one():
    newer = OTHER._replace(title="race on x at other.cu:9")
    assert list(Baseline([OTHER]).merged(Baseline([newer]))) == [newer]


def test_a_file_that_cannot_be_replaced_does_not_change(tmp_path, known, monkeypatch):
    path = tmp_path / "known.json"
    Baseline([OTHER]).write(path)
    monkeypatch.setattr("os.replace", lambda *paths: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        known.write(path)
    assert Baseline.read(path).findings == (OTHER,) and len(list(tmp_path.iterdir())) == 1


def test_reports_as_data_make_the_same_baseline(known):
    report = launched()
    assert Baseline.of([json.loads(report.to_json())]).findings == Baseline.of([report]).findings
    assert len(Baseline([OTHER]).merged(Baseline.of([report]))) == 2
    assert Baseline.of([launched(baseline=known)]).findings == Baseline.of([report]).findings


@pytest.mark.parametrize("kind", ["deadlock", "trap"])
def test_findings_that_end_a_launch_are_never_known(kind):
    bug = next(x for x in PLANTED.values() if x.kind == kind)
    report = launched(bug)
    assert kind not in [x.kind for x in Baseline.of([report])]
    with pytest.raises(OptionError, match=f"a {kind} ends the launch and cannot be a known finding"):
        Baseline([KnownFinding(report.findings[0].id, kind, "k", "title")])
    with pytest.raises(KernelFindingsError):
        launched(bug, findings="raise", baseline=Baseline.of([report]))
    assert not launched(bug, baseline=Baseline.of([report])).completed


@pytest.mark.thorough
def test_a_finding_is_known_by_any_pair_of_its_lines():
    finding = launched(PLANTED["double_buffer"]).findings[0]
    by_alias = [Baseline([KnownFinding(x, "race", "k", "t")]) for x in (finding.id, *finding.aliases)]
    assert all(launched(PLANTED["double_buffer"], baseline=x).known for x in by_alias)
    old = Baseline([KnownFinding("race-0123456789", "race", "k", "t", (finding.id,))])
    assert launched(PLANTED["double_buffer"], baseline=old).known and not old.unused


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a baseline: "),
        ("[]", "is not a baseline of version 1: it has no version"),
        ('{"version": 2, "findings": []}', "is not a baseline of version 1: its version is 2"),
        ('{"version": 1, "findings": [{"id": "x"}]}', "finding 0 of .*; expected an id, a kind, a kernel and a title"),
        ('{"version": 1, "findings": [{"id": "x", "kind": "rice", "kernel": "k", "title": "t"}]}', "unknown kind"),
        ('{"version": 1, "findings": [{"id": "x", "kind": "trap", "kernel": "k", "title": "t"}]}', "a trap ends"),
    ],
)
def test_an_invalid_baseline_file_is_rejected(tmp_path, text, said):
    path = tmp_path / "known.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(OptionError, match=said):
        launched(baseline=path)


@pytest.mark.parametrize("given", [5, "", ["known.json"]])
def test_an_invalid_baseline_value_is_rejected(given):
    with pytest.raises(OptionError, match="is neither the path of a file nor a"):
        launched(REVERSED, baseline=given)


def test_a_missing_file_is_the_operating_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        launched(baseline=tmp_path / "known.json")
