# SPDX-License-Identifier: MIT
"""The visible contents of the explorer: labels, colours, names and tables agree with the layouts."""

import re

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.applications.explorer.moves import move_plans_of
from wmma_emu.instructions import lookup
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.layouts import granularity_of, layout_for, metadata_map, selectors_of
from wmma_emu.schedule import schedule_of
from wmma_emu.viz import lane_colour, ldmatrix_plan

pytestmark = pytest.mark.slow

A16 = "m16n8k16.f32.f16.f16.f32"
S8 = "m16n8k32.s32.s8.s8.s32"
WMMA = "wmma.mma.m16n16k16.f32.f32"
NARROW = "wmma.mma.m32n8k16.f32.f32"
SPARSE = "mma.sp.m16n8k16.f32.f16.f16.f32"
SPARSE_TF32 = "mma.sp.m16n8k8.f32.tf32.tf32.f32"
SPARSE_S4 = "mma.sp.m16n8k64.s32.s4.s4.s32"
WIDE = "wgmma.m64n32k16.f16.f16.f16"
X4 = "ldmatrix.m8n8.x4.shared.b16"
X1 = "ldmatrix.m8n8.x1.shared.b16"
X2_TRANS = "ldmatrix.m8n8.x2.trans.shared.b16"

LOOK = """figure => {
  const box = node => { const {x, y, width, height} = node.getBoundingClientRect(); return {x, y, width, height}; };
  const at = node => { const {x, y, width} = node.getBoundingClientRect(); return [y, x + width / 2]; };
  const svg = document.querySelector(`#${figure} svg`);
  return {
    cells: [...svg.querySelectorAll("[role=gridcell]")].map(node => {
      const fills = [...node.querySelectorAll("rect")].map(x => [x, getComputedStyle(x)])
        .filter(([, style]) => style.fill !== "none").map(([x, style]) => [box(x).x, style.fill, style.fillOpacity]);
      return {
        ...box(node.querySelector("rect")), name: node.getAttribute("aria-label"), classes: [...node.classList],
        texts: [...node.querySelectorAll("text")].map(x => x.textContent),
        fills: fills.sort((a, b) => a[0] - b[0]).map(x => x[1]), opacity: fills.map(x => Number(x[2])),
      };
    }),
    around: [...svg.querySelectorAll("text")].filter(x => !x.closest("[role=gridcell]"))
      .map(x => [...at(x), x.textContent]),
  };
}"""


@pytest.fixture(scope="module")
def shared_page(browser, address):
    context = browser.new_context(viewport={"width": 640, "height": 120})  # what is not in view is not painted
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(address)
    yield page, said
    context.close()


@pytest.fixture
def explore(shared_page):
    page, said = shared_page

    def shown(**state):
        turn_to(page, **state)
        return page

    yield shown
    assert said == []


@pytest.fixture(scope="module")
def looks(shared_page):
    """What the two pictures of an operand show; each is drawn once."""
    page, seen = shared_page[0], {}

    def look(name, chip, letter):
        if (name, chip, letter) not in seen:
            turn_to(page, chip=chip, i=name, op=letter)
            seen[name, chip, letter] = [page.evaluate(LOOK, figure) for figure in ("matrix", "registers")]
        return seen[name, chip, letter]

    return look


def turn_to(page, **state):
    page.evaluate(
        """fragment => {
            history.pushState(null, "", "#" + fragment);
            dispatchEvent(new PopStateEvent("popstate"));
          }""",
        "&".join(f"{name}={value}" for name, value in state.items()),
    )


def ask(page, question):
    """The answer of a question."""
    script = """question => {
        const box = document.getElementById("question");
        box.value = question;
        box.form.requestSubmit();
        return document.getElementById("answer").innerText;
      }"""
    return page.evaluate(script, question).replace("\xa0", " ")


def found(page, text):
    """Return the entries of the list of instructions, and its words, after a query is typed."""
    script = """text => {
        const box = document.getElementById("instruction"), list = document.getElementById("found");
        box.focus();
        box.value = text;
        box.dispatchEvent(new InputEvent("input", {bubbles: true}));
        return [[...list.querySelectorAll("[role=option]")].map(x => x.innerText), list.innerText];
      }"""
    return page.evaluate(script, text)


