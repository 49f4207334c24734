# SPDX-License-Identifier: MIT
"""Instructions, chips, questions and links: the explorer shows the requested item, or explains why it cannot."""

import pytest

import wmma_emu as we
from tests.browser.explorer_page import A16, LDMATRIX, S8, WMMA, ask, holders, state
from wmma_emu.instructions import ARCHS, arch_of, lookup
from wmma_emu.layouts import layout_for

# --- choosing, links, history --------------------------------------------------------------------


def test_instructions_are_found_by_what_people_call_them(explore):
    page = explore()
    for query, wanted in (
        ("m16n8k8 tf32", "m16n8k8.f32.tf32.tf32.f32"), ("wmma::fragment<wmma::matrix_a, 16, 16, 16, half", WMMA),
        ("ldmatrix x4 trans", "ldmatrix.m8n8.x4.trans.shared.b16"),
        ("m16n8k32.row.col.s32.u8", "m16n8k32.s32.u8.s8.s32"),
        ("__nv_bfloat16 m16n8k16", "m16n8k16.f32.bf16.bf16.f32"), ("bmma", "wmma.mma.xor.popc.m8n8k128.s32.b1.b1.s32"),
        (lookup(S8).mnemonic, S8), (f'asm volatile("{lookup(S8).mnemonic} {{%0, %1, ', S8),
        (f"{lookup(S8).mnemonic} {{%r1, %r2}}, {{%r3}};", S8),
    ):  # fmt: skip
        page.fill("#instruction", query)
        page.keyboard.press("Enter")
        assert page.evaluate("explorer.BY_NAME.get(explorer.state().entry).short") == wanted, query
    for query in ("sonata", "!!", "\N{GRINNING FACE}"):
        page.fill("#instruction", query)
        assert "Nothing matches" in page.inner_text("#found")
    page.keyboard.press("Escape")
    page.select_option("#family", "wgmma")
    assert state(page)["entry"].startswith("wgmma.mma_async.sync")
    assert page.inner_text("#count") == "on sm_90"
    page.select_option("#chip", "sm_75")
    now = state(page)
    assert now["chip"] == "sm_75" and "sm_75" in lookup(now["entry"]).archs
    assert page.inner_text("#count").removeprefix("on ").split() == list(lookup(now["entry"]).archs)


@pytest.mark.slow
def test_every_instruction_can_be_found_by_its_full_and_its_short_name(explore):
    page = explore()
    missed = page.evaluate("""() => explorer.ENTRIES.filter(
        x => [x.name, x.short].some(name => explorer.search(name, explorer.CHIP_BY_NAME.get("sm_90"))[0] !== x)
      ).map(x => x.name)""")
    assert missed == []
    names = page.evaluate("explorer.ENTRIES.filter(x => x.kind === 'product').map(x => x.short)")
    assert names == [x.short_mnemonic for x in map(lookup, page.evaluate("explorer.DATA.instructions.map(x => x[0])"))]


def test_a_copied_link_opens_the_same_view(explore, open_page):
    page = explore(chip="sm_70", i=WMMA, op="A")
    ask(page, "T6 x3")
    page.click(".at-B .name")
    page.click("#link")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url and "#chip=sm_70&i=wmma.mma.m16n16k16.f32.f32&op=B&at=A&lane=6&x=3" in link
    other = open_page(link)
    assert state(other) == state(page)
    assert other.inner_text("#answer") == page.inner_text("#answer")
    assert other.locator(".cell.lit").count() == page.locator(".cell.lit").count() > 0


def test_back_and_forward_go_through_what_was_seen(explore):
    page = explore(chip="sm_90", i=A16, op="A")
    ask(page, "lane 5")
    page.click(".at-C .name")
    page.click("#tab-formulas")
    seen = []
    for _ in range(3):
        page.go_back()
        seen.append((state(page)["letter"], state(page)["tab"], bool(state(page)["mark"])))
    assert seen == [("C", "layout", True), ("A", "layout", True), ("A", "layout", False)]
    page.go_forward()
    assert state(page)["mark"]["lane"] == 5 and page.locator(".cell.lit").count() > 0


