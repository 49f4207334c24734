# SPDX-License-Identifier: MIT
"""The examples on the pages of the documentation are right: every ``>>>`` in them is run."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "\n>>> " in page.read_text(encoding="utf-8"))


def skip_without_what_it_needs(text):
    """Skip the test of a page that says ``<!-- needs: torch -->``, where that library is not installed."""
    for library in re.findall(r"^<!-- needs: (\w+) -->$", text, re.MULTILINE):
        pytest.importorskip(library, reason=f"{library} is not installed: it is not a dependency of the tests")


def _param(page):
    """Return a page as a parameter; a page whose examples compile CUDA is thorough."""
    compiles = re.search(r"^>>> .*\bfrom_cuda\(", page.read_text(encoding="utf-8"), re.MULTILINE)
    return pytest.param(page, id=str(page.relative_to(DOCS)), marks=[pytest.mark.thorough] * bool(compiles))


@pytest.mark.parametrize("page", [_param(page) for page in PAGES])
def test_the_examples_of_a_page_print_the_output_on_it(page, tmp_path, monkeypatch):
    skip_without_what_it_needs(page.read_text(encoding="utf-8"))
    for name in ("docs", "examples", "tests", "tools"):  # what pages write stays out of the clone
        (tmp_path / name).symlink_to(DOCS.parent / name)
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=flags, encoding="utf-8")
    assert tried > 0
    assert failed == 0


def test_there_are_pages_with_examples():
    assert PAGES


def test_a_page_that_requires_a_missing_library_is_skipped_with_a_reason():
    skip_without_what_it_needs("# A page\n\n<!-- needs: numpy -->\n")
    with pytest.raises(pytest.skip.Exception, match="no_such_library is not installed"):
        skip_without_what_it_needs("# A page\n\n<!-- needs: no_such_library -->\n")
