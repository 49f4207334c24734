# SPDX-License-Identifier: MIT
"""The explorer's words around the pictures agree with the package: blocks, registers, sums, addresses."""

import re
from collections import Counter
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from tests.browser.explorer_page import ask
from wmma_emu.applications.explorer.data import explorer_data
from wmma_emu.applications.explorer.moves import move_plans_of
from wmma_emu.errors import AlignmentError
from wmma_emu.instructions import ARCHS, lookup
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.layouts import granularity_of, layout_for, scale_map
from wmma_emu.schedule import schedule_of
from wmma_emu.schedule.text import accumulates, numbers
from wmma_emu.viz import draw_ldmatrix
from wmma_emu.warp import ldmatrix
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES

HOW_TO = Path(__file__).parents[2] / "docs/how-to"
X1, X2 = "ldmatrix.m8n8.x1.shared.b16", "ldmatrix.m8n8.x2.shared.b16"


@pytest.fixture(scope="module")
def opened(browser, address):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(address)
    yield page, said
    context.close()


@pytest.fixture
def explore(opened):
    """Show the explorer at a state, ``explore(chip=..., i=..., op=...)``."""
    page, said = opened

    def shown(**state):
        fragment = "&".join(f"{name}={value}" for name, value in state.items())
        page.evaluate(
            """fragment => {
                history.pushState(null, "", "#" + fragment);
                dispatchEvent(new PopStateEvent("popstate"));
              }""",
            fragment,
        )
        return page

    yield shown
    assert said == []


# --- step by step --------------------------------------------------------------------------------

FP8 = "m16n8k32.f32.e4m3.e4m3.f32"
WALKED = [
    (FP8, "sm_90"), ("m16n8k64.s32.s4.s4.s32", "sm_90"), ("mma.sp.m16n8k128.s32.s4.s4.s32", "sm_90"),
    ("wmma.mma.m16n16k16.f32.f32", "sm_70"), ("wmma.mma.m16n16k16.f16.f32", "sm_70"),
    ("wmma.mma.m16n16k16.f32.f16", "sm_70"), ("m8n8k4.f32.f16.f16.f32", "sm_70"),
    ("wmma.mma.m16n16k16.f32.f16", "sm_75"), ("wmma.mma.m16n16k16.f16.f32", "sm_75"),
    ("wmma.mma.m16n16k8.f32.tf32.tf32.f32", "sm_90"), ("m16n8k16.f64.f64.f64.f64", "sm_100"),
    ("m16n8k256.s32.b1.b1.s32.and.popc", "sm_100"),
]  # fmt: skip

DRAWN = """count => Array.from({length: count}, (_, step) => {
  if (step) document.querySelector('[data-step="next"]').click();
  const box = (x) => ["x", "y", "width", "height"].map((name) => Number(x.getAttribute(name)));
  const svg = document.querySelector(".steps");
  return {
    grids: [...svg.querySelectorAll("rect.cells")].map(box),
    parts: [...svg.querySelectorAll(".part")].map((x) => [
      x.classList[1], Number(x.dataset.matrix), box(x.querySelector("rect:last-of-type"))]),
    labels: [...svg.querySelectorAll(".part.of-d text")].map((x) => x.textContent),
    lines: [...document.querySelectorAll(".parts tbody tr")].map(
      (x) => [...x.querySelectorAll("td")].map((y) => y.textContent)),
  };
})"""


def covered(drawn, shapes):
    """The (matrix, row, column) that boxes of each operand cover, in elements; they must not overlap."""
    found = {"of-a": [], "of-b": [], "of-d": []}
    for kind, matrix, (x, y, width, height) in drawn["parts"]:
        nth = list(found).index(kind)
        left, top, across, down = drawn["grids"][3 * matrix + nth]
        rows, cols = shapes[kind]
        wide, tall = across / cols, down / rows
        first_row, first_col = round((y - top) / tall, 6), round((x - left) / wide, 6)
        height, width = round(height / tall, 6), round(width / wide, 6)
        assert all(value == int(value) for value in (first_row, first_col, height, width))
        found[kind] += [
            (matrix, int(first_row) + i, int(first_col) + j) for i in range(int(height)) for j in range(int(width))
        ]
    assert all(len(x) == len(set(x)) for x in found.values())
    return {kind: set(x) for kind, x in found.items()}