def state(page):
    return page.evaluate("explorer.state()")


def css(colour):
    """A colour as a browser computes it."""
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


def upto(first, count):
    return f"{first}–{first + count - 1}" if count > 1 else f"{first}"


def bands(page):
    """Return the positions of each operand in a mark's row or column."""
    return page.evaluate("""() => Object.fromEntries(Object.entries(explorer.marked()).map(
        ([letter, kinds]) => [letter, kinds.band.map(x => [x.row, x.col])]))""")


def product(rows, cols):
    return [[row, col] for row in rows for col in cols]


# --- the matrix ----------------------------------------------------------------------------------

OPERANDS = [
    (A16, "sm_90", "A"), (WMMA, "sm_70", "A"), (SPARSE, "sm_90", "A"), (A16, "sm_90", "B"), (WMMA, "sm_90", "B"),
]  # fmt: skip


@pytest.mark.parametrize("name, chip, letter", OPERANDS)
def test_a_cell_of_the_matrix_names_the_lanes_that_hold_its_element(looks, name, chip, letter):
    layout = layout_for(lookup(name), letter.lower(), chip)
    picture, _ = looks(name, chip, letter)
    cells = sorted(picture["cells"], key=lambda x: (x["y"], x["x"]))  # in their order on the page
    assert len(cells) == layout.rows * layout.cols
    assert len({x["y"] for x in cells}) == layout.rows and len({x["x"] for x in cells}) == layout.cols
    for number, cell in enumerate(cells):
        row, col = divmod(number, layout.cols)
        places = layout.locate(row, col)
        first, lanes = places[0], sorted({x.lane for x in places})
        indices = sorted({x.element for x in places})
        lines = [" ".join(f"T{x}" for x in lanes[i : i + 2]) for i in range(0, len(lanes), 2)]
        assert cell["texts"] == [*lines, " ".join(f"x{x}" for x in indices)]
        assert cell["fills"] == [css(lane_colour(x)) for x in lanes]
        assert re.match(r"row (\d+), column (\d+): ", cell["name"]).groups() == (str(row), str(col))
        assert [int(x) for x in re.findall(r"\blane (\d+)", cell["name"])] == lanes
        assert re.search(r"x\[(\d+)\]", cell["name"])[1] == str(first.element)
        assert re.search(r"register (\w+)", cell["name"])[1] == f"{letter.lower()}{first.register}"
        assert re.search(r"bits? ([\d–]+)", cell["name"])[1] == upto(first.bit, layout.element_bits)
    rulers = [text for *_, text in sorted(picture["around"])]
    assert rulers == [*map(str, range(layout.cols)), *map(str, range(layout.rows))]


def test_a_cell_of_a_move_shows_the_lane_that_gets_its_element(explore):
    for name in (X4, X2_TRANS):
        plan = ldmatrix_plan(name, "sm_90")
        page = explore(chip="sm_90", i=name)
        cells = page.evaluate(LOOK, "matrix")["cells"]
        assert len(cells) == plan.matrices * 64
        places = page.evaluate(
            "[...document.querySelectorAll('#matrix .cell')].map(x => ['matrix', 'row', 'col'].map(y => +x.dataset[y]))"
        )
        for cell, (matrix, row, col) in zip(cells, places, strict=True):
            lane, register, half = plan.holders[matrix, row, col].tolist()
            assert cell["texts"] == [f"T{lane}", f"x{2 * register + half}"]
            assert cell["fills"] == [css(lane_colour(lane))]
            assert re.findall(r"row (\d+), column (\d+): lane (\d+), .*register r(\d+), bits (\d+)–", cell["name"]) == [
                tuple(map(str, (row, col, lane, register, 16 * half)))
            ]
        said = page.evaluate("[...document.querySelectorAll('#matrix .ruler')].map(x => x.textContent)")
        assert [x for x in said if x.startswith("T")] == [
            f"T{lane} → row {row}" for lanes in plan.address_lanes.tolist() for row, lane in enumerate(lanes)
        ]
        for matrix, row, col in ((1, 3, 5), (plan.matrices - 1, 7, 7)):
            answer = ask(page, f"M{matrix}[{row}][{col}]")
            assert f"the address that lane {plan.address_lanes[matrix, row]} gives" in answer
            assert f"bytes {2 * col}–{2 * col + 1} of the row" in answer


