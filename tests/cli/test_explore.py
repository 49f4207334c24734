# SPDX-License-Identifier: MIT
"""``wmma-emu explore`` and ``handout``: a file, or standard output; the browser; what cannot be written."""

import io

import pytest

from wmma_emu.cli import browser, main
from wmma_emu.cli.terminal import Terminal
from wmma_emu.viz import explorer_page, handout_page


def test_the_page_is_written_where_it_is_said(tmp_path, capsys):
    path = tmp_path / "page.html"
    assert main(["explore", "-o", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == explorer_page()
    out = capsys.readouterr()
    assert out.out == f"the explorer is {path}, {path.stat().st_size / 1e6:.1f} MB; open it in a browser\n"
    assert out.err == ""


def test_without_a_name_it_is_a_file_here(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["explore"]) == 0
    assert [x.name for x in tmp_path.iterdir()] == ["wmma_emu_explorer.html"]
    assert "wmma_emu_explorer.html" in capsys.readouterr().out


def test_a_dash_is_standard_output_and_nothing_else_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["explore", "-o", "-"]) == 0
    out = capsys.readouterr()
    assert out.out == explorer_page() and out.err == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["missing/page.html", ""], ids=["no-directory", "no-name"])
def test_a_page_that_cannot_be_written_is_reported_in_one_line(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["explore", "-o", name]) == 2
    out = capsys.readouterr()
    assert out.out == "" and out.err.startswith("wmma-emu: error: ") and out.err.count("\n") == 1


A16 = "m16n8k16.f32.f16.f16.f32"


def test_a_handout_is_a_separate_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["handout", A16, "--arch", "a100"]) == 0
    assert (tmp_path / "wmma_emu_handout.html").read_text(encoding="utf-8") == handout_page(A16, "sm_80")
    assert capsys.readouterr().out.startswith("the handout is wmma_emu_handout.html, ")
    assert main(["handout", A16, "-o", "-"]) == 0
    assert capsys.readouterr().out == handout_page(A16)


def test_a_handout_is_named_as_people_name_instructions(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for words in (["HMMA.16816.F32"], ["SM80_16x8x16_F32F16F16F32_TN"]):
        assert main(["handout", *words, "-o", "-"]) == 0
        assert capsys.readouterr().out == handout_page(A16)
    name = "tcgen05.mma.cta_group::1.kind::f16.m128n64k16.f32.f16.f16"
    assert main(["handout", name, "-o", "-"]) == 0
    assert name in capsys.readouterr().out


def test_a_handout_of_an_unknown_instruction_is_rejected(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for arguments in (["m16n8k99"], [A16, "--arch", "v100"], [A16, "--arch", "mi300"]):
        assert main(["handout", *arguments]) == 2
        assert capsys.readouterr().err.startswith("wmma-emu: error: ")
    assert list(tmp_path.iterdir()) == []


class _Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def opened(monkeypatch):
    """Return the list of pages opened in the browser, on a desktop with a terminal."""
    for name in ("CI", "SSH_CONNECTION", "SSH_TTY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(browser.sys, "platform", "linux")
    asked = []
    monkeypatch.setattr(browser.webbrowser, "open", lambda address: asked.append(address) or True)
    return asked


def test_on_a_desktop_the_page_opens_in_the_browser(tmp_path, opened):
    path = tmp_path / "page.html"
    assert browser.show_page(path, True, Terminal(_Screen())) == "it opens in the browser"
    assert opened == [path.as_uri()]


@pytest.mark.parametrize(
    ("variable", "said"),
    [("CI", "open it in a browser"), ("SSH_CONNECTION", "over ssh no browser is opened: scp "),
     ("DISPLAY", "this machine has no display")],
)  # fmt: skip
def test_without_a_display_no_browser_is_opened(tmp_path, monkeypatch, opened, variable, said):
    monkeypatch.setenv(variable, "" if variable == "DISPLAY" else "1")
    assert said in browser.show_page(tmp_path / "page.html", True, Terminal(_Screen()))
    assert opened == []


def test_no_browser_is_opened_where_it_is_not_wanted_or_no_terminal_is_there(tmp_path, opened):
    assert browser.show_page(tmp_path / "page.html", False, Terminal(_Screen())) == "open it in a browser"
    assert browser.show_page(tmp_path / "page.html", True, Terminal(io.StringIO())) == "open it in a browser"
    assert main(["explore", "--no-open", "-o", str(tmp_path / "page.html")]) == 0
    assert opened == []


def test_a_machine_without_a_browser_is_reported(tmp_path, monkeypatch, opened):
    monkeypatch.setattr(browser.webbrowser, "open", lambda address: False)
    assert browser.show_page(tmp_path / "x.html", True, Terminal(_Screen())) == "no browser was found: open it in one"
