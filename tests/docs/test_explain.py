# SPDX-License-Identifier: MIT
"""What docs/how-to/explain-a-bit.md shows is what its code prints."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from wmma_emu.cli import main

HOW_TO = Path(__file__).parents[2] / "docs/how-to"
PAGE = (HOW_TO / "explain-a-bit.md").read_text(encoding="utf-8")
PICTURE = "explain-a-bit.svg"


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


def test_the_code_of_the_page_draws_its_picture(tmp_path, monkeypatch):
    names: dict[str, object] = {}
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()):
        for part in ("compare", "picture"):
            exec(block(f"example: {part}"), names)
    assert (tmp_path / PICTURE).read_bytes() == (HOW_TO / PICTURE).read_bytes()
    assert f"]({PICTURE})" in PAGE
    np.save("A.npy", names["A"]), np.save("B.npy", names["B"])
    for command in block("example: shell").splitlines():
        assert main(shlex.split(command)[1:]) == 0
    assert "0x3f800003" in (tmp_path / "explained.html").read_text(encoding="utf-8")
    assert ">step 2: 8 products" in (tmp_path / "step.svg").read_text(encoding="utf-8")
