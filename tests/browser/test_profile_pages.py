# SPDX-License-Identifier: MIT
"""Pages of profiles in a browser: axe-core finds nothing, tables scroll inside their boxes, text is in its cell."""

import pytest

from tests.browser.test_explorer_access import axe, faults
from tests.browser.test_memory_pictures import CONTRAST, OUTSIDE
from tests.ptx.profile.kernels import transposed
from wmma_emu.viz import draw_bank_conflicts
from wmma_emu.viz.picture import page

__all__ = ["axe"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The page of a profile, of a comparison, and of pictures of conflicts."""
    folder = tmp_path_factory.mktemp("profiles")
    conflicting = transposed(128)
    lanes = range(32)
    pictures = [
        draw_bank_conflicts([x * 128 for x in lanes]), draw_bank_conflicts([x // 3 * 132 for x in lanes], 4),
        draw_bank_conflicts([x * 160 for x in lanes], 16), draw_bank_conflicts([x % 2 * 64 for x in lanes], 8),
    ]  # fmt: skip
    pages = {
        "profile": conflicting.to_html(), "comparison": conflicting.compare(transposed(132)).to_html(),
        "pictures": page("banks", "".join(x._repr_html_() for x in pictures)),
    }  # fmt: skip
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in pages}


def opened(open_page, address, **options):
    shown = open_page(address, **options)
    shown.evaluate("document.querySelectorAll('details').forEach(x => { x.open = true; })")
    return shown


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", ["profile", "comparison"])
def test_axe_finds_nothing_and_the_page_does_not_scroll_sideways(open_page, written, axe, name, width, scheme):
    shown = opened(open_page, written[name], width=width, color_scheme=scheme)
    assert faults(axe, shown) == []
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


def test_tables_and_explanations_are_reached_from_the_keyboard(open_page, written):
    shown = open_page(written["profile"], width=400)
    reached = []
    for _ in range(6):
        shown.keyboard.press("Tab")
        reached.append(shown.evaluate("document.activeElement.tagName"))
    assert reached[0] == "DIV" and "SUMMARY" in reached
    shown.locator("summary").first.focus()
    shown.keyboard.press("Enter")
    assert shown.evaluate("document.querySelector('details').open")


def test_on_paper_a_table_is_not_cut_off_and_its_colours_are_light(open_page, written):
    shown = opened(open_page, written["profile"], width=700, color_scheme="dark")
    shown.emulate_media(media="print")
    style = "getComputedStyle(document.querySelector('{}')).{}"
    assert shown.evaluate(style.format(".scroll", "overflowX")) == "visible"
    assert shown.evaluate(style.format("main", "color")) == "rgb(27, 31, 36)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_lanes_of_a_conflict_are_in_their_cells_and_can_be_read(open_page, written, scheme):
    shown = open_page(written["pictures"], color_scheme=scheme)
    assert shown.evaluate(OUTSIDE) == []
    count, least = shown.evaluate(CONTRAST)
    assert count > 100 and least >= 4.5
