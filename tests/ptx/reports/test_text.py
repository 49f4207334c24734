# SPDX-License-Identifier: MIT
"""A finding as text: few lines, none too long, carets below what they point at, and colours that change no word."""

import re
from functools import cache
from itertools import pairwise

import pytest

import wmma_emu as we
from tests.ptx.planted.table import FOLDER, PLANTED
from wmma_emu.ptx.findings import Place
from wmma_emu.ptx.reports.frames import QuotedLine
from wmma_emu.ptx.reports.text import MOST_LINES, Described, text_of

WIDTHS = (40, 60, 80, 100, 140)
COLOURS = re.compile(r"\x1b\[[\d;]*m")


@cache
def findings(name):
    """What is found of a planted bug, with the text of its source at hand."""
    bug = PLANTED[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(FOLDER)
        module = we.ptx.Module(bug.ptx(False), arch="sm_90", findings="report")
        return module[bug.kernel][bug.grid, bug.block, bug.shared](*bug.arguments()).findings


@pytest.mark.sweep(keep=1 / 5)
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_has_12_lines_at_most_and_none_is_longer_than_the_terminal_is_wide(name):
    for finding in findings(name):
        for width in WIDTHS:
            lines = finding.to_text(width).splitlines()
            assert len(lines) <= 12 and max(map(len, lines)) <= width
            assert width == 40 or [x for x in lines if x.lstrip().startswith(f"id: {finding.id}")]
            assert max(map(len, finding.to_text(width, verbose=True).splitlines())) <= width


@pytest.mark.sweep(keep=1 / 5)
@pytest.mark.parametrize("name", PLANTED)
def test_colours_change_no_word(name):
    for finding in findings(name):
        for width in (60, 100):
            text = finding.to_text(width, color=True)
            plain = COLOURS.sub("", text)
            assert plain == finding.to_text(width) and plain != text and "\x1b" not in plain
            assert text.count("\x1b[0m") * 2 == text.count("\x1b")


@pytest.mark.parametrize("name", PLANTED)
def test_all_that_was_seen_is_said_to_those_who_ask(name):
    for finding in findings(name):
        text = " ".join(finding.to_text(140, verbose=True).split())
        for sighting in finding.sightings:
            assert " ".join(sighting.message.split()) in text and " ".join(sighting.text.split()) in text


@pytest.mark.parametrize("name", PLANTED)
def test_a_caret_stands_below_a_character_of_the_quoted_line(name):
    for finding in findings(name):
        for above, below in pairwise(finding.to_text(140).splitlines()):
            if re.fullmatch(r" *\| *\^", below):
                assert above[below.index("|")] == "|" and not above[below.index("^")].isspace()


READ = QuotedLine("reads", Place(54), "/home/me/gemm.cu", 44, 9, "        x = s[63 - t];")
WRITE = QuotedLine("writes", Place(60), "/home/me/gemm.cu", 151, 17, "                s[t] = x;")
FOUND = Described(
    "error", "race on s at gemm.cu:44/151", "race-0123456789", (READ, WRITE), "warp 0 reads s[63]; warp 1 wrote there",
    "a __syncthreads()", "once", (), ("line 54: ld.shared\nwarp 0 reads",), "docs/findings/race.md",
)  # fmt: skip


def test_quotes_stand_one_below_the_other_less_the_blanks_that_both_begin_with():
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
def test_what_is_long_everywhere_still_has_12_lines_and_leaves_two_to_the_message(width, page):
    sides = tuple(x._replace(file=f"/home/me/{'gemm' * 30}.cu") for x in (READ, WRITE))
    found = FOUND._replace(
        title=f"race on {LONG * 5} at gemm.cu:44/151", sides=sides, message="SAID " * 200, mend=f"{LONG} " * 20,
        seen="often, " * 50, more=(f"{LONG} at gemm.cu:1, " * 9,), page=page,
    )  # fmt: skip
    lines = text_of(found, width).splitlines()
    assert len(lines) <= MOST_LINES == 12 and max(map(len, lines)) <= width
    assert sum("SAID" in x for x in lines) >= 2 and lines[-1] == f"  id: {FOUND.id}"
    assert [x.split()[0].rpartition(":")[2] for x in lines if " | " in x] == ["44", "151"]


def test_carets_and_the_page_are_left_out_only_where_there_is_no_room():
    assert text_of(FOUND, 80).count("^") == 2 and FOUND.page in text_of(FOUND, 80)
    long = FOUND._replace(message="said " * 200, mend="do this, " * 30)
    assert "^" not in text_of(long, 80) and text_of(long, 80, verbose=True).count("^") == 2


def test_carets_give_way_to_a_message_that_would_be_cut():
    said = [f"said{i:02}" for i in range(72)]  # six lines of 12 words
    short, long = (FOUND._replace(message=" ".join(said[:n])) for n in (48, 72))
    assert all(x in text_of(short, 90) for x in said[:48]) and text_of(short, 90).count("^") == 2
    text = text_of(long, 90)
    assert all(x in text for x in said) and "^" not in text and FOUND.page in text and "..." not in text


def test_a_line_that_is_not_at_hand_is_named_without_a_quote():
    (line,) = (x for x in text_of(FOUND._replace(sides=(READ._replace(quote=""),)), 80).splitlines() if "|" in x)
    assert line == "  gemm.cu:44 reads |"


def test_what_is_not_there_has_no_line():
    text = text_of(FOUND._replace(mend="", more=()), 80)
    assert "possible fix" not in text and "same cause" not in text
    assert "  same cause: u at gemm.cu:45/152" in text_of(FOUND._replace(more=("u at gemm.cu:45/152",)), 80)
