# SPDX-License-Identifier: MIT
"""The pictures of docs/explanation/anatomy-of-an-accumulator.md are what its code draws of the sums it is about."""

import doctest
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs/explanation"
PAGE = (FOLDER / "anatomy-of-an-accumulator.md").read_text(encoding="utf-8")
PICTURES = ("anatomy-volta.svg", "anatomy-ampere.svg", "anatomy-hopper.svg")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Run the page's examples up to its pictures, and draw those; return where they are, and the page's names."""
    before, mark, after = PAGE.partition("<!-- example: pictures -->\n```python\n")
    assert mark
    names: dict[str, object] = {}
    for example in doctest.DocTestParser().get_examples(before):
        exec(compile(example.source, "page", "single"), names)
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("drawn")
        patch.chdir(folder)
        exec(after.partition("```")[0], names)
    return folder, names


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_of_the_page_is_what_its_code_draws(drawn, picture):
    folder, _ = drawn
    assert f"]({picture})" in PAGE
    assert (folder / picture).read_bytes() == (FOLDER / picture).read_bytes()
    assert (FOLDER / picture).stat().st_size < 100_000


def test_the_chips_of_the_page_differ_and_lose_what_it_says(drawn):
    _, names = drawn
    results = {chip: e.result - 0x3F80_0000 for chip, e in names["on"].items()}
    assert results == {"v100": 3, "a100": 4, "h100": 6} and names["exact"] == 1 + 7 * 2.0**-23
    assert [len(e.steps) for e in names["on"].values()] == [4, 2, 1]
