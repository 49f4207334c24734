# SPDX-License-Identifier: MIT
"""Findings derived from sightings: titles, sides, elements, and identifiers that do not change when lines move."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.reports.located import BEFORE, DO, FILE, body_of, launched, source_of
from tests.ptx.texts_of_kernels import text_of
from wmma_emu.ptx.launch.report import summary_of
from wmma_emu.ptx.reports import make
from wmma_emu.ptx.reports.fixes import Fix

LINES = ["s[t] = x", "x += s[63 - t]", "barrier", "out[t] = x"]
TWICE = [*LINES[:3], *LINES]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def found(folder, lines, first=1, **options):
    (folder / FILE).write_text(source_of(lines, first), encoding="utf-8")
    return launched(lines, first, **options).findings


def test_both_lines_are_quoted_with_their_roles(tmp_path):
    (finding,) = found(tmp_path, LINES, 7)
    assert finding.title == "race on s at k.cu:7/8"
    assert [(x.role, x.file, x.number, x.column, x.quote) for x in finding.sides] == [
        ("writes", FILE, 7, 5, "    s[t] = x;"), ("reads", FILE, 8, 5, "    x += s[63 - t];"),
    ]  # fmt: skip
    assert (finding.kernel, finding.arch, finding.variable, finding.kind) == ("k", "sm_90", "s", "race")
    assert [x.place.line for x in finding.sides] == [
        x.line for x in sorted({y.place for y in finding.sightings} | set(finding.others))
    ]


def test_no_sighting_is_lost(tmp_path):
    (finding,) = found(tmp_path, LINES)
    assert finding.count == sum(x.count for x in finding.sightings) >= 64
    first = finding.sightings[0]
    assert (finding.line, finding.text, finding.source) == (first.line, first.text, first.source)
    assert (finding.block, finding.thread, finding.address) == (first.block, first.thread, first.address)
    assert finding.first is first and {x.kind for x in finding.sightings} == {"race"}
    assert set(finding.others) == {other for x in finding.sightings for other in x.others}


@pytest.mark.parametrize("schedule", range(4))
def test_an_identifier_does_not_depend_on_the_order_of_the_threads(tmp_path, schedule):
    (finding,) = found(tmp_path, LINES, schedule=schedule)
    (first,) = found(tmp_path, LINES, schedule=0)
    assert (finding.id, finding.title, finding.sides) == (first.id, first.title, first.sides)


def test_an_identifier_stays_when_lines_move(tmp_path):
    (before,), (after,) = found(tmp_path, LINES), found(tmp_path, LINES, 40)
    assert after.sides[0].number == 40 and before.sides[0].number == 1
    assert after.id == before.id and re.fullmatch("race-[0-9a-f]{10}", after.id)


def test_an_identifier_stays_when_other_lines_of_the_kernel_change(tmp_path):
    (before,) = found(tmp_path, LINES)
    (after,) = found(tmp_path, ["u[t] = x", "barrier", "x += u[63 - t]", "barrier", *LINES])
    assert after.id == before.id and after.line != before.line


def test_an_identifier_changes_with_the_lines_it_is_about(tmp_path, monkeypatch):
    (before,) = found(tmp_path, LINES)
    changed = "s[t] = x + 0"
    monkeypatch.setitem(DO, changed, DO["s[t] = x"])
    (after,) = found(tmp_path, [changed, *LINES[1:]])
    (other,) = found(tmp_path, ["u[t] = x", "x += u[63 - t]", *LINES[2:]])
    assert len({before.id, after.id, other.id}) == 3


def test_spaces_do_not_change_an_identifier(tmp_path):
    (before,) = found(tmp_path, LINES)
    (tmp_path / FILE).write_text(source_of(LINES).replace("\t", "        ").replace(" = ", "  =  "), encoding="utf-8")
    (after,) = launched(LINES).findings
    assert after.id == before.id and after.sides[0].quote != before.sides[0].quote


def test_equal_lines_are_numbered_in_their_order(tmp_path):
    one, other = found(tmp_path, TWICE)
    assert [x.number for x in one.sides] == [1, 2] and [x.number for x in other.sides] == [4, 5]
    assert other.id == f"{one.id}-2"


def test_a_race_without_source_lines_names_lines_of_the_ptx():
    (finding,) = launched(LINES, located=False).findings
    assert finding.title == "race on s at line {}/{}".format(*(x.place.line for x in finding.sides))
    assert [(x.role, x.file, x.column) for x in finding.sides] == [("writes", "", 0), ("reads", "", 0)]
    assert [x.quote for x in finding.sides] == ["st.shared.u32 [%r20], %r0;", "ld.shared.u32 %r4, [%r21];"]
    assert [x.where for x in finding.sides] == [f"line {x.place.line}" for x in finding.sides]


def test_an_identifier_of_a_race_without_a_source_stays_when_lines_of_the_ptx_move():
    (before,), (after,) = (launched(LINES, located=False, head=x).findings for x in ("", "//\n//\n"))
    assert after.line == before.line + 2 and after.id == before.id


def test_if_the_file_is_not_available_lines_are_named_and_the_identifier_depends_on_relative_lines():
    (finding,), (again,), (moved,) = (launched(LINES, first).findings for first in (1, 1, 5))
    assert [(x.where, x.quote) for x in finding.sides] == [("k.cu:1", ""), ("k.cu:2", "")]
    assert finding.id == again.id == moved.id
    (other,) = launched([LINES[0], "out[t] = x", *LINES[1:]]).findings
    assert other.id != finding.id


def test_a_fix_names_both_lines_or_the_position_that_was_tried(tmp_path):
    (finding,) = found(tmp_path, LINES, 7)
    assert finding.fix.startswith("a __syncthreads() between line 7 and line 8 (tried: ")


def test_a_tried_fix_is_found_if_one_side_has_other_races(tmp_path):
    lines = ["s[t] = x", "x += s[63 - t]", "s[t] = x", "barrier", "out[t] = x"]
    fixes = sorted(x.fix for x in found(tmp_path, lines))
    assert [x.partition(" (tried")[0] for x in fixes] == [
        "a __syncthreads() between line 1 and line 2", "a __syncthreads() between line 2 and line 3",
    ]  # fmt: skip
    assert all("(tried: " in x for x in fixes)


def test_other_faults_of_a_kernel_do_not_rule_out_a_barrier(monkeypatch):
    monkeypatch.setitem(DO, "wrong", "shfl.sync.idx.b32 %r4, %r0, 0, 31, 1;")
    text = text_of(body_of([*LINES[:3], "wrong", LINES[3]]), 1, BEFORE)
    report = we.ptx.Module(text, findings="report")["k"][1, 64](np.zeros(64, np.uint32))
    assert {x.kind for x in report.findings} == {"race", "illegal operand"}
    assert "(tried: " in next(x.fix for x in report.findings if x.kind == "race")


def test_a_barrier_that_not_all_threads_reach_is_not_a_fix(monkeypatch):
    """A barrier in the branch would end the race, but half of each warp would not reach it."""
    monkeypatch.setitem(DO, "if", "setp.lt.u32 %p2, %r0, 48;\n@!%p2 bra ELSE;")
    monkeypatch.setitem(DO, "else", "ELSE:")
    text = text_of(body_of(["if", *LINES[:2], "else", LINES[3]]), 1, BEFORE)
    launch = we.ptx.Module(text, findings="report")["k"][1, 64]
    report = launch(np.zeros(64, np.uint32), checks=("races", "synchronisation"))
    (finding,) = report.findings
    assert finding.kind == "race" and "tried" not in finding.fix


def test_a_summary_tries_no_barrier_for_findings_that_it_omits(tmp_path, monkeypatch):
    lines = [x for _ in range(5) for x in LINES[:3]] + LINES[3:]
    asked = []
    monkeypatch.setattr(make, "tried_fix", lambda edges, *more: asked.append(edges) or "a barrier")
    (tmp_path / FILE).write_text(source_of(lines), encoding="utf-8")
    report = launched(lines)
    said = summary_of(report)
    assert len(report.findings) == 5 and len(asked) == 3 and "and 2 more" in said


def test_equal_statements_are_numbered_in_the_order_of_the_source(tmp_path):
    findings = [replace(x, id="race-0") for x in found(tmp_path, TWICE)]
    for given in (findings, findings[::-1]):
        numbered = sorted(make.numbered(given), key=lambda x: x.sides[0].number)
        assert [x.id for x in numbered] == ["race-0", "race-0-2"]


@pytest.mark.parametrize(("silenced", "left"), [(1, ("-2", 4)), (4, ("", 1))])
def test_a_silenced_finding_keeps_its_number(tmp_path, silenced, left):
    lines = source_of(TWICE).splitlines()
    lines[silenced] += "  // wmma-emu: ignore[race] any of the values will do"
    (tmp_path / FILE).write_text("\n".join(lines), encoding="utf-8")
    first = launched(TWICE).silenced[0].finding.id.removesuffix("-2")
    report = launched(TWICE)
    assert [(x.id.removeprefix(first), x.sides[0].number) for x in report.findings] == [left]
    assert {x.id for x in report.findings}.isdisjoint(x.finding.id for x in report.silenced)


def test_an_alias_is_another_name_and_one_variable_is_named_once(tmp_path):
    (finding,) = found(tmp_path, ["s[t] = x", "s[t] = x", "x += s[63 - t]", "out[t] = x"])
    assert finding.details and finding.aliases == () and finding.variables == ("s",)


def test_a_fix_is_computed_once_and_pickled_as_its_text():
    asked = []
    fix = Fix(lambda: asked.append(1) or "a barrier")
    assert (fix(), fix(), asked) == ("a barrier", "a barrier", [1])
    assert pickle.loads(pickle.dumps(fix))() == "a barrier"


def test_a_finding_is_plain_data_too(tmp_path):
    (finding,) = found(tmp_path, LINES)
    data = finding.to_dict()
    assert (data["id"], data["title"], data["kind"], data["count"]) == (
        finding.id, finding.title, "race", finding.count,
    )  # fmt: skip
    assert [x["text"] for x in data["sides"]] == ["\ts[t] = x;", "\tx += s[63 - t];"]
    assert str(finding) == finding.to_text(100)