def registers_said(text):
    """``"d0–d3"``, ``"d0, d1"``, ``"first 0–3"`` as `wmma_emu.schedule.text` writes them: "d 0-3"."""
    if text in ("–", "zero"):
        return {"zero": "0"}.get(text, text)
    name, rest, more = re.fullmatch(r"([a-z]+) ?([\w–, ]*?\d)((?: as \w+)?)", text).groups()
    runs = [[int(y) for y in re.findall(r"\d+", x)] for x in rest.split(", ")]
    return f"{name} {numbers(i for run in runs for i in range(run[0], run[-1] + 1))}{more}"


@pytest.mark.parametrize(("name", "chip"), WALKED, ids=[f"{name}-{chip}" for name, chip in WALKED])
def test_every_step_draws_the_blocks_and_names_the_registers_of_the_schedule(explore, name, chip):
    schedule = schedule_of(name, chip)
    row = schedule.instruction
    shapes = {"of-a": (row.m, row.terms), "of-b": (row.terms, row.n), "of-d": (row.m, row.n)}
    registers = layout_for(row, "d", chip).num_registers
    page = explore(chip=chip, i=row.short_mnemonic, view="schedule")
    for step, drawn in zip(schedule.steps, page.evaluate(DRAWN, len(schedule.steps)), strict=True):
        parts = step.parts
        named = [int(x) for line in drawn["lines"] for x in re.findall(r"\bd(\d+)", " ".join(line))]
        assert bool(named) == (schedule.finish == "none") and all(x < registers for x in named)
        assert covered(drawn, shapes) == {
            "of-a": {(x.matrix, r, k) for x in parts for r in x.rows for k in step.ks},
            "of-b": {(x.matrix, k, c) for x in parts for k in step.ks for c in x.cols},
            "of-d": {(x.matrix, r, c) for x in parts for r in x.rows for c in x.cols},
        }
        added, written = accumulates(schedule, step)
        name_added, name_written = added.split()[0], written.split()[0]
        converted = "".join(re.findall(r" as \w+$", added))
        assert len(drawn["lines"]) == len(parts)
        for part, line in zip(parts, drawn["lines"], strict=True):
            *_, a, b, adds, writes = line
            assert registers_said(a) == f"a {numbers(part.a.registers)}"
            assert registers_said(b.split(" of ")[0]) == f"b {numbers(part.b.registers)}"
            wanted = f"{name_added} {numbers(part.c.registers)}{converted}" if part.c else "0"
            assert registers_said(adds) == wanted
            assert registers_said(writes) == f"{name_written} {numbers(part.d.registers)}"
        if len(parts) == 1:
            assert [registers_said(x) for x in drawn["labels"]] == [written]
            assert (registers_said(drawn["lines"][0][-2]), registers_said(drawn["lines"][0][-1])) == (added, written)


def test_a_schedule_of_a_sparse_product_says_that_k_counts_what_is_kept(explore):
    page = explore(chip="sm_90", i="mma.sp.m16n8k128.s32.s4.s4.s32", view="schedule")
    assert "A is packed: k counts its elements" in page.inner_text("#view-schedule")
    explore(chip="sm_90", i="m16n8k64.s32.s4.s4.s32", view="schedule")
    assert "packed" not in page.inner_text("#view-schedule")


# --- sentences -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "chip", "does"),
    [
        ("m16n8k256.s32.b1.b1.s32.xor.popc", "sm_80", "xor"), ("m16n8k256.s32.b1.b1.s32.and.popc", "sm_80", "and"),
        ("wmma.mma.xor.popc.m8n8k128.s32.b1.b1.s32", "sm_80", "xor"),
        ("wgmma.m64n8k256.s32.b1.b1.and.popc", "sm_90", "and"),
    ],
)  # fmt: skip
def test_single_bits_are_counted_and_not_multiplied(explore, name, chip, does):
    page = explore(chip=chip, i=name, op="D")
    assert page.evaluate("explorer.state().entry") == lookup(name).mnemonic
    assert page.inner_text("#equation") == f"D = C + number of ones of A {does} B"
    answer = ask(page, "D[0][0]")
    assert f"D[0][0] = C[0][0] + the number of ones of A[0][k] {does} B[k][0] over all k" in answer
    assert "·" not in answer and "Σ" not in answer


