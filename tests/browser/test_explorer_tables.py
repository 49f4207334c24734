# SPDX-License-Identifier: MIT
"""The tables of the explorer: addresses of loads and stores, what a move feeds, and each machine instruction."""

import re

import numpy as np
import pytest

import wmma_emu as we
from tests.browser.explorer_page import A16, LDMATRIX, S8, WMMA, css
from wmma_emu.applications.explorer.moves import move_plans_of
from wmma_emu.instructions import lookup
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.layouts import layout_for
from wmma_emu.schedule import schedule_of
from wmma_emu.viz import lane_colour

pytestmark = pytest.mark.slow

SPARSE = "mma.sp.m16n8k16.f32.f16.f16.f32"
WIDE = "wgmma.m64n32k16.f16.f16.f16"
X1 = "ldmatrix.m8n8.x1.shared.b16"
X2_TRANS = "ldmatrix.m8n8.x2.trans.shared.b16"


# --- ldmatrix ------------------------------------------------------------------------------------


def cards(page):
    """Return, for every card of loads: operand, order in memory, move, headings, addresses of lanes, words."""
    script = """() => [...document.querySelectorAll("#view-loads .card")].map(card => ({
        title: card.querySelector("h3").textContent, move: card.querySelector("p code").textContent,
        heads: [...card.querySelectorAll("th")].map(x => x.textContent), words: card.textContent,
        addresses: [...card.querySelectorAll("td")].map(x => [x.textContent, getComputedStyle(x).backgroundColor]),
        first: card.querySelector(".address").textContent }))"""
    return page.evaluate(script)


def addresses_of(card, letter):
    """The element whose address each lane gives, (lanes, 2)."""
    found = {}
    for text, colour in card["addresses"]:
        lane, row, col = map(int, re.fullmatch(rf"T(\d+) {letter}\[(\d+)\]\[(\d+)\]", text).groups())
        assert lane not in found and colour == css(lane_colour(lane))
        found[lane] = row, col
    assert sorted(found) == list(range(len(found)))
    return np.array([found[x] for x in sorted(found)])


def in_memory(layout, places, stored):
    """Bytes from the beginning of a tile to elements of it."""
    row, col = places[..., 0], places[..., 1]
    number = row * layout.cols + col if stored == "rows" else col * layout.rows + row
    return number * layout.element_bits // 8


@pytest.mark.parametrize("name", [A16, S8, SPARSE, "m16n8k8.f32.tf32.tf32.f32", "m16n8k8.f16.f16.f16.f16"])
def test_the_addresses_of_a_card_load_the_elements_of_the_operand(turned, name):
    page = turned(chip="sm_90", i=name, view="loads")
    seen = []
    for card in cards(page):
        letter, stored = re.fullmatch(r"([A-D]) stored by (rows|columns)", card["title"]).groups()
        if letter == "D":  # stored, not loaded
            continue
        layout = layout_for(lookup(name), letter.lower(), "sm_90")
        places = addresses_of(card, letter)
        count = len(places) // 8
        assert f".x{count}." in card["move"] and count == layout.num_registers
        assert card["heads"] == [f"matrix {x} → {letter.lower()}{x}" for x in range(count)]
        for lane in (0, len(places) - 1):  # the formula in C says the same as the table
            row, col = re.fullmatch(rf"{letter}\[(.*)\]\[(.*)\]", card["first"]).groups()
            assert [eval(x.replace("/", "//"), {"lane": lane}) for x in (row, col)] == places[lane].tolist()
        given = np.resize(in_memory(layout, places, stored), 32)  # addresses of other lanes do not count
        numbers = np.arange(layout.rows * layout.cols).reshape(layout.rows, layout.cols)
        tile = numbers if stored == "rows" else numbers.T
        dtype = {8: np.uint8, 16: np.uint16, 32: np.uint32}[layout.element_bits]
        wanted = layout.gather(numbers)
        for shift in (0, layout.element_bits):  # digits of the numbers: bytes do not hold them all
            memory = np.ascontiguousarray((tile >> shift).astype(dtype))
            registers = we.warp.ldmatrix(memory.ravel(), given, card["move"], arch="sm_90")
            for index in range(layout.num_elements):
                got = registers[layout.register_of(index)] >> layout.bit_of(index)
                mask = 2**layout.element_bits - 1
                assert (got & mask).tolist() == ((wanted[index] >> shift) & mask).tolist()
        seen.append((letter, stored))
    kinds = {"row": "rows", "col": "columns"}
    plans = {x: move_plans_of(layout_for(lookup(name), x.lower(), "sm_90")) for x in "ABC"}
    assert seen == [(x, kinds[plan.stored]) for x in "ABC" for plan in plans[x]] and {"A", "B"} <= {x for x, _ in seen}


