# SPDX-License-Identifier: MIT
"""The architecture page names files and packages that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")


def _names(pattern):
    return sorted(set(re.findall(pattern, PAGE)))


def test_every_file_in_code_marks_on_the_architecture_page_exists():
    folders = ("wmma_emu", "tools", "docs", "tests")
    files = {x.relative_to(ROOT).as_posix() for folder in folders for x in (ROOT / folder).rglob("*.*")}
    missing = [x for x in _names(r"`([\w/]+\.(?:py|html|css))`") if not any(f"/{y}".endswith(f"/{x}") for y in files)]
    assert not missing


def test_every_package_in_code_marks_on_the_architecture_page_exists():
    folders = [ROOT / "docs", ROOT / "tests", *(x for x in (ROOT / "wmma_emu").rglob("*") if x.is_dir())]
    paths = [f"/{x.relative_to(ROOT).as_posix()}" for x in (*folders, ROOT / "docs/_ext")]
    assert not [x for x in _names(r"`([\w/]+)/`") if not any(path.endswith(f"/{x}") for path in paths)]


def test_every_link_to_a_section_of_the_architecture_page_has_its_heading():
    headings = {re.sub(r"[^\w\- ]", "", x.lower()).replace(" ", "-") for x in re.findall(r"^#+ (.*)$", PAGE, re.M)}
    assert set(_names(r"\]\(#([\w-]+)\)")) <= headings
