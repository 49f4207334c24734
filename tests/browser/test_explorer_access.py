# SPDX-License-Identifier: MIT
"""Accessibility of the explorer: axe-core finds nothing, a phone keeps the answer in view, a wide screen is used."""

import pytest

from tests.browser.conftest import missing
from tests.browser.explorer_page import A16, WMMA, ask, state
from wmma_emu.applications.explorer import handout_page

TENSOR = "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X.m128n64k64.f32.e2m1.e2m1.ue8m0"
MX = "m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
F64 = "m8n8k4.f64.f64.f64.f64"
VIEWS = [  # of small operands: what axe looks at takes its time
    ("sm_90", F64, "layout", "A[3][2]"), ("sm_90", F64, "layout", "lane 40"), ("sm_90", F64, "formulas", ""),
    ("sm_90", A16, "loads", ""), ("sm_90", F64, "tile", "D[3][2]"), ("sm_90", F64, "handout", ""),
    ("sm_70", WMMA, "schedule", ""), ("sm_120", MX, "scales", "scale_A[9][1]"),
    ("sm_90", "mma.sp.m16n8k32.f32.f16.f16.f32", "metadata", ""), ("sm_100", TENSOR, "tensor", "D[20][40]"),
    ("sm_100", TENSOR, "handout", ""),
]  # fmt: skip


@pytest.fixture(scope="session")
def axe():
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        missing("axe-playwright-python is not installed")
    return Axe()


def faults(axe, page, **options):
    found = axe.run(page, options=options or None).response["violations"]
    return [(x["id"], [y["html"][:120] for y in x["nodes"]][:3]) for x in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_view_with_an_answer_shown(explore, axe, scheme):
    options = {"runOnly": ["color-contrast"]} if scheme == "dark" else {}  # the rest does not change at night
    for chip, name, view, question in VIEWS if scheme == "light" else VIEWS[::3]:
        page = explore(scheme=scheme, chip=chip, i=name, view=view)
        if question:
            ask(page, question)
        assert state(page)["tab"] == view
        assert faults(axe, page, **options) == [], (name, view)


def test_axe_finds_nothing_on_a_phone_nor_in_the_list_nor_on_a_handout(explore, axe, browser, tmp_path):
    page = explore(390, 844, chip="sm_90", i=F64)
    ask(page, "lane 5")
    assert faults(axe, page) == []
    page.click("#narrow")
    page.fill("#instruction", "m16n8k16 bf16")
    assert page.locator("#found [role=option]").count() > 1
    assert faults(axe, page) == []
    path = tmp_path / "handout.html"
    path.write_text(handout_page(F64), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(path.as_uri())
    assert faults(axe, page) == []
    context.close()


def test_on_a_phone_the_answer_of_a_tap_is_in_sight_with_the_cell_that_was_tapped(explore):
    page = explore(390, 844, chip="sm_90", i=A16, op="A")
    first = page.evaluate("document.querySelector('#matrix .cell').getBoundingClientRect().top + scrollY")
    assert first < 1.5 * 844
    for row, col in ((0, 0), (9, 3), (15, 9)):
        cell = f'#matrix .cell[data-row="{row}"][data-col="{col}"]'
        page.locator(cell).scroll_into_view_if_needed()
        page.locator(f"{cell} .edge").dispatch_event("click")
        assert page.inner_text("#answer").startswith(f"A[{row}][{col}]")
        at, answer = page.evaluate(f"""() => ["{cell.replace('"', "'")}", "#answer .head"].map(x => {{
            const box = document.querySelector(x).getBoundingClientRect();
            return [box.top, box.bottom];
          }})""")
        assert answer[0] >= 0 and answer[1] <= 844
        assert 0 <= at[0] and at[1] <= answer[0]
        page.keyboard.press("Escape")
        assert page.evaluate("getComputedStyle(document.querySelector('#reply')).position") != "fixed"


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (1440, 900), (1920, 1080), (2560, 1440)])
def test_a_wide_screen_shows_overview_matrix_and_registers_in_one_row(explore, width, height):
    page = explore(width, height, chip="sm_90", i=A16, op="A")
    boxes = page.evaluate("""() => [".overview", "#matrix svg", "#registers svg"].map(x => {
        const box = document.querySelector(x).getBoundingClientRect();
        return [box.left, box.right, box.top];
      })""")
    (_, overview, _), (left, middle, top), (right, end, top_of_registers) = boxes
    assert overview <= left and middle <= right and abs(top - top_of_registers) < 2
    assert end <= width and end > 0.8 * width
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    explore()


def test_pictures_are_saved_as_png_and_as_tikz(explore):
    page = explore(chip="sm_90", i=A16, op="A", lane=5, x=3)
    with page.expect_download() as download:
        page.click('[data-png="matrix"]')
    content = download.value.path().read_bytes()
    assert content.startswith(b"\x89PNG") and download.value.suggested_filename == f"{A16}.A.matrix.png"
    width = page.evaluate("document.querySelector('#matrix svg').viewBox.baseVal.width")
    assert int.from_bytes(content[16:20], "big") == 3 * width
    with page.expect_download() as download:
        page.click('[data-tikz="matrix"]')
    text = download.value.path().read_text(encoding="utf-8")
    assert text.count("rectangle") == 256 and text.count("{T5}") == 8 and text.count("draw, thick") == 8
    assert text.count("{") == text.count("}") and text.rstrip().endswith("\\end{document}")


def test_a_page_within_the_documentation_links_to_the_page_of_the_chosen_instruction(open_page, tmp_path):
    from wmma_emu.instructions.reference_pages import anchor_of, document_of
    from wmma_emu.instructions.table import INSTRUCTIONS
    from wmma_emu.viz import explorer_page

    path = tmp_path / "explorer.html"
    path.write_text(explorer_page(documentation="../"), encoding="utf-8")
    page = open_page(path.as_uri())
    names = ["index.html", "how-to/find-what-a-lane-holds.html", "lessons/index.html"]
    links = page.evaluate("[...document.querySelectorAll('.links a')].map(x => x.getAttribute('href'))")
    assert links[:3] == [f"../{x}" for x in names]
    assert links[3].startswith("../reference/instructions/mma-sync-m16n8k16")
    script = """explorer.ENTRIES.filter(x => x.kind === "product").map(x => [x.name, explorer.page_path(x)])"""
    found = page.evaluate(script)
    assert len(found) == len(INSTRUCTIONS)
    for name, where in found:
        assert where == f"{document_of(INSTRUCTIONS[name])}.html#{anchor_of(INSTRUCTIONS[name])}"


def test_a_page_outside_the_documentation_has_no_link_to_it(explore):
    page = explore()
    assert page.evaluate("[...document.querySelectorAll('a')].map(x => x.className)") == ["skip"]