def test_stores_of_a_wide_d_begin_where_the_card_says_and_fill_the_tile(turned):
    page = turned(chip="sm_90", i=WIDE, view="loads")
    layout = layout_for(lookup(WIDE), "d", "sm_90")
    numbers = np.arange(layout.rows * layout.cols, dtype=np.uint16).reshape(layout.rows, layout.cols)
    held = layout.gather(numbers).astype(np.uint32)  # elements, 4 warps, 32 lanes
    held = held.reshape(layout.num_elements, 4, 32)
    registers = held[0::2] | held[1::2] << 16
    shown = [x for x in cards(page) if x["title"].startswith("D")]
    assert [x["title"] for x in shown] == ["D stored by rows", "D stored by columns"]
    for card in shown:
        stored = card["title"].split()[-1]
        first = addresses_of(card, "D")
        begins = re.findall(r"D\[(\d+)\]\[(\d+)\] \((d\d+)–(d\d+)\)", card["words"])
        assert [x[2:] for x in begins] == [("d4", "d7")] and "16 rows further down for each warp" in card["words"]
        memory = np.full(numbers.size, 0xFFFF, np.uint16)
        for nth, begin in enumerate([first[0], *(np.array(x[:2], int) for x in begins)]):
            for warp in range(4):
                places = first + (begin - first[0]) + [16 * warp, 0]
                move = registers[4 * nth : 4 * nth + 4, warp]
                we.warp.stmatrix(memory, in_memory(layout, places, stored), move, card["move"], arch="sm_90")
        assert memory.tolist() == (numbers if stored == "rows" else numbers.T).ravel().tolist()


def feeds(chip, mnemonic):
    """Return family, shape (for wgmma without n), letter and order in memory of the operand that a move fills."""
    found = {}
    for row in INSTRUCTIONS.values():
        if chip not in row.archs or row.family == "wmma.mma":
            continue
        for letter in "ab":
            if row.is_warpgroup and letter == "b":
                continue
            for plan in move_plans_of(layout_for(row, letter, chip)):
                name = f"ldmatrix.sync.aligned.m8n8.x{plan.matrices}{'.trans' if plan.trans else ''}.shared.b16"
                if name == mnemonic:
                    shape = re.search(r"m\d+n\d+k\d+", row.mnemonic)[0]
                    shape = re.sub(r"n\d+", "nN", shape) if row.is_warpgroup else shape
                    found.setdefault((letter.upper(), shape, plan.stored), set()).add(getattr(row, letter))
    return found


@pytest.mark.parametrize("move", [LDMATRIX, X1, X2_TRANS])
def test_a_move_lists_the_operands_that_it_feeds(turned, move):
    page = turned(chip="sm_90", i=move, view="loads")
    mnemonic = move.replace("ldmatrix.", "ldmatrix.sync.aligned.")
    wanted, found = feeds("sm_90", mnemonic), {}
    for text in page.locator("#feed option").all_text_contents():
        letter, shape, formats, stored = re.fullmatch(
            r"([ABD]) of [\w.:]+ (m\w+), ([\w ]+), stored by (row|column)s", text
        ).groups()
        key = letter, shape, {"row": "row", "column": "col"}[stored]
        found.setdefault(key, set()).update(formats.split())
    assert found == wanted and wanted
    if {"A", "B"} <= {x for x, *_ in wanted}:
        page.select_option("#feed", label=next(
            x for x in page.locator("#feed option").all_text_contents() if x.startswith("B")
        ))  # fmt: skip
        assert cards(page)[0]["title"].startswith("B stored by")


# --- step by step --------------------------------------------------------------------------------


def numbers_of(text):
    """Numbers of "0–3, 9"."""
    found = []
    for part in filter(None, re.split(r",\s*", text)):
        first, *last = re.findall(r"\d+", part)
        found += range(int(first), int((last or [first])[0]) + 1)
    return found


SCHEDULES = [
    (WMMA, "sm_70"), ("m8n8k4.f32.f16.f16.f32", "sm_70"), (WMMA, "sm_75"),
    ("m16n8k32.s32.s4.s4.s32", "sm_90"), ("wmma.mma.m16n16k16.s32.s8.s8.s32", "sm_75"),
]  # fmt: skip