# --- the registers -------------------------------------------------------------------------------


@pytest.mark.parametrize("name, chip, letter", OPERANDS)
def test_a_cell_of_the_registers_shows_and_names_what_is_in_its_bits(looks, name, chip, letter):
    layout = layout_for(lookup(name), letter.lower(), chip)
    _, picture = looks(name, chip, letter)
    cells = sorted(picture["cells"], key=lambda x: (x["y"], x["x"]))
    assert len(cells) == 32 * layout.num_elements and len({x["y"] for x in cells}) == 32
    for number, cell in enumerate(cells):
        lane, index = divmod(number, layout.num_elements)
        register, bit = layout.register_of(index), layout.bit_of(index)
        row, col = layout.element_at(lane, register, bit)
        read = index < layout.read_elements
        assert cell["texts"] == [f"{row}, {col}"]
        assert cell["fills"] == [css(lane_colour(lane))]
        assert (cell["opacity"] == [1]) is read
        bits = upto(bit, layout.element_bits)
        assert cell["name"].startswith(
            f"lane {lane}, register {letter.lower()}{register}, bits {bits}: {letter}[{row}][{col}], x[{index}]"
        )
        assert ("not read" in cell["name"]) is not read


@pytest.mark.parametrize("name, chip, letter", OPERANDS)
def test_columns_of_the_registers_bear_the_letter_of_the_operand_and_stand_over_their_elements(
    looks, name, chip, letter
):
    layout = layout_for(lookup(name), letter.lower(), chip)
    _, picture = looks(name, chip, letter)
    around = sorted(picture["around"])
    registers = [f"{letter.lower()}{x}" for x in range(layout.num_registers)]
    index = range(layout.num_elements)
    bits = [upto(layout.bit_of(x), layout.element_bits) for x in index]
    assert [text for *_, text in around] == [*registers, *bits, *(f"T{x}" for x in range(32))]
    middles = [x["x"] + x["width"] / 2 for x in sorted(picture["cells"], key=lambda x: (x["y"], x["x"]))][: len(index)]
    for register in range(layout.num_registers):
        above = [middles[x] for x in index if layout.register_of(x) == register]
        assert min(above) - 1 <= around[register][1] <= max(above) + 1


# --- copies --------------------------------------------------------------------------------------


def copies_said(page):
    facts = page.evaluate("""() => Object.fromEntries([...document.querySelectorAll("#facts dt")].map(
        x => [x.textContent, x.nextElementSibling.textContent]))""")
    return facts.get("copies")


def test_facts_say_how_many_copies_there_are_and_whether_they_are_read(explore):
    for name, chip, letter in (
        (A16, "sm_90", "A"), (WMMA, "sm_70", "A"), (WMMA, "sm_90", "A"),
        (NARROW, "sm_75", "B"), (WMMA, "sm_90", "D"),
    ):  # fmt: skip
        layout = layout_for(lookup(name), letter.lower(), chip)
        said = copies_said(explore(chip=chip, i=name, op=letter))
        if layout.is_bijection:
            assert said is None
        elif layout.reads_copies:
            assert said.startswith(f"{layout.multiplicity} lanes hold each element") and "each copy is read" in said
            assert "not read" not in said
        else:
            assert re.findall(r"x\[(\d+)\]", said) == [str(layout.read_elements), str(layout.num_elements - 1)]
            assert said.endswith("not read")


@pytest.mark.parametrize("name, chip, letter", [(WMMA, "sm_70", "A"), (WMMA, "sm_90", "A"), (NARROW, "sm_90", "B")])
def test_an_answer_lists_the_other_copies_of_an_element(explore, name, chip, letter):
    layout = layout_for(lookup(name), letter.lower(), chip)
    page = explore(chip=chip, i=name, op=letter)
    for lane, index in ((0, 0), (13, 1), (31, layout.num_elements - 1)):
        row, col = layout.coords[index, lane].tolist()
        answer = ask(page, f"T{lane} x{index}")
        assert f"{letter}[{row}][{col}]" in answer.split("It ")[0]
        others = [x for x in layout.locate(row, col) if (x.lane, x.element) != (lane, index)]
        (line,) = (x for x in answer.splitlines() if re.search("hold it|read", x))
        if layout.reads_copies:
            assert "each copy is read" in line
            assert re.findall(r"x\[(\d+)\] of lane (\d+)", line) == [(str(x.element), str(x.lane)) for x in others]
        else:
            assert re.findall(r"x\[(\d+)\]", line) == [str(x.element) for x in others]
            assert ("the same element" in line) is (index >= layout.read_elements)


