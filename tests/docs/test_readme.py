# SPDX-License-Identifier: MIT
"""What the README says is true: its example prints what it shows, its matrix is the tables', its files exist."""

import contextlib
import io
import os
import re
import warnings
from pathlib import Path

from docs._ext.pages import generated_pages
from tools.support_matrix import matrix

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(marker: str) -> str:
    found = re.search(rf"<!-- {marker} -->\n+```\w*\n(.*?)```", README, re.DOTALL)
    assert found, f"README.md has no block marked {marker!r}"
    return found.group(1)


def test_the_example_prints_what_the_readme_shows():
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(block("example"), {})
    assert out.getvalue() == block("output")


def test_the_example_has_ten_lines_and_shows_different_bits():
    lines = [line for line in block("example").splitlines() if line.strip()]
    assert len(lines) <= 10
    bits = re.findall(r"^[\w @]+ +(0x[0-9a-f]{8})$", block("output"), re.MULTILINE)
    assert len(bits) == 4 and len(set(bits)) == 4


def test_the_support_matrix_is_that_of_the_tables():
    assert matrix() in README


def test_links_to_files_of_the_project_lead_somewhere():
    """Of the pages that a build of the documentation writes, the names decide, whether they were built or not."""
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