def test_numbers_are_multiplied_and_a_single_lane_is_one_lane(explore):
    page = explore(chip="sm_90", i="m16n8k16.f32.f16.f16.f32", op="D")
    assert page.inner_text("#equation") == "D = A · B + C"
    assert "D[3][0] = C[3][0] + Σk A[3][k] · B[k][0]. Row 3 of A is in lanes 12–15, column 0 of B" in ask(
        page, "D[3][0]"
    )
    layout = layout_for(lookup("m8n8k4.row.row.f32.f16.f16.f32"), "a", "sm_70")
    explore(chip="sm_70", i="m8n8k4.row.row.f32.f16.f16.f32", op="D")
    (lane,) = {x.lane for k in range(4) for x in layout.locate(3, k, 0)}
    assert f"Row 3 of A is in lane {lane}, column" in ask(page, "(0, 3, 0)")


@pytest.mark.parametrize(
    "name", ["mma.sp.m16n8k16.f32.f16.f16.f32", "mma.sp.m16n8k8.f32.tf32.tf32.f32", "mma.sp.m16n8k64.s32.s4.s4.s32"]
)
def test_a_sparse_sum_goes_through_the_columns_that_are_kept(explore, name):
    row = lookup(name)
    kept, chunk = granularity_of(row).name.split(":")
    page = explore(chip="sm_80", i=name, op="D")
    answer = ask(page, "D[3][2]")
    assert f"where k runs over the {row.k // 2} of {row.k} columns of row 3 of A that metadata keeps" in answer
    assert "The packed row 3 of A is in lanes" in answer
    answer = ask(page, "A[3][1]")
    assert f"{kept} of {chunk} {'is' if kept == '1' else 'are'} kept" in answer
    page.click("#tab-metadata")
    text = page.inner_text("#view-metadata")
    assert f"chunks of {chunk} columns: {kept} of {chunk} " in text
    assert not re.search(r"\d:\d", answer + text)


def test_each_of_several_moves_loads_as_many_registers_as_its_plan_has(explore):
    words = {1: "one register each", 2: "two registers each", 4: "four registers each"}
    seen = set()
    for n in (8, 16, 24, 32, 136):
        row = lookup(f"wgmma.m64n{n}k16.f16.f16.f16")
        (plan, *_) = move_plans_of(layout_for(row, "d", "sm_90"))
        times = len(plan.origins) // plan.matrices
        page = explore(chip="sm_90", i=row.short_mnemonic, view="loads")
        said = page.locator(".card", has_text="D stored by rows").inner_text()
        assert (words[plan.matrices] in said) == (times > 1)
        assert not any(text in said for count, text in words.items() if count != plan.matrices)
        if times > 1:
            seen.add(plan.matrices)
            assert f"{times} times stmatrix.m8n8.x{plan.matrices}." in said
    assert seen == {2, 4}


@pytest.mark.parametrize("name", [X1, X2])
def test_on_sm_75_every_lane_has_to_give_a_valid_address(explore, name):
    read = 8 * MATRIX_MOVES[lookup_full(name)].count
    wrong = np.where(np.arange(32) < read, np.arange(32) * 16, 1)
    memory = np.zeros(4096, np.uint8)
    with pytest.raises(AlignmentError, match="the addresses of all lanes must be valid"):
        ldmatrix(memory, wrong, name, arch="sm_75")
    ldmatrix(memory, wrong, name, arch="sm_80")
    strict = f"The addresses of lanes {read} to 31 are not read, but on sm_75 the addresses of all lanes must be valid"
    for chip in ("sm_75", "sm_80"):
        page = explore(chip=chip, i=name)
        facts, answer = page.inner_text("#facts"), ask(page, "T31")
        page.click("#tab-loads")
        card = page.locator(".card").first.inner_text()
        for text in (facts, answer, card):
            assert (strict in text) == (chip == "sm_75")
            assert (f"The addresses of lanes {read} to 31 do not count" in text) == (chip != "sm_75")
        assert (strict in unescape(draw_ldmatrix(name, arch=chip).svg)) == (chip == "sm_75")
    explore(chip="sm_75", i="ldmatrix.m8n8.x4.shared.b16")
    assert "valid" not in page.inner_text("#facts")


