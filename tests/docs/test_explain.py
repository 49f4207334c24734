# SPDX-License-Identifier: MIT
"""What docs/how-to/explain-a-bit.md shows is what its code prints."""

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/how-to/explain-a-bit.md").read_text(encoding="utf-8")


def block(marker: str) -> str:
    found = re.search(rf"<!-- {marker} -->\n+```\w*\n(.*?)```", PAGE, re.DOTALL)
    assert found, f"the page has no block marked {marker!r}"
    return found.group(1)


@pytest.fixture(scope="module")
def printed():
    """Run the page's code from its beginning; return what each part prints."""
    names: dict[str, object] = {}
    out = {}
    for part in ("compare", "explain"):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            exec(block(f"example: {part}"), names)
        out[part] = text.getvalue().rstrip() + "\n"
    return out


@pytest.mark.parametrize("part", ["compare", "explain"])
def test_the_page_shows_what_its_code_prints(printed, part):
    assert block(f"output: {part}") == printed[part]


def test_the_page_answers_with_two_different_last_bits():
    results = re.findall(r"^D\[0, 0\] = (0x[0-9a-f]{8})", block("output: explain"), re.MULTILINE)
    assert results == ["0x3f800002", "0x3f800002", "0x3f800003", "0x3f800003"]


def test_the_loss_that_the_page_names_is_the_one_that_the_terms_show():
    cuts = re.findall(r"\+ 0\.0+(1+)\|(\S+)$", block("output: explain"), re.MULTILINE)
    assert cuts == [("1", "110(18)")] * 5 + [("11", "10(18)")] * 5
