# SPDX-License-Identifier: MIT
"""Quoted lines: the original text with spaces for tabs, and the column concerned."""

import pytest

from wmma_emu.ptx.findings import Place
from wmma_emu.ptx.program.program import SourceLine
from wmma_emu.ptx.reports.frames import QuotedLine, quoted

PTX = "ld.shared.u32 \t%r1, [s];"


def quote(text, line=1, column=0, file="/home/me/k.cu"):
    source = SourceLine(file, line, None, column)
    return quoted("reads", Place(54, source), source, lambda name: text if name == file else "", PTX)


@pytest.mark.parametrize(
    "raw", ["x = s[0];", "  x = s[0];", "\tx = s[0];", "\t\tx = s[0];", " \tx = s[0];", "y;\tx = s[0];", "(p)\tx = s"]
)
@pytest.mark.parametrize("character", ["x", "s"])
def test_the_column_points_at_the_same_character_with_tabs_as_spaces(raw, character):
    column = raw.rindex(character) + 1
    found = quote(raw, column=column)
    assert found.quote == raw.expandtabs(4) and "\t" not in found.quote
    assert found.column == raw.expandtabs(4).rindex(character) + 1
    assert found.quote[found.column - 1] == character


@pytest.mark.parametrize("column", [0, 40])
def test_an_unknown_or_outdated_column_is_not_shown(column):
    assert quote("x = s[0];", column=column).column == 0


@pytest.mark.parametrize("line", [0, 3, 1000])
def test_a_line_beyond_the_end_of_the_file_is_not_quoted(line):
    found = quote("int x;\nx = s[0];\n", line)
    assert (found.quote, found.column, found.number) == ("", 0, line)


def test_an_unavailable_file_is_named_and_not_quoted():
    source = SourceLine("/away/k.cu", 2, None, 5)
    found = quoted("reads", Place(54, source), source, lambda name: "", PTX)
    assert (found.where, found.quote, found.column) == ("k.cu:2", "", 0)


def test_without_a_source_the_line_of_the_ptx_is_quoted():
    found = quoted("reads", Place(54), None, lambda name: "never", PTX)
    assert found == QuotedLine("reads", Place(54), "", 54, 0, PTX.expandtabs(4), PTX)
    assert found.where == "line 54"


def test_unprintable_characters_do_not_reach_the_terminal():
    found = quote("x = \x1b[31ms[0];", file="/home/\x1b[0m/k\x07.cu")
    assert "\x1b" not in found.quote + found.where and "\x07" not in found.where


@pytest.mark.parametrize("mark", ["\f", "\v", "\x1c", "\u2028"])
def test_lines_end_where_compilers_end_them(mark):
    text = f"{mark}int x;\n/* {mark} */ x = s[0];\r\n"
    found = quote(text, 2, column=9)
    assert found.quote.endswith("x = s[0];") and quote(text, 1).quote.endswith("int x;")
    assert found.quote[found.column - 1] == "x"


def test_spaces_at_the_end_of_a_line_are_left_out():
    assert quote("x = s[0];  \r\n").quote == "x = s[0];"