def lookup_full(name):
    return name.replace("ldmatrix.", "ldmatrix.sync.aligned.")


def test_the_chips_on_which_every_lane_needs_an_address_are_those_that_refuse_others():
    refusing = []
    for chip in MATRIX_MOVES[lookup_full(X1)].archs:
        try:
            ldmatrix(np.zeros(4096, np.uint8), np.where(np.arange(32) < 8, 0, 1), X1, arch=chip)
        except AlignmentError:
            refusing.append(chip)
    assert refusing == list(explorer_data()["every_lane_needs_an_address"])


def test_the_place_of_several_matrices_that_the_how_to_names_has_an_answer(explore):
    (place,) = re.findall(
        r"with several matrices, as of `m8n8k4` in f16, `(\(.*?\))`",
        (HOW_TO / "find-what-a-lane-holds.md").read_text("utf-8"),
    )
    page = explore(chip="sm_70", i="m8n8k4.f32.f16.f16.f32", op="D")
    assert ask(page, place).startswith("D[3][3] of product 2 of ")
    assert page.locator("#answer.wrong").count() == 0


# --- what cannot be answered ---------------------------------------------------------------------


def test_a_refusal_repeats_what_was_typed_and_counts_matrices(explore):
    page = explore(chip="sm_90", i="ldmatrix.m8n8.x4.shared.b16")
    answer = ask(page, "M9[0][0]")
    assert "ldmatrix.m8n8.x4.shared.b16 has 4 matrices: there is no matrix 9; legal values are 0 to 3" in answer
    assert "has 8 rows: there is no row 8" in ask(page, "M0[8][0]")
    explore(chip="sm_90", i="m16n8k16.f32.f16.f16.f32", op="A")
    assert "has 1 matrix: there is no matrix 2; legal is only 0" in ask(page, "(2, 3, 3)")
    assert f"there is no row {10**26 - 1};" in ask(page, f"({10**26 - 1}, 0)")
    assert f"There is no lane {'9' * 60}…:" in ask(page, "T" + "9" * 400)
    for question in (
        "a9007199254740993",
        "x9007199254740993",
        "T5 a1 bit 9007199254740993",
        "row 9007199254740993 col 0",
    ):
        assert " 9007199254740993" in ask(page, question)
        assert page.locator("#answer.wrong").count() == 1


def test_the_page_is_rearranged_when_the_window_becomes_narrow_or_wide(explore):
    try:
        page = explore(chip="sm_70", i="m8n8k4.f32.f16.f16.f32", op="A")
        shape = """[document.querySelector('#product').className,
            document.querySelector('#matrix svg').getAttribute('width')]"""
        wide = page.evaluate(shape)
        page.set_viewport_size({"width": 390, "height": 844})
        page.wait_for_selector("#product.below")
        narrow = page.evaluate(shape)
        assert int(narrow[1]) < int(wide[1])
        page.set_viewport_size({"width": 1440, "height": 900})
        page.wait_for_selector("#product:not(.below)")
        assert page.evaluate(shape) == wide
    finally:
        page.set_viewport_size({"width": 1440, "height": 900})


# --- everything ----------------------------------------------------------------------------------


SWEEP = """names => {
  const wrong = [], tabs = {};
  for (const [name, chip] of names) {
    history.replaceState(null, "", `#i=${name}&chip=${chip}`);
    dispatchEvent(new PopStateEvent("popstate"));
    const state = explorer.state();
    if (state.entry !== name || state.chip !== chip) wrong.push([name, "not shown"]);
    for (const id of [...document.querySelectorAll('#tabs [role="tab"]')].map((x) => x.id)) {
      document.getElementById(id).click();
      const view = id.replace("tab", "view"), html = document.getElementById(view).innerHTML;
      tabs[view] = (tabs[view] ?? 0) + 1;
      if (!html) wrong.push([name, view, "empty"]);
      for (const word of html.match(/undefined|NaN|Infinity|\\[object|>null</g) ?? []) wrong.push([name, view, word]);
    }
  }
  return { wrong: wrong.slice(0, 20), tabs };
}"""


# --- block scales and values in bytes --------------------------------------------------------------

MXF4 = "m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
MXF8 = "m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e3m2.f32.ue8m0"
SPARSE_MX = "mma.sp::ordered_metadata.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0"


