# SPDX-License-Identifier: MIT
"""The same words with and without `rich`, on a terminal, in a file, in any encoding."""

import re
import sys

import numpy as np
import pytest

from wmma_emu.cli import main
from wmma_emu.instructions import INSTRUCTIONS

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
COMMANDS = [
    ["list", "--type", "tf32", "--arch", "h100"],
    ["show", "m16n8k32.f32.e4m3.e4m3.f32"],
    ["layout", "m8n8k4.f32.f16.f16.f32", "--operand", "c"],
    ["where", "wmma.mma.m16n16k16.f32.f32", "--operand", "a", "--row", "3", "--col", "5", "--arch", "v100"],
    ["what", "m16n8k32.s32.s8.s8.s32", "--operand", "b", "--lane", "5", "--register", "1"],
    ["gemm", "a.npy", "b.npy", "-o", "d.npy"],
    ["explain", "a.npy", "b.npy", "--row", "3", "--col", "5"],
]


@pytest.fixture
def without_rich(monkeypatch):
    for name in [x for x in sys.modules if x.split(".")[0] == "rich"] + ["rich"]:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize("argv", COMMANDS, ids=lambda x: x[0])
@pytest.mark.parametrize("columns", [40, 80, 140])
def test_rich_changes_the_look_and_no_word(here, screen, monkeypatch, argv, columns):
    pytest.importorskip("rich")
    styled = screen(columns)
    assert main(argv) == 0
    for name in [x for x in sys.modules if x.split(".")[0] == "rich"]:
        monkeypatch.setitem(sys.modules, name, None)
    plain = screen(columns)
    assert main(argv) == 0
    assert ESCAPES.search(styled.text) and not ESCAPES.search(plain.text)
    assert ESCAPES.sub("", styled.text) == plain.text


@pytest.mark.parametrize("argv", COMMANDS, ids=lambda x: x[0])
def test_without_rich_a_terminal_gets_plain_text(here, screen, without_rich, argv):
    out = screen()
    assert main(argv) == 0
    assert out.text and "\x1b" not in out.text


@pytest.mark.parametrize("argv", COMMANDS, ids=lambda x: x[0])
def test_no_color_gives_plain_text_on_a_terminal(here, screen, monkeypatch, argv):
    out = screen()
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(argv) == 0
    assert out.text and "\x1b" not in out.text


@pytest.mark.parametrize("argv", COMMANDS, ids=lambda x: x[0])
def test_a_pipe_gets_plain_text_and_rich_is_not_imported(here, run, without_rich, argv):
    outcome = run(*argv)
    assert outcome.status == 0 and "\x1b" not in outcome.out


@pytest.mark.parametrize("argv", COMMANDS, ids=lambda x: x[0])
@pytest.mark.parametrize("columns", [80, 140])
def test_no_line_is_wider_than_the_terminal(here, screen, without_rich, argv, columns):
    out = screen(columns)
    main(argv)
    assert max(len(line) for line in out.text.splitlines()) <= columns


def test_a_narrow_terminal_drops_the_columns_that_the_name_repeats(screen, without_rich):
    narrow, wide = screen(80), None
    main(["list", "--type", "tf32"])
    wide = screen(140)
    main(["list", "--type", "tf32"])
    assert narrow.text.split("\n")[0].split() == ["INSTRUCTION", "REGISTERS", "CHIPS"]
    assert wide.text.split("\n")[0].split() == ["INSTRUCTION", "SHAPE", "TYPES", "LAYOUTS", "REGISTERS", "CHIPS"]


def test_csv_and_json_are_never_styled_or_cut(screen):
    for form in ("csv", "json", "markdown"):
        out = screen(40)
        main(["list", "--format", form])
        assert "\x1b" not in out.text
        expected = ("| m8n8k4.f32", "| wmma.", "| wgmma.") if form == "markdown" else INSTRUCTIONS
        assert all(name in out.text for name in expected)


@pytest.mark.parametrize("argv", COMMANDS, ids=lambda x: x[0])
@pytest.mark.parametrize("with_rich", [True, False])
def test_an_ascii_terminal_gets_escapes(here, screen, request, argv, with_rich):
    if not with_rich:
        request.getfixturevalue("without_rich")
    name = "größe.npy"
    (here / "a.npy").rename(here / name)
    out = screen(80, encoding="ascii")
    assert main([name if x == "a.npy" else x for x in argv]) == 0
    assert ("gr\\xf6\\xdfe.npy" in out.text) == (argv[0] == "gemm")


def test_each_status_has_its_own_colour(screen):
    pytest.importorskip("rich")
    out = screen()
    main(["show", "m16n8k16.f32.f16.f16.f32"])
    assert "\x1b[32mmeasured" in out.text and "\x1b[33mliterature" in out.text


def test_a_closed_standard_output_does_not_stop_the_work(here, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["gemm", "a.npy", "b.npy", "-o", "d.npy"]) == 0
    assert np.load("d.npy").shape == (6, 7)


def test_warnings_of_others_are_left_alone(here, run, monkeypatch):
    import warnings

    import wmma_emu.cli.product as product

    real = product.gemm

    def gemm(*args, **kwargs):
        warnings.warn("not ours", RuntimeWarning, stacklevel=1)
        return real(*args, **kwargs)

    monkeypatch.setattr(product, "gemm", gemm)
    with pytest.raises(RuntimeWarning, match="not ours"):
        run("gemm", "a.npy", "b.npy", "-o", "d.npy")
