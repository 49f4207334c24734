# SPDX-License-Identifier: MIT
import pytest

from wmma_emu.ptx.examples import launch_of
from wmma_emu.ptx.findings import KINDS, SANITIZER, slug_of
from wmma_emu.ptx.launch.silencing_comments import comment_of


def words(text):
    return " ".join(text.replace("`", "").split())


def test_without_a_kind_all_are_listed_with_how_bad_they_are(run):
    status, out, err = run("finding")
    assert (status, err) == (0, "")
    lines = [x.split() for x in out.splitlines()[1 : 1 + len(KINDS)]]
    assert lines == [[*kind.split(), x.severity, x.check or "always"] for kind, x in KINDS.items()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_printed_with_its_whole_entry_its_bug_and_its_report(run, kind):
    status, out, err = run("finding", kind)
    assert (status, err) == (0, "")
    row = KINDS[kind]
    for text in (row.says, row.reason, row.fix, row.silence, row.sanitizer):
        assert words(text) in words(out)
    assert "How to fix it\n" in out and f"Seen with {SANITIZER}." in words(out)
    for finding in launch_of(kind).findings:
        assert words(finding.to_text(98)) in words(out)
    assert "__global__ void" in out
    assert (comment_of(kind, "the reason") in out) == row.may_be_silenced


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("kind", ["", *KINDS])
def test_no_line_is_wider_than_the_terminal(screen, run, monkeypatch, kind, columns):
    terminal = screen(columns)
    monkeypatch.setenv("NO_COLOR", "1")
    assert run("finding", *([kind] if kind else [])).status == 0
    assert terminal.text and max(map(len, terminal.text.splitlines())) <= columns


def test_a_kind_may_be_written_in_several_ways(run):
    expected = run("finding", "race within a warp").out
    assert expected.startswith("race within a warp\n")
    for argv in (["race-within-a-warp"], ["race", "within", "a", "warp"], [" Race  Within a Warp "]):
        assert run("finding", *argv).out == expected


@pytest.mark.parametrize("kind", KINDS)
def test_the_identifier_of_a_finding_leads_to_its_kind(run, kind):
    assert run("finding", f"{slug_of(kind)}-1f0c9a2b7d").out.splitlines()[0] == kind


def test_a_kind_that_does_not_exist_is_an_error_with_the_nearest_one(run):
    status, out, err = run("finding", "race-in-a-warp")
    assert (status, out) == (2, "")
    assert err.startswith("wmma-emu: error: 'race-in-a-warp' is not a kind of finding; the kinds are out of bounds, ")
    assert err.endswith("; did you mean race within a warp?\n")
