# SPDX-License-Identifier: MIT
"""A finding as text: few lines, none too long, carets below what they point at, and colours that change no word."""

import itertools
import re
from functools import cache
from itertools import pairwise

import pytest

import wmma_emu as we
from tests.ptx.planted.table import FOLDER, PLANTED
from wmma_emu.ptx.findings import Place
from wmma_emu.ptx.reports.frames import QuotedLine
from wmma_emu.ptx.reports.text import MOST_LINES, FindingParts, text_of

WIDTHS = (40, 60, 80, 100, 140)
COLOURS = re.compile(r"\x1b\[[\d;]*m")


@cache
def findings(name):
    """Return the findings of a planted bug, with its source available."""
    bug = PLANTED[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(FOLDER)
        module = we.ptx.Module(bug.ptx(False), arch="sm_90", findings="report")
        return module[bug.kernel][bug.grid, bug.block, bug.shared](*bug.arguments()).findings


def table_in(lines):
    """Return the lines of a table of mbarriers."""
    begin = lines.index("  mbarriers:") if "  mbarriers:" in lines else len(lines)
    return lines[begin : begin + 1] + list(itertools.takewhile(lambda x: x.startswith("    "), lines[begin + 1 :]))


@pytest.mark.sweep(keep=1 / 10)
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_has_at_most_12_lines_that_fit_the_terminal(name):
    for finding in findings(name):
        for width in WIDTHS:
            lines = finding.to_text(width).splitlines()
            assert len(lines) - len(table_in(lines)) <= 12 and max(map(len, lines)) <= width
            assert bool(finding.table) == bool(table_in(lines))
            assert width == 40 or [x for x in lines if x.lstrip().startswith(f"id: {finding.id}")]
            assert max(map(len, finding.to_text(width, verbose=True).splitlines())) <= width


@pytest.mark.sweep(keep=1 / 15)
@pytest.mark.parametrize("name", PLANTED)
def test_colours_change_no_word(name):
    for finding in findings(name):
        for width in (60, 100):
            text = finding.to_text(width, color=True)
            plain = COLOURS.sub("", text)
            assert plain == finding.to_text(width) and plain != text and "\x1b" not in plain
            assert text.count("\x1b[0m") * 2 == text.count("\x1b")


@pytest.mark.sweep(keep=1 / 10)
@pytest.mark.parametrize("name", PLANTED)
def test_verbose_text_contains_every_sighting(name):
    for finding in findings(name):
        text = " ".join(finding.to_text(140, verbose=True).split())
        for sighting in finding.sightings:
            assert " ".join(sighting.message.split()) in text and " ".join(sighting.text.split()) in text


@pytest.mark.sweep(keep=1 / 10)
@pytest.mark.parametrize("name", PLANTED)
def test_a_caret_is_below_a_character_of_the_quoted_line(name):
    for finding in findings(name):
        for above, below in pairwise(finding.to_text(140).splitlines()):
            if re.fullmatch(r" *\| *\^", below):
                assert above[below.index("|")] == "|" and not above[below.index("^")].isspace()


READ = QuotedLine("reads", Place(54), "/home/me/gemm.cu", 44, 9, "        x = s[63 - t];")
WRITE = QuotedLine("writes", Place(60), "/home/me/gemm.cu", 151, 17, "                s[t] = x;")
FOUND = FindingParts(
    "error", "race on s at gemm.cu:44/151", "race-0123456789", (READ, WRITE), "warp 0 reads s[63]; warp 1 wrote there",
    "a __syncthreads()", "once", (), ("line 54: ld.shared\nwarp 0 reads",), "docs/findings/race.md",
)  # fmt: skip


def test_quotes_are_aligned_without_their_common_indentation():
    assert text_of(FOUND, 80).splitlines() == [
        "error: race on s at gemm.cu:44/151",
        "  gemm.cu:44  reads  | x = s[63 - t];",
        "                     | ^",
        "  gemm.cu:151 writes |         s[t] = x;",
        "                     |         ^",
        "  warp 0 reads s[63]; warp 1 wrote there",
        "  possible fix: a __syncthreads()",
        "  seen: once",
        "  id: race-0123456789; docs/findings/race.md",
    ]


@pytest.mark.parametrize("column", [1, 2, 50, 99, 150, 199, 200])
@pytest.mark.parametrize("width", [40, 80, 140])
def test_a_caret_points_at_the_same_character_of_a_line_that_is_cut(column, width):
    quote = "." * (column - 1) + "X" + "." * (200 - column)
    text = text_of(FOUND._replace(sides=(READ._replace(quote=quote, column=column),)), width)
    above, below = text.splitlines()[1:3]
    assert above[below.index("^")] == "X" and len(above) <= width
    assert text_of(FOUND._replace(sides=(READ._replace(quote=quote, column=0),)), width).count("^") == 0


LONG = "a_name_of_a_template_with_many_arguments<int, 64, 64, 32>"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", ["docs/findings/race.md", "https://example.org/" + "pages/" * 30])
def test_a_long_finding_still_has_12_lines_and_two_of_them_are_the_message(width, page):
    sides = tuple(x._replace(file=f"/home/me/{'gemm' * 30}.cu") for x in (READ, WRITE))
    found = FOUND._replace(
        title=f"race on {LONG * 5} at gemm.cu:44/151", sides=sides, message="SAID " * 200, fix=f"{LONG} " * 20,
        seen="often, " * 50, more=(f"{LONG} at gemm.cu:1, " * 9,), page=page,
    )  # fmt: skip
    lines = text_of(found, width).splitlines()
    assert len(lines) <= MOST_LINES == 12 and max(map(len, lines)) <= width
    assert sum("SAID" in x for x in lines) >= 2 and lines[-1] == f"  id: {FOUND.id}"
    assert [x.split()[0].rpartition(":")[2] for x in lines if " | " in x] == ["44", "151"]


def test_carets_and_the_page_are_left_out_only_if_there_is_no_space():
    assert text_of(FOUND, 80).count("^") == 2 and FOUND.page in text_of(FOUND, 80)
    long = FOUND._replace(message="said " * 200, fix="do this, " * 30)
    assert "^" not in text_of(long, 80) and text_of(long, 80, verbose=True).count("^") == 2


def test_carets_are_left_out_if_the_message_would_be_cut():
    said = [f"said{i:02}" for i in range(72)]  # six lines of 12 words
    short, long = (FOUND._replace(message=" ".join(said[:n])) for n in (48, 72))
    assert all(x in text_of(short, 90) for x in said[:48]) and text_of(short, 90).count("^") == 2
    text = text_of(long, 90)
    assert all(x in text for x in said) and "^" not in text and FOUND.page in text and "..." not in text


def test_an_unavailable_line_is_named_without_a_quote():
    (line,) = (x for x in text_of(FOUND._replace(sides=(READ._replace(quote=""),)), 80).splitlines() if "|" in x)
    assert line == "  gemm.cu:44 reads |"


def test_missing_parts_have_no_line():
    text = text_of(FOUND._replace(fix="", more=()), 80)
    assert "possible fix" not in text and "same cause" not in text
    assert "  same cause: u at gemm.cu:45/152" in text_of(FOUND._replace(more=("u at gemm.cu:45/152",)), 80)
