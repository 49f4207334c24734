# SPDX-License-Identifier: MIT
"""What the pages of the documentation show is what the program does: every ``>>>`` in them is run."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "\n>>> " in page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_examples_of_a_page_give_what_it_shows(page):
    flags = doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=flags, encoding="utf-8")
    assert tried > 0
    assert failed == 0


def test_there_are_pages_with_examples():
    assert PAGES