# --- what an element meets -----------------------------------------------------------------------


def test_an_element_of_a_lights_the_row_of_b_that_it_meets_and_of_b_the_column_of_a(explore):
    page = explore(chip="sm_90", i=A16, op="A")
    ask(page, "A[9][3]")
    lit = bands(page)
    assert lit["B"] == product([3], range(8))
    assert lit["C"] == lit["D"] == product([9], range(8))
    ask(page, "B[13][4]")
    lit = bands(page)
    assert lit["A"] == product(range(16), [13])
    assert lit["C"] == lit["D"] == product(range(16), [4])


@pytest.mark.parametrize("name", [SPARSE, SPARSE_TF32])
def test_elements_of_a_sparse_product_light_the_chunk_that_they_may_meet(explore, name):
    row, kind = lookup(name), granularity_of(lookup(name))
    packed, wide = layout_for(row, "a", "sm_90").cols, layout_for(row, "b", "sm_90").rows
    kept = kind.chunk * packed // wide
    page = explore(chip="sm_90", i=name, op="A")
    ask(page, "D[3][5]")
    lit = bands(page)
    assert lit["A"] == product([3], range(packed)) and lit["B"] == product(range(wide), [5])
    for k in (0, wide // 2 + 1):  # a row of B: packed columns of A that metadata may send to it
        answer = ask(page, f"B[{k}][2]")
        assert "column 2 of D" in answer and re.search(rf"\bcolumn {k} of (the whole )?A\b", answer)
        first = k // kind.chunk * kept
        page.evaluate("document.querySelector('.at-A .name').click()")
        drawn = page.evaluate(
            "[...document.querySelectorAll('#matrix .band')].map(x => [+x.dataset.row, +x.dataset.col])"
        )
        assert bands(page)["A"] == drawn == product(range(16), range(first, first + kept))
        assert bands(page)["D"] == product(range(16), [2])
    for col in (1, packed - 1):  # a packed column of A: rows of B that metadata may choose from
        answer = ask(page, f"A[6][{col}]")
        first = col // kept * kind.chunk
        assert re.search(rf"\bcolumns {upto(first, kind.chunk)}\b", answer) and "row 6 of D" in answer
        assert bands(page)["B"] == product(range(first, first + kind.chunk), range(8))
        assert bands(page)["D"] == product([6], range(8))


@pytest.mark.parametrize("name", [SPARSE, SPARSE_TF32, SPARSE_S4])
def test_the_metadata_table_says_lane_and_nibble_of_each_chunk_and_which_nibbles_are_legal(explore, name):
    row = lookup(name)
    kind = granularity_of(row)
    for selector in selectors_of(row):
        found = metadata_map(row, selector)
        page = explore(chip="sm_90", i=name, op="A", view="metadata", selector=selector)
        table = page.evaluate("""() => [...document.querySelectorAll("#view-metadata table tr")].map(
            row => [...row.cells].map(x => [x.textContent, getComputedStyle(x).backgroundColor]))""")
        rows, chunks = found.lane.shape
        assert [x for x, _ in table[0][1:]] == [upto(c * kind.chunk, kind.chunk) for c in range(chunks)]
        assert [line[0][0] for line in table[1:]] == [f"row {x}" for x in range(rows)]
        assert [line[1:] for line in table[1:]] == [
            [[f"T{lane} n{nibble}", css(lane_colour(lane))] for lane, nibble in zip(*line, strict=True)]
            for line in zip(found.lane.tolist(), found.nibble.tolist(), strict=True)
        ]
    said = re.findall(r"\b([01]{4})\s+keeps columns? (\d+(?:, \d+)*)", page.inner_text("#view-metadata"))
    assert {int(x, 2): tuple(map(int, cols.split(", "))) for x, cols in said} == dict(kind.nibbles)
    assert len(said) == len(kind.nibbles)


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
def test_the_addresses_of_a_card_load_the_elements_of_the_operand(explore, name):
    page = explore(chip="sm_90", i=name, view="loads")
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


def test_stores_of_a_wide_d_begin_where_the_card_says_and_fill_the_tile(explore):
    page = explore(chip="sm_90", i=WIDE, view="loads")
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


@pytest.mark.parametrize("move", [X4, X1, X2_TRANS])
def test_a_move_lists_the_operands_that_it_feeds(explore, move):
    page = explore(chip="sm_90", i=move, view="loads")
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
def test_each_machine_instruction_says_its_k_its_registers_and_what_is_done_so_far(explore, name, chip):
    schedule = schedule_of(name, chip)
    m, n, terms = schedule.to_dict()["shape"]
    matrices = 1 + max(part.matrix for part in schedule.steps[0].parts)
    done = np.zeros((matrices, m, n), int)
    shades = {}
    assert len(schedule.steps) > 1
    walk = explore(chip=chip, i=name, view="schedule").evaluate(WALK)
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


# --- what comes nearest --------------------------------------------------------------------------


def likeness(row, other):
    """Family before type of A before shape before all types."""
    return (row.family == other.family, row.a == other.a, row.shape == other.shape, row.types == other.types)


@pytest.mark.parametrize(
    "name, chip",
    [
        (A16, "sm_75"), ("wmma.mma.m16n16k8.f32.tf32.tf32.f32", "sm_75"),
        (S8, "sm_70"), (SPARSE, "sm_75"),
    ],
)  # fmt: skip
def test_a_chip_without_an_instruction_shows_the_nearest_and_names_it(explore, name, chip):
    page = explore(chip="sm_90", i=name)
    row = lookup(name)
    assert chip not in row.archs
    page.select_option("#chip", chip)
    now = state(page)
    shown = lookup(now["entry"])
    assert now["chip"] == chip and chip in shown.archs
    assert likeness(row, shown) == max(likeness(row, x) for x in INSTRUCTIONS.values() if chip in x.archs)
    said = f"{chip} does not support {row.short_mnemonic}; {shown.short_mnemonic} is shown."
    assert page.text_content("#said") == said
    assert page.input_value("#instruction") == shown.short_mnemonic


def test_a_wrong_name_is_said_to_match_nothing_and_each_word_offered_instead_matches(explore):
    page = explore(chip="sm_90", i=A16)
    for wrong in ("m16n8k17", "wmma.mma.m16n16k16.f99", "sonata"):
        options, said = found(page, wrong)
        assert said.startswith("Nothing matches") and options == []
        words = re.findall(r"[\w.]+", said.split("Try ")[1].rstrip("."))
        assert len(words) > 2
        for word in words:
            assert found(page, word)[0], word
        page.keyboard.press("Escape")
        answer = ask(page, f"A[0][0] of {wrong}")
        assert page.locator("#answer.wrong").count() == 1 and wrong in answer
        assert state(page)["entry"] == lookup(A16).mnemonic


def test_a_part_of_a_name_finds_those_of_the_chip_before_others(explore):
    page = explore(chip="sm_80", i=A16)
    first = found(page, "e4m3")[0][0]
    assert (
        "e4m3" in first and "sm_89" in first and "sm_80" not in first
    )  # sm_80 supports none: the page names the chips that do
    there = ["on sm_" not in x for x in found(page, "m16n8k16")[0]]
    assert there == sorted(there, reverse=True) and there[0]
    page.keyboard.press("Escape")


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize(("chip", "letter"), [("sm_90", "A"), ("sm_90", "B"), ("sm_70", "A"), ("sm_70", "C")])
def test_no_text_runs_out_of_its_cell(explore, chip, letter, width):
    page = explore(chip=chip, i=WMMA, op=letter, width=width)
    script = """() => [...document.querySelectorAll(".figure .cell")].filter((cell) => {
        const box = cell.querySelector(".edge").getBoundingClientRect();
        return [...cell.querySelectorAll("text")].some((x) => x.getBoundingClientRect().width > box.width);
      }).length"""
    assert page.evaluate(script) == 0