WALK = """() => {
  const panel = document.querySelector("#view-schedule");
  const number = (node, ...names) => names.map(x => Number(node.getAttribute(x)));
  const box = node => number(node, "x", "y", "width", "height");
  const texts = nodes => [...nodes].map(x => x.textContent);
  const look = () => ({
    head: panel.querySelector(".step-head").textContent,
    k: panel.querySelector(".step-head b").textContent,
    rows: [...panel.querySelectorAll("tbody tr")].map(row => texts(row.cells)),
    heads: texts(panel.querySelectorAll("thead th")),
    grids: [...panel.querySelectorAll("svg .cells")].map(box),
    done: [...panel.querySelectorAll("svg .done")].map(
      x => [...box(x), ...number(x, "fill-opacity"), Number(x.dataset.done)]),
    read: ["of-a", "of-b"].map(kind => [...panel.querySelectorAll(`svg .${kind} rect[fill=none]`)].map(box)),
  });
  const found = [look()];
  for (let i = 0; i < 40 && !panel.querySelector("[data-step=next]").disabled; i++) {
    panel.querySelector("[data-step=next]").click();
    found.push(look());
  }
  return found;
}"""


@pytest.mark.parametrize("name, chip", SCHEDULES)
def test_each_machine_instruction_says_its_k_its_registers_and_what_is_done_so_far(turned, name, chip):
    schedule = schedule_of(name, chip)
    m, n, terms = schedule.to_dict()["shape"]
    matrices = 1 + max(part.matrix for part in schedule.steps[0].parts)
    done = np.zeros((matrices, m, n), int)
    shades = {}
    assert len(schedule.steps) > 1
    walk = turned(chip=chip, i=name, view="schedule").evaluate(WALK)
    for step, shown in zip(schedule.steps, walk, strict=True):
        assert numbers_of(shown["k"]) == list(step.ks)
        assert shown["head"].startswith(step.opcode)
        start = {"c": "C", "d": r"what the \w+ before left", "zero": "zero"}[step.start]
        assert re.search(rf"k = .* to {start}\b", shown["head"])
        # Registers, by the heads of the table.
        assert len(shown["rows"]) == len(step.parts)
        for line, part in zip(shown["rows"], step.parts, strict=True):
            said = dict(zip(shown["heads"], line, strict=True))
            if part.threadgroup is not None:
                octet = "" if part.octet is None else f", octet {part.octet}"
                assert said["threadgroup"] == f"threadgroup {part.threadgroup}{octet}"
            assert numbers_of(said["lanes"]) == list(part.d.lanes)
            assert numbers_of(said["rows of D"]) == list(part.rows)
            assert numbers_of(said["columns"]) == list(part.cols)
            other = part.b_threadgroup not in (None, part.threadgroup) and len(step.parts) > 1
            assert (f"of threadgroup {part.b_threadgroup}" in said["of B"]) is other
            own = {"d"} if schedule.finish == "none" else {"d", "sums", "first", "second"}  # sums other than D
            summand = own if step.start == "d" else {"c"}
            places = (("reads of A", {"a"}), ("of B", {"b"}), ("adds to", summand), ("writes", own))
            for (head, names), held in zip(places, (part.a, part.b, part.c, part.d), strict=True):
                text = re.split(" of | as ", said[head])[0]
                if held is None:
                    assert text == "zero"
                else:
                    assert set(re.findall("[a-z]+", text)) <= names and numbers_of(text) == list(held.registers)
        # The terms that earlier steps added, by their position in the picture of D.
        assert len(shown["grids"]) == 3 * matrices
        counted = np.zeros_like(done)
        for x, y, width, height, shade, count in shown["done"]:
            (matrix,) = (
                i for i, (gx, gy, gw, gh) in enumerate(shown["grids"][2::3]) if gx <= x < gx + gw and gy <= y < gy + gh
            )
            gx, gy, gw, gh = shown["grids"][3 * matrix + 2]
            row, col = int((y + height / 2 - gy) * m / gh), int((x + width / 2 - gx) * n / gw)
            assert counted[matrix, row, col] == 0
            counted[matrix, row, col] = count
            assert shades.setdefault(count, shade) == shade
        assert counted.tolist() == done.tolist()
        # What is read of A and B.
        for axis, boxes in enumerate(shown["read"]):  # of A k goes to the right, of B down
            for matrix in range(matrices):
                grid = shown["grids"][3 * matrix + axis]
                within = [x for x in boxes if all(grid[i] <= x[i] < grid[i] + grid[2 + i] for i in (0, 1))]
                spans = {(x[axis] - grid[axis], x[2 + axis]) for x in within}
                each = terms / grid[2 + axis]
                ks = {k for at, long in spans for k in range(round(at * each), round((at + long) * each))}
                assert sorted(ks) == list(step.ks)
        for part in step.parts:
            done[part.matrix, part.rows.start : part.rows.stop, part.cols.start : part.cols.stop] += len(step.ks)
    assert (done == terms).all()
    ordered = [shades[x] for x in sorted(shades)]
    assert ordered == sorted(set(ordered))  # more is darker