WRONG_LINKS = [
    {"chip": "sm_1", "i": "sonata", "op": "Q", "lane": 99, "x": "<b>", "view": "nothing", "warp": 77},
    {"i": "constructor", "chip": "__proto__", "op": "toString", "at": "valueOf", "lane": 3, "view": "constructor"},
    {"i": A16, "op": "__proto__", "at": "constructor", "lane": 99},
    {"chip": "sm_70", "i": A16, "op": "A", "lane": 5},
    {"chip": "sm_1", "op": "hasOwnProperty", "lane": 5},
]


@pytest.mark.parametrize("wrong", WRONG_LINKS, ids=[" ".join(map(str, x.values())) for x in WRONG_LINKS])
def test_a_wrong_link_opens_the_page_all_the_same(explore, wrong):
    page = explore(**wrong)
    assert state(page)["entry"] == lookup(A16).mnemonic
    assert (state(page)["letter"], state(page)["tab"], state(page)["mark"]) == ("A", "layout", None)
    said = page.inner_text("#notice")
    assert said.startswith("The link asks for ") and f"{A16} on sm_90" in said
    assert page.text_content("#said") == said
    ask(page, "lane 5")
    assert not page.is_visible("#notice")


ASKED = [
    ("A[9][17] m16n8k32 s8", S8, "sm_90", f"18 instructions match “m16n8k32 s8”; this is the first: {S8}"),
    ("m16n16k16 C[1][12]", WMMA, "sm_90", "x[4] of lane 6"),
    ("which lane holds C[1][12] of m16n16k16?", WMMA, "sm_90", "x[4] of lane 6"),
    ("C[1][12] of wmma m16n16k16 on V100", WMMA, "sm_70", "x[4] of lane 9"),
    ("C[1][12] of wmma m16n16k16 on an rtx 4090", WMMA, "sm_89", "x[4] of lane 6"),
    ("ldmatrix.x4", LDMATRIX, "sm_90", ""),
    ("which elements must a lane load for ldmatrix.x4?", LDMATRIX, "sm_90", ""),
    ("T5 x3 of 16, 16, 16 half", WMMA, "sm_90", "of lane 5"),
]


def test_chips_are_called_there_as_they_are_called_here(explore):
    page = explore(chip="sm_90", i="m8n8k4.f32.f16.f16.f32", op="A")
    called = [x for row in ARCHS.values() for x in (row.name, *row.products)]
    called = [x.replace("xx", "90") for x in called]
    called += [
        "4090", "rtx4090", "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "GeForce RTX 4090 Laptop GPU", "L40S",
        "GB200 NVL72", "h100sxm", "RTX 6000 Ada Generation", "Tesla V100-PCIE-16GB", "sm_90a", "Hopper", "5090",
    ]  # fmt: skip
    for name in called:
        ask(page, f"lane 0 on {name}")
        assert state(page)["chip"] == arch_of(name).name, name


@pytest.mark.parametrize(("question", "name", "chip", "said"), ASKED, ids=[x[0] for x in ASKED])
def test_a_question_may_name_an_instruction_and_a_chip(explore, question, name, chip, said):
    page = explore(chip="sm_90", i=A16, op="A")
    answer = ask(page, question)
    assert page.locator("#answer.wrong").count() == 0
    assert page.input_value("#instruction") == name and state(page)["chip"] == chip
    assert said in answer


REFUSED = [
    ("T5 of <b>x</b>", "No instruction matches “<b>x</b>”, in “T5 of <b>x</b>”. Ask for a position"),
    ("A[9][17] sonata", "in “A[9][17] sonata”. Ask for a position"),
    ("C[1][12]", "To ask of another instruction, name it: C[1][12] of wmma m16n16k16."),
    ("C[1][12] of wmma m16n16k16 on toast", "No chip is called “toast”"),
    ("T5 of m16n8k16 f16 on sm_70", f"sm_70 does not support {A16}; the chips that do are sm_80"),
    ("A[3][20] of mma.sp m16n8k32 f16", "column 20 of the whole A, if metadata keeps it, is A[3][10] or A[3][11]"),
]


@pytest.mark.parametrize(("question", "said"), REFUSED, ids=[x[0] for x in REFUSED])
def test_a_question_that_is_refused_is_quoted_or_says_what_to_ask(explore, question, said):
    page = explore(chip="sm_90", i=A16, op="C")
    assert said in ask(page, question)
    assert page.locator("#answer.wrong").count() == 1 and state(page)["entry"] == lookup(A16).mnemonic


