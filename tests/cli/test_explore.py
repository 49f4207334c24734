# SPDX-License-Identifier: MIT
"""``wmma-emu explore``: a file, named or not, or standard output; and what cannot be written."""

import pytest

from wmma_emu.cli import main
from wmma_emu.viz import explorer_page


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
def test_what_cannot_be_written_is_said_in_a_line(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["explore", "-o", name]) == 2
    out = capsys.readouterr()
    assert out.out == "" and out.err.startswith("wmma-emu: error: ") and out.err.count("\n") == 1
