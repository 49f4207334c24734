# SPDX-License-Identifier: MIT
"""The explorer in a browser: its drawings, highlights, copies and files agree with the tables."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import wmma_emu as we
from tests.browser.explorer_page import A16, HOW_TO, LDMATRIX, S8, SVG, WMMA, ask, holders, state
from wmma_emu.instructions import lookup
from wmma_emu.layouts import layout_for, metadata_map

# --- the numbers ---------------------------------------------------------------------------------

DECODED = [
    (A16, "sm_90"), (WMMA, "sm_70"), ("wmma.mma.m8n32k16.s32.s8.s8.s32", "sm_75"), ("m8n8k4.f32.f16.f16.f32", "sm_70"),
    ("m16n8k256.s32.b1.b1.s32.and.popc", "sm_80"), ("m8n8k4.f64.f64.f64.f64", "sm_90"),
    ("mma.sp.m16n8k64.s32.s8.s8.s32", "sm_89"), ("wgmma.m64n40k16.f16.f16.f16", "sm_90"),
]  # fmt: skip


def test_javascript_decodes_what_the_tables_say(explore):
    page = explore()
    script = """([name, chip]) => Object.fromEntries(Object.entries(
        explorer.operands_of(explorer.BY_NAME.get(name), explorer.CHIP_BY_NAME.get(chip))
      ).map(([letter, {layout: x}]) => [letter, x && Array.from({length: x.elements},
        (_, i) => Array.from({length: x.lanes}, (_, l) => {
          const cell = x.cell(i, l);
          return [x.matrix(cell), x.row(cell), x.col(cell), x.register(i), x.bit(i)];
        }))]))"""
    for name, chip in DECODED:
        row = lookup(name)
        for letter, found in page.evaluate(script, [name, chip]).items():
            if row.is_warpgroup and letter == "B":
                assert found is None
                continue
            layout = layout_for(row, letter.lower(), chip)
            found = np.array(found)
            matrix = np.broadcast_to(layout.matrix_of_lane, layout.lane_shape).ravel()
            assert (found[..., 0] == matrix).all()
            assert (found[..., 1:3] == layout.coords_of_lanes).all()
            index = np.arange(layout.num_elements)
            assert found[:, 0, 3].tolist() == [layout.register_of(i) for i in index]
            assert found[:, 0, 4].tolist() == [layout.bit_of(i) for i in index]


def test_pictures_have_each_element_once_where_the_tables_have_it(explore):
    page = explore(chip="sm_90", i=A16, op="A")
    layout = layout_for(lookup(A16), "a", "sm_90")
    for figure in ("matrix", "registers"):
        cells = page.evaluate(f"[...document.querySelectorAll('#{figure} .cell')].map(x => ({{...x.dataset}}))")
        assert len(cells) == 256
        assert len({(x["index"], x["lane"]) for x in cells}) == len({(x["row"], x["col"]) for x in cells}) == 256
        for x in cells:
            lane, register, bit = (int(x[k]) for k in ("lane", "register", "bit"))
            assert layout.element_at(lane, register, bit) == (int(x["row"]), int(x["col"]))


def test_labels_stay_in_their_cells(explore):
    page = explore()
    script = """() => [...document.querySelectorAll("#view-layout .cell")].filter(cell => {
        const box = cell.querySelector(".edge").getBBox();
        return [...cell.querySelectorAll("text")].some(text => {
          const at = text.getBBox();
          return at.x < box.x - 2 || at.x + at.width > box.x + box.width + 3 || at.y < box.y - 3
            || at.y + at.height > box.y + box.height + 4;
        });
      }).map(x => x.textContent)"""
    for chip, name, op, where in (
        ("sm_90", A16, "A", {}), ("sm_70", WMMA, "A", {}), ("sm_70", "wmma.mma.m32n8k16.f32.f32", "B", {}),
        ("sm_90", "m16n8k256.s32.b1.b1.s32.and.popc", "A", {}), ("sm_90", "m16n8k256.s32.b1.b1.s32.and.popc", "B", {}),
        ("sm_90", "wgmma.m64n256k16.f32.f16.f16", "D", {"warp": 3, "part": 7}), ("sm_90", LDMATRIX, "R", {}),
        ("sm_90", "wmma.mma.m8n32k16.f32.f32", "A", {}), ("sm_90", "m16n8k64.s32.s4.s4.s32", "B", {}),
    ):  # fmt: skip
        explore(chip=chip, i=name, op=op, **where)
        assert page.locator(".figure .cell").count() > 60
        assert page.evaluate(script) == [], (name, op)


# --- three questions -----------------------------------------------------------------------------


@pytest.mark.parametrize("chip", ["sm_70", "sm_90"])
def test_which_lane_holds_an_element_of_c_of_m16n16k16_and_at_which_index(explore, chip):
    page = explore(chip=chip, i="wmma.mma.m32n8k16.f16.f16")
    answer = ask(page, "C[1][12] of wmma m16n16k16 f32")
    (place, *_) = layout_for(lookup(WMMA), "c", chip).locate(1, 12)
    assert state(page)["chip"] == chip
    assert f"is element x[{place.element}] of lane {place.lane} (register c{place.register}, bits 0–31)" in answer
    assert answer.startswith("C[1][12] of wmma.mma.m16n16k16.f32.f")


def test_which_bits_of_which_register_hold_an_element_of_a_of_m16n8k32_in_s8(explore):
    page = explore(chip="sm_90", i=S8, op="A")
    answer = ask(page, "A[9][17]")
    (place,) = layout_for(lookup(S8), "a", "sm_90").locate(9, 17)
    bits = f"bits {place.bit}–{place.bit + 7}"
    said = f"element x[{place.element}] of lane {place.lane} (register a{place.register}, {bits})"
    assert said in answer
    assert holders(page, "registers", "strong") == [(place.element, place.lane)]


def test_which_elements_a_lane_loads_with_ldmatrix_x4_and_which_address_it_gives(explore):
    page = explore(chip="sm_90", i=LDMATRIX)
    addresses = np.arange(32) * 16
    numbers = np.arange(256, dtype=np.uint16)
    registers = we.warp.ldmatrix(numbers, addresses, LDMATRIX, arch="sm_90")
    for lane in (0, 5, 14, 31):
        answer = ask(page, f"T{lane}")
        assert f"Lane {lane} gives the address of row {lane % 8} of matrix {lane // 8}." in answer
        said = re.findall(r"M(\d)\[(\d)\]\[(\d)\]", answer)
        held = [half for word in registers[:, lane].tolist() for half in (word & 0xFFFF, word >> 16)]
        assert [int(m) * 64 + int(r) * 8 + int(c) for m, r, c in said] == held


def test_the_how_to_quotes_what_the_page_answers(explore):
    def words(text):
        return re.findall(r"[\w\[\]–]+", re.sub(r" x\d+\b|[*>\\\\]", "", text))

    quoted = re.findall(r"(?:^> .*\n)+", HOW_TO.read_text(encoding="utf-8"), re.MULTILINE)
    asked = ((A16, "C[1][12] of wmma m16n16k16"), (S8, "A[9][17]"), (LDMATRIX, "T13"))
    for (name, question), answer in zip(asked, quoted, strict=True):
        given = ask(explore(chip="sm_90", i=name), question).replace(f", of {LDMATRIX} on sm_90", "")
        assert words(given)[: len(words(answer))] == words(answer)


def test_the_addresses_that_feed_a_of_m16n8k16_are_shown_on_both_pages(explore):
    page = explore(chip="sm_90", i=A16, view="loads")
    for name in (A16, LDMATRIX):
        assert page.evaluate("explorer.BY_NAME.get(explorer.state().entry).short") == name
        card = page.locator(".card").first
        assert card.locator(".address").inner_text() == "A[lane % 16][lane / 16 * 8]"
        cells = card.locator("td").all_inner_texts()
        assert sorted(cells) == sorted(f"T{x} A[{8 * (x // 8 % 2) + x % 8}][{8 * (x // 16)}]" for x in range(32))
        card.locator("button").click()
        page.click("#tab-loads")


def test_questions_are_answered_and_wrong_ones_say_what_is_legal(explore):
    page = explore(chip="sm_90", i=A16, op="A")
    a = layout_for(lookup(A16), "a", "sm_90")
    assert ask(page, "lane 5").startswith("Lane 5 holds 8 elements of A in 4 registers")
    assert len(holders(page, "registers", "lit")) == 8
    held = re.findall(r"A\[(\d+)\]\[(\d+)\]", ask(page, "T5 a1"))
    assert [(int(r), int(c)) for r, c in held] == [a.element_at(5, 1, bit) for bit in (0, 16)]
    for question in ("T5 x3", "lane 5, x[3]", "(9, 3)", "A[9][3]", "row 9 col 3", "a1 bit 16 of lane 5"):
        if question.startswith("a1"):
            question = "T5 a1 bit 16"
        assert "A[9][3]" in ask(page, question), question
        assert (state(page)["mark"]["index"], state(page)["mark"]["lane"]) == (3, 5)
    assert "x[2] in bits 0–15, x[3] in bits 16–31" in ask(page, "register 1")
    assert len(holders(page, "registers", "lit")) == 64
    assert "B[3][4]" in ask(page, "B[3][4]") and state(page)["letter"] == "B"
    assert "legal values are 0 to 31" in ask(page, "lane 40")
    assert "legal values are 0 to 15" in ask(page, "A[16][0]")
    assert "legal values are 0 to 3" in ask(page, "a4")
    assert "does not name a position" in ask(page, "sonata")
    assert page.locator("#answer.wrong").count() == 1
    assert ask(page, "T7 d2").startswith("Register d2 of lane 7")
    page.click("#tab-formulas")
    assert ask(page, "lane 3").startswith("Lane 3") and state(page)["tab"] == "layout"


def test_the_examples_that_are_offered_have_answers(explore):
    for name in (LDMATRIX, "m8n8k4.f64.f64.f64.f64"):
        page = explore(chip="sm_90", i=name)
        for button in page.locator(".try").all():
            button.click()
            assert page.locator("#answer.wrong").count() == 0 and state(page)["mark"], (name, button.inner_text())


# --- light ---------------------------------------------------------------------------------------


def test_an_element_of_d_lights_its_lane_everywhere_and_the_row_and_column_that_make_it(explore):
    page = explore(chip="sm_90", i=A16, op="D")
    page.hover('#matrix .cell[data-row="9"][data-col="3"]')
    marked = page.evaluate("""() => Object.fromEntries(Object.entries(explorer.marked()).map(([letter, kinds]) => [
        letter, Object.fromEntries(Object.entries(kinds).map(
          ([kind, cells]) => [kind, cells.map(x => [x.row, x.col])]))]))""")
    layouts = {x: layout_for(lookup(A16), x.lower(), "sm_90") for x in "ABCD"}
    (place,) = layouts["D"].locate(9, 3)
    for letter, layout in layouts.items():
        lane = {tuple(x) for x in layout.coords[:, place.lane].tolist()}
        assert {tuple(x) for x in marked[letter]["lit"] + marked[letter]["strong"]} == lane
    assert sorted(marked["A"]["band"]) == [[9, k] for k in range(16)]
    assert sorted(marked["B"]["band"]) == [[k, 3] for k in range(16)]
    assert marked["C"]["strong"] == marked["D"]["strong"] == [[9, 3]]
    assert holders(page, "registers", "strong") == [(place.element, place.lane)]
    assert len(holders(page, "registers", "lit")) == 4
    assert page.text_content("#registers .ruler.here") == f"T{place.lane}"
    assert "ow 9 of A is in lanes 4–7, column 3 of B in lanes 12–15" in page.inner_text("#answer")
    page.mouse.move(2, 2)
    assert page.locator(".figure.marked").count() == 0


def test_all_holders_of_a_copy_on_volta_are_lit(explore):
    page = explore(chip="sm_70", i=WMMA, op="A")
    page.hover('#matrix .cell[data-row="0"][data-col="1"]')
    places = layout_for(lookup(WMMA), "a", "sm_70").locate(0, 1)
    assert holders(page, "registers", "strong") == sorted((x.element, x.lane) for x in places) and len(places) == 2
    assert "2 lanes hold it, and each copy is read" in page.inner_text("#answer")


def test_a_small_map_can_be_pointed_at_and_clicked(explore):
    page = explore(chip="sm_90", i=A16, op="A")
    box = page.locator(".at-D canvas").bounding_box()
    at = {"x": box["width"] * 3.5 / 8, "y": box["height"] * 9.5 / 16}
    page.hover(".at-D canvas", position=at)
    assert page.inner_text("#answer").startswith("D[9][3]")
    bright, dim = page.evaluate("""() => {
        const canvas = document.querySelector(".at-A canvas"), {width, height} = canvas;
        const pen = canvas.cloneNode().getContext("2d", {willReadFrequently: true});
        pen.drawImage(canvas, 0, 0);
        const pixel = (row, col) => [
          ...pen.getImageData((col + 0.5) * width / 16, (row + 0.4) * height / 16, 1, 1).data];
        return [pixel(1, 2), pixel(0, 2)];
      }""")
    assert bright[3] == 255 and dim[3] < 100  # lane 5 holds A[1][2], not A[0][2]
    page.click(".at-D canvas", position=at)
    assert (state(page)["letter"], state(page)["mark"]["cell"]) == ("D", 9 * 8 + 3)


def test_a_sparse_element_meets_the_rows_of_its_chunk_and_metadata_is_a_table(explore):
    name = "mma.sp.m16n8k16.f32.f16.f16.f32"
    page = explore(chip="sm_90", i=name, op="A")
    ask(page, "A[0][5]")
    band = page.evaluate("explorer.marked().B.band.map(x => x.row)")
    assert sorted(set(band)) == [8, 9, 10, 11]
    page.click("#tab-metadata")
    page.click('[data-selector="2"]')
    found = metadata_map(lookup(name), 2)
    cells = page.evaluate("[...document.querySelectorAll('.metadata td')].map(x => ({...x.dataset}))")
    assert len(cells) == found.lane.size
    for x in cells:
        at = int(x["row"]), int(x["chunk"])
        assert (int(x["lane"]), int(x["nibble"])) == (found.lane[at], found.nibble[at])


def test_wgmma_shows_a_warp_and_columns_at_a_time_and_says_where_b_is(explore):
    page = explore(chip="sm_90", i="wgmma.m64n256k16.f32.f16.f16", op="D")
    answer = ask(page, "D[25][138]")
    (place,) = layout_for(lookup("wgmma.m64n256k16.f32.f16.f16"), "d", "sm_90").locate(25, 138)
    assert f"x[{place.element}] of thread {place.lane} (warp 1, lane 5)" in answer
    assert (state(page)["warp"], state(page)["part"]) == (1, 4)
    assert holders(page, "matrix", "strong") == holders(page, "registers", "strong") == [(place.element, place.lane)]
    page.click(".at-B .name")
    assert "is in shared memory" in page.inner_text("#windows")
    assert "is in shared memory" in ask(page, "B[0][0]")


# --- formulas, schedules, files ------------------------------------------------------------------


def test_formulas_equal_the_formulas_of_the_layout_and_are_copied(explore):
    page = explore(chip="sm_70", i=WMMA, op="B", view="formulas")
    formulas = layout_for(lookup(WMMA), "b", "sm_70").formulas
    page.click("[data-copy]")
    assert page.evaluate("navigator.clipboard.readText()") == formulas.c("B")
    page.click('[data-language="python"]')
    page.click("[data-copy]")
    assert page.evaluate("navigator.clipboard.readText()") == formulas.python("B")
    shown = dict(zip(*(page.locator(f".formulas {x}").all_inner_texts() for x in ("dt", "dd")), strict=True))
    cute = layout_for(lookup(WMMA), "b", "sm_70").cute
    assert shown.pop("CuTe").startswith(f"{cute}, thread and value to the element")
    assert shown == formulas.one_line()


def test_a_product_is_walked_through_step_by_step(explore):
    page = explore(chip="sm_70", i=WMMA, view="schedule")
    schedule = we.warp.schedule.schedule_of(WMMA, "sm_70")
    page.focus('[data-step="slider"]')
    for step in schedule.steps[:6]:
        assert page.input_value('[data-step="slider"]') == str(step.number)
        blocks = page.evaluate(
            """[...document.querySelectorAll('.part.of-d')].map(
                x => [x.dataset.threadgroup, x.dataset.rows, x.dataset.cols])"""
        )
        assert blocks == [
            [str(x.threadgroup), f"{x.rows.start} {x.rows.stop}", f"{x.cols.start} {x.cols.stop}"] for x in step.parts
        ]
        line = page.locator(".parts tbody tr").first.inner_text().split("\t")
        first = step.parts[0]
        names = [", ".join(f"{k}{r}" for r in held.registers) for k, held in (("a", first.a), ("d", first.d))]
        assert [line[4], line[-1]] == names
        page.keyboard.press("ArrowRight")
    page.click('[data-step="back"]')
    assert state(page)["step"] == 5
    explore(chip="sm_75", i=WMMA, view="schedule")
    assert page.inner_text("#view-schedule h2") == we.warp.schedule.schedule_of(WMMA, "sm_75").to_dict()["machine"]


@pytest.mark.parametrize("figure", ["matrix", "registers"])
def test_a_saved_picture_is_whole_and_says_what_the_tables_say(explore, figure):
    page = explore(chip="sm_90", i=A16, op="B", lane=5)
    with page.expect_download() as download:
        page.click(f'[data-save="{figure}"]')
    assert download.value.suggested_filename == f"{A16}.B.{figure}.svg"
    text = download.value.path().read_text(encoding="utf-8")
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert "tabindex" not in text and "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert root.find(f"{SVG}title") is not None and root.find(f"{SVG}style") is not None
    layout = layout_for(lookup(A16), "b", "sm_90")
    cells = [x for x in root.iter() if "cell" in x.get("class", "").split()]
    assert len(cells) == 128
    for x in cells:
        lane, register, bit = (int(x.get(f"data-{k}")) for k in ("lane", "register", "bit"))
        assert layout.element_at(lane, register, bit) == (int(x.get("data-row")), int(x.get("data-col")))
        assert ("lit" in x.get("class").split()) == (lane == 5)
