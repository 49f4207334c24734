# SPDX-License-Identifier: MIT
"""Where commands write: standard output with and without a dash, files whose names say what is in them."""

import os
import re

import pytest

from wmma_emu.viz import explorer_page

F16 = "m16n8k16.f32.f16.f16.f32"
LAYOUT = ("layout", F16, "--operand", "B")
EXPLAIN = ("explain", "a.npy", "b.npy", "--row", "3", "--col", "5")
SCHEDULE = ("schedule", F16)
COMMANDS = {"layout": LAYOUT, "explain": EXPLAIN, "schedule": SCHEDULE}


def names(folder):
    return sorted(x.name for x in folder.iterdir())


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("form", [None, "json", "svg", "html"])
def test_a_dash_is_standard_output_and_no_file(run, here, command, form):
    words = [*COMMANDS[command], *([] if form is None else ["--format", form])]
    before = names(here)
    plain = run(*words)
    assert plain.status == 0 and plain.out and run(*words, "-o", "-") == plain
    assert names(here) == before


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("name", "form", "fix"), [
    ("x.txt", "json", "add --format (grid|text), or"), ("x.TXT", "svg", "add --format (grid|text), or"),
    ("x.json", "svg", "add --format json, or"), ("x.svg", "json", "add --format svg, or"),
    ("x.html", "svg", "add --format html, or"), ("x.htm", "json", "add --format html, or"),
    ("x.svg", "html", "add --format svg, or"),
])  # fmt: skip
def test_a_name_that_says_another_format_is_refused(run, here, command, name, form, fix):
    before = names(here)
    words = [] if form is None else ["--format", form]
    status, out, err = run(*COMMANDS[command], *words, "-o", name)
    assert (status, out) == (2, "") and err.count("\n") == 1 and names(here) == before
    written = form or ("grid" if command == "layout" else "text")
    assert re.fullmatch(
        rf"wmma-emu: error: {name}: the output has format {written}; {fix} give the file another name\n", err
    )


@pytest.mark.parametrize("command", ["explain", "schedule"])
@pytest.mark.parametrize("name", ["x.csv", "x.md", "x.py", "x.h"])
def test_a_format_that_the_command_lacks_is_not_offered(run, here, command, name):
    status, _, err = run(*COMMANDS[command], "-o", name)
    assert (status, err) == (
        2, f"wmma-emu: error: {name}: the output has format text; give the file another name\n"
    )  # fmt: skip


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("name", "form"), [("x.txt", None), ("x", "svg"), ("x.log", "json"), ("x.htm", "html")])
def test_names_that_fit_or_say_nothing_are_written_whole(run, here, command, name, form):
    words = [*COMMANDS[command], *([] if form is None else ["--format", form])]
    expected = run(*words).out
    before = names(here)
    assert run(*words, "-o", name) == (0, "", "")
    assert (here / name).read_text(encoding="utf-8") == expected and names(here) == sorted([*before, name])


def test_lists_as_text_may_be_text_files(run, here):
    assert run(*LAYOUT, "--format", "table", "-o", "x.txt").status == 0
    assert run(*LAYOUT, "--format", "markdown", "-o", "x.md").status == 0
    assert "add --format grid" in run(*LAYOUT, "--format", "markdown", "-o", "y.txt").err


@pytest.mark.parametrize("command", COMMANDS)
def test_what_cannot_be_written_is_said_before_anything_is_computed(run, here, command, monkeypatch):
    for module, name in (("layout", "selections_of"), ("explain", "explain"), ("schedule", "schedule_of")):
        monkeypatch.setattr(f"wmma_emu.cli.{module}.{name}", None)
    assert "missing does not exist; create it first" in run(*COMMANDS[command], "-o", "missing/x").err
    assert "a directory; name a file in it" in run(*COMMANDS[command], "-o", ".").err
    assert "; add --format svg" in run(*COMMANDS[command], "--json", "-o", "x.svg").err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_cannot_be_replaced_stays_as_it_was(run, here, command, monkeypatch):
    (here / "x.txt").write_text("old")
    before = names(here)

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    assert run(*COMMANDS[command], "-o", "x.txt").err == "wmma-emu: error: x.txt: No space left on device\n"
    assert (here / "x.txt").read_text() == "old" and names(here) == before


def test_explain_does_not_write_over_its_matrices(run, here):
    os.link("a.npy", "a.txt")
    assert "a.txt is also an input; name another file to write" in run(*EXPLAIN, "-o", "a.txt").err


@pytest.mark.parametrize("name", ["x.svg", "x.txt", "x.json"])
def test_the_explorer_is_a_page_and_nothing_else(run, here, name):
    before = names(here)
    status, out, err = run("explore", "-o", name)
    assert (status, out, names(here)) == (2, "", before)
    assert err == (
        f"wmma-emu: error: {name}: the output has format HTML; give the file another name, such as explorer.html\n"
    )  # fmt: skip
    assert run("explore", "-o", "x.htm").status == 0
    assert (here / "x.htm").read_text(encoding="utf-8") == explorer_page()


def test_the_picture_of_a_comparison_is_svg_in_a_file_or_alone_on_standard_output(run, here):
    before = names(here)
    words = ("compare", "a.npy", "b.npy", "--archs", "v100,h100", "--svg")
    message = "x.html: the output has format SVG; give the file another name, such as compare.svg"
    assert run(*words, "x.html") == (2, "", f"wmma-emu: error: {message}\n") and names(here) == before
    status, picture, err = run(*words, "-")
    assert (status, err, names(here)) == (0, "", before) and picture.startswith("<svg")
    assert run(*words, "x.svg").out.endswith("the picture is x.svg\n")
    assert (here / "x.svg").read_text(encoding="utf-8") == picture