def test_the_question_is_kept_when_the_chip_changes(explore):
    page = explore(chip="sm_90", i=A16, op="A")
    layouts = {chip: layout_for(lookup(WMMA), "c", chip) for chip in ("sm_90", "sm_70")}
    ask(page, "C[1][12] of wmma m16n16k16")
    for chip in ("sm_70", "sm_90"):
        page.select_option("#chip", chip)
        (place,) = layouts[chip].locate(1, 12)
        assert f"element x[{place.element}] of lane {place.lane} " in page.inner_text("#answer")
        assert holders(page, "registers", "strong") == [(place.element, place.lane)]
    ask(page, "T5 x3")
    page.select_option("#chip", "sm_70")
    row, col = layouts["sm_70"].coords_of_lanes[3, 5].tolist()
    assert page.inner_text("#answer").startswith(f"C[{row}][{col}]")
    page.click('#matrix .cell[data-row="1"][data-col="12"]')
    page.select_option("#chip", "sm_90")
    assert page.inner_text("#answer").startswith("C[1][12]")
    explore(chip="sm_90", i=A16, op="A")
    page.select_option("#chip", "sm_70")
    assert page.inner_text("#notice") == f"sm_70 does not support {A16}; m8n8k4.f32.f16.f16.f32 is shown."


@pytest.mark.parametrize(
    ("width", "name", "question"), [(1440, S8, "A[9][30]"), (390, WMMA, "C[1][12]")], ids=["1440", "390"]
)
def test_a_found_element_is_scrolled_into_view_in_its_figure(explore, width, name, question):
    page = explore(width, chip="sm_90", i=name, op="A")
    ask(page, question)
    found = page.evaluate("""() => [...document.querySelectorAll(".cell.strong")].map(cell => {
        const at = cell.getBoundingClientRect(), box = cell.closest(".scroll").getBoundingClientRect();
        return at.left >= box.left && at.right <= box.right && at.top >= box.top && at.bottom <= box.bottom;
      })""")
    assert found == [True, True]
    assert page.evaluate("scrollY") == 0


def test_what_is_typed_as_an_instruction_and_left_is_taken_or_kept_with_a_reason(explore):
    page = explore(chip="sm_90", i=A16)
    for typed, shown, said in (
        (S8, S8, None), ("ldmatrix x4 trans", "ldmatrix.m8n8.x4.trans.shared.b16", None),
        ("m16n8k16", "m16n8k16", "“m16n8k16” matches 32 instructions: choose one"),
        ("sonata", "sonata", "“sonata” matches no instruction"),
        ("A[9][3]", "A[9][3]", "“A[9][3]” asks for a place: type it into Find"),
    ):  # fmt: skip
        page.fill("#instruction", typed)
        page.keyboard.press("Tab")
        assert page.input_value("#instruction") == shown
        assert page.is_visible("#notice") == bool(said)
        assert not said or page.inner_text("#notice").startswith(said)


@pytest.mark.parametrize("width", [1440, 390])
def test_addresses_of_four_matrices_are_seen_or_scrolled_to(explore, width):
    page = explore(width, chip="sm_90", i=A16, view="loads")
    boxes = page.evaluate("""() => [...document.querySelectorAll(".card .scroll")].map(box => {
        const card = box.closest(".card").getBoundingClientRect();
        return [box.getBoundingClientRect().right <= card.right && card.right <= innerWidth,
          box.scrollWidth <= box.clientWidth];
      })""")
    assert len(boxes) > 1 and all(within for within, _ in boxes)
    assert all(seen for _, seen in boxes) == (width == 1440)


def test_a_schedule_names_its_compiler_and_offers_the_others(explore):
    name = "m16n8k32.f32.e4m3.e4m3.f32"
    page = explore(chip="sm_90", i=name, view="schedule")
    names = we.instructions.lowerings(name, "sm_90")
    assert page.locator("[data-lowering]").count() == len(names) == 2
    for lowering in names:
        page.click(f'[data-lowering="{lowering}"]')
        wanted = we.warp.schedule.schedule_of(name, "sm_90", lowering)
        assert f"{wanted.after}." in page.inner_text("#view-schedule")
        assert page.get_attribute(f'[data-lowering="{lowering}"]', "aria-pressed") == "true"


def test_a_policy_of_the_page_forbids_a_network(explore):
    policy = explore().get_attribute('meta[http-equiv="Content-Security-Policy"]', "content")
    assert policy.startswith("default-src 'none';") and "connect-src" not in policy
