# SPDX-License-Identifier: MIT
"""The pictures of docs/explanation/anatomy-of-a-wmma-product.md are what its code draws of its schedules."""

import doctest
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs/explanation"
PAGE = (FOLDER / "anatomy-of-a-wmma-product.md").read_text(encoding="utf-8")
PICTURES = tuple(f"product-{x}.svg" for x in ("volta", "volta-step", "volta-f16", "turing", "ampere"))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Run the page's examples up to its pictures, and draw those; return where they are."""
    before, mark, after = PAGE.partition("<!-- example: pictures -->\n```python\n")
    assert mark
    names: dict[str, object] = {}
    with pytest.MonkeyPatch.context() as patch:
        for example in doctest.DocTestParser().get_examples(before):
            exec(compile(example.source, "page", "single"), names)
        folder = tmp_path_factory.mktemp("drawn")
        patch.chdir(folder)
        exec(after.partition("```")[0], names)
    return folder


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_of_the_page_is_what_its_code_draws(drawn, picture):
    assert f"]({picture})" in PAGE
    assert (drawn / picture).read_bytes() == (FOLDER / picture).read_bytes()
    assert (FOLDER / picture).stat().st_size < 110_000


def test_the_page_shows_every_picture_that_its_code_draws(drawn):
    assert sorted(x.name for x in drawn.iterdir()) == sorted(PICTURES)
