# SPDX-License-Identifier: MIT
"""What the README says is true: its boxes print what it shows, its matrix is the tables', its files exist."""

import contextlib
import io
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from docs._ext.pages import generated_pages
from tools.support_matrix import matrix
from wmma_emu.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FEATURES = (ROOT / "docs/features.md").read_text(encoding="utf-8")


def block(marker: str, page: str = README) -> str:
    found = re.search(rf"<!-- {marker} -->\n+```\w*\n(.*?)```", page, re.DOTALL)
    assert found, f"there is no block marked {marker!r}"
    return found.group(1)


def printed_by(code: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(code, {})
    return out.getvalue()


def test_a_reader_sees_at_most_600_words():
    """Count all words, including code and commands, except the folded table."""
    seen = re.sub(r"<details>.*?</details>", "", README, flags=re.DOTALL)
    assert len(seen.split()) <= 600


@pytest.mark.parametrize("box", ["file: test_reverse.py", "example: layout", "example: torch"])
def test_a_box_has_at_most_eight_lines(box):
    assert len([line for line in block(box).splitlines() if line.strip()]) <= 8


@pytest.mark.thorough
def test_the_box_of_a_test_ends_as_the_readme_shows(tmp_path):
    pytest.importorskip("nvidia", reason="NVRTC, which compiles the kernel, is not installed")
    (tmp_path / "test_reverse.py").write_text(block("file: test_reverse.py"), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_wmma_emu"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=200)
    *_, failed, closing = done.stdout.splitlines()
    assert f"{failed}\n" == block("output: test_reverse.py") and closing.startswith("1 failed")


def test_the_main_job_prints_what_the_readme_shows(tmp_path, monkeypatch):
    words = block("command: run").partition(".venv/bin/wmma-emu ")[2].split()
    monkeypatch.chdir(ROOT)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main([*words[:-1], str(tmp_path / words[-1])]) == 0
    shown = block("output: run").splitlines()
    assert len(shown) >= 2 and [x for x in shown if x not in out.getvalue().splitlines()] == []


def test_the_box_of_a_layout_prints_what_the_readme_shows():
    assert printed_by(block("example: layout")) == block("output: layout")


def test_the_box_of_tensors_prints_what_the_readme_shows():
    pytest.importorskip("torch", reason="the box multiplies tensors of PyTorch")
    assert printed_by(block("example: torch")) == block("output: torch")


def test_the_box_of_tensors_shows_the_bits_of_the_same_product_of_arrays():
    of_arrays = re.findall(r"0x[0-9a-f]{8}", block("output", FEATURES))
    assert re.findall(r"0x[0-9a-f]{8}", block("output: torch")) == of_arrays
    assert len(set(of_arrays)) == 4


def test_the_ten_lines_print_what_the_page_of_features_shows():
    assert len([line for line in block("example", FEATURES).splitlines() if line.strip()]) <= 10
    assert printed_by(block("example", FEATURES)) == block("output", FEATURES)


def test_the_support_matrix_equals_the_matrix_of_the_tables():
    assert matrix() in README


@pytest.mark.thorough
def test_links_to_files_of_the_project_lead_somewhere():
    """Check links to generated pages by name, whether the pages were built or not."""
    generated = {ROOT / "docs" / f"{name}.md" for name in generated_pages()}
    folders = {page.parent for page in generated if page.parent != ROOT / "docs"}
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in (x for x in pages if x.parent not in folders):
        prose = re.sub(r"`[^`]*`|^(>>>|\.\.\.) .*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", prose):
            path = Path(os.path.normpath(page.parent / target.removeprefix("path:")))
            found = path in generated if path.parent in folders else path.exists()
            assert found, f"{page.relative_to(ROOT)} links to {target}"


def test_both_commands_are_one_line_each():
    assert len(block("command: run").splitlines()) == 1
    assert len(block("command: test").splitlines()) == 1