@pytest.mark.parametrize(
    ("name", "clicks", "ids"),
    [(MXF4, {"thread-id-a": 1, "byte-id-a": 2, "thread-id-b": 3}, ((1, 2), (3, 0))),
     (MXF8, {"byte-id-b": 3}, ((0, 0), (0, 3)))],
    ids=["mxf4", "mxf8f6f4"],
)  # fmt: skip
def test_the_tables_of_block_scales_agree_with_the_registers_and_follow_the_selectors(explore, name, clicks, ids):
    row = lookup(name)
    page = explore(chip="sm_120", i=row.short_mnemonic)
    page.click("#to-scales")
    for selector, value in clicks.items():
        page.click(f'#view-scales [data-{selector}="{value}"]')
    for chosen in (page, explore(**dict(x.split("=") for x in page.url.partition("#")[2].split("&")))):
        tables = chosen.evaluate("""() => [...document.querySelectorAll("#view-scales table")].map(
            x => [...x.querySelectorAll("td")].map(y => ({...y.dataset, text: y.textContent})))""")
        for operand, (thread_id, byte_id), table in zip("ab", ids, tables, strict=True):
            found = scale_map(row, operand, byte_id, thread_id)
            assert len(table) == found.lane.size
            for cell in table:
                place = int(cell["line"]), int(cell["block"])
                lane, byte = found.locate(*(place if operand == "a" else place[::-1]))
                assert (int(cell["lane"]), int(cell["byte"])) == (lane, byte)
                assert cell["text"] == f"T{lane} byte {byte}"
    assert f"Every {row.scale_block} neighbouring columns share a scale" in page.inner_text("#view-scales")


def test_a_value_that_does_not_fill_its_byte_is_said_to_be_where_it_is(explore):
    page = explore(chip="sm_120", i=lookup(MXF8).short_mnemonic, op="A")
    assert "is 4 bits of its byte, bits 2–5 of the first; the other bits are ignored" in page.inner_text("#facts")
    answer = ask(page, "T5 a1 x6")
    assert "register a1, bits 18–21" in answer
    assert "Its scale applies to row 9 and columns 0–31." in answer
    cell = page.evaluate(
        """() => ({...document.querySelector('#registers [data-lane="5"][data-index="6"]').dataset})"""
    )
    assert (cell["bit"], cell["register"]) == ("18", "1")
    assert "bits 16–21" in ask(page, "T5 b0 x2") and "bits 0–7" not in page.inner_text("#facts")


def test_sums_with_block_scales_say_which_scale_meets_which_k(explore):
    page = explore(chip="sm_121", i=lookup(MXF4).short_mnemonic, op="D")
    assert page.inner_text("#equation") == "D = A · B + C, A and B with block scales"
    assert "A[3][k] · B[k][5] · scale_A[3][k / 32] · scale_B[k / 32][5]" in ask(page, "D[3][5]")
    assert "Its scale applies to rows 32–63 and column 5." in ask(page, "B[40][5]")
    explore(chip="sm_121", i=lookup(SPARSE_MX).short_mnemonic, op="A")
    assert "Its scale applies to row 3 and columns 0–63 of the whole A." in ask(page, "A[3][20]")


@pytest.mark.slow
def test_every_view_of_every_instruction_opens_and_has_no_hole(explore):
    page = explore()
    rows = [
        *((x.mnemonic, x.archs) for x in INSTRUCTIONS.values()),
        *((x.mnemonic, x.archs) for x in MATRIX_MOVES.values()),
    ]
    names = [[name, next(x for x in ARCHS if x in archs)] for name, archs in rows]
    tabs: Counter[str] = Counter()
    for first in range(0, len(names), 100):
        found = page.evaluate(SWEEP, names[first : first + 100])
        assert found["wrong"] == []
        tabs.update(found["tabs"])
    assert tabs["view-handout"] == tabs["view-layout"] == len(names) and tabs["view-tile"] > 100
    assert tabs["view-formulas"] == len(INSTRUCTIONS)
    assert tabs["view-scales"] == sum(x.is_block_scaled for x in INSTRUCTIONS.values())
    assert tabs["view-metadata"] == sum(x.is_sparse for x in INSTRUCTIONS.values()) and tabs["view-schedule"] > 100
