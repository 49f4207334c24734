# SPDX-License-Identifier: MIT
"""The pictures of docs/how-to/see-who-loads-what.md are what its code draws."""

import re
from pathlib import Path

import pytest

HOW_TO = Path(__file__).parents[2] / "docs/how-to"
PAGE = (HOW_TO / "see-who-loads-what.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"<!-- example: picture -->\n```python\n(.*?)```", PAGE, re.DOTALL)
PICTURES = re.findall(r"\]\((see-who-loads-what-\w+\.svg)\)", PAGE)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """What the code blocks of the page write, one after another."""
    folder = tmp_path_factory.mktemp("drawn")
    names: dict[str, object] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in BLOCKS:
            exec(block, names)
    return folder


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_of_the_page_is_what_its_code_draws(drawn, name):
    assert (drawn / name).read_bytes() == (HOW_TO / name).read_bytes()


def test_every_picture_that_is_drawn_is_shown(drawn):
    assert sorted(x.name for x in drawn.iterdir()) == sorted(PICTURES)
    assert sorted(x.name for x in HOW_TO.glob("see-who-loads-what-*.svg")) == sorted(PICTURES)
