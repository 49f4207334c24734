# SPDX-License-Identifier: MIT
"""Pictures of schedules: the shapes read back from the SVG agree with the schedule."""

import re
from collections import Counter
from html import unescape
from itertools import pairwise
from xml.etree import ElementTree

import pytest

import wmma_emu as we
from wmma_emu.errors import OutOfBoundsError
from wmma_emu.layouts import layout_for
from wmma_emu.palette import lane_colour
from wmma_emu.schedule import schedule_of
from wmma_emu.viz.schedules.schedule import draw_schedule, html
from wmma_emu.viz.schedules.schedule_blocks import turns_of
from wmma_emu.viz.svg import text_width

SVG = "{http://www.w3.org/2000/svg}"

SHOWN = [
    ("wmma.mma.m16n16k16.f32.f32", "sm_70", None),
    ("wmma.mma.m32n8k16.f32.f16", "sm_70", None),
    ("wmma.mma.m8n32k16.f16.f16", "sm_72", None),
    ("m8n8k4.row.col.f32.f16.f16.f32", "sm_75", None),
    ("wmma.mma.m16n16k16.f32.f32", "sm_75", None),
    ("wmma.mma.m8n32k16.s32.s8.s8.s32", "sm_75", None),
    ("wmma.mma.m16n16k16.f32.f32", "sm_80", None),
    ("m16n8k16.f32.f16.f16.f32", "sm_80", None),
    ("m16n8k32.f32.e4m3.e4m3.f32", "sm_90", "ptxas-12.4"),
    ("mma.sp.m16n8k64.f32.e4m3.e4m3.f32", "sm_90", None),
    ("wgmma.m64n256k16.f32.f16.f16", "sm_90", None),
    ("m16n8k256.s32.b1.b1.s32.and.popc", "sm_100", None),
]
IDS = [f"{name}-{chip}" for name, chip, _ in SHOWN]


def parts_of(svg):
    """Every block that is drawn: machine instruction, operand, rows, columns, threadgroups."""
    found = []
    for part in re.findall(r'<g class="part"[^>]*>', svg):
        data = dict(re.findall(r'data-(\w+)="([^"]*)"', part))
        rows, cols = (range(*map(int, data[x].split())) for x in ("rows", "cols"))
        owners = tuple(map(int, data["threadgroups"].split()))
        found.append((int(data["step"]), data["operand"], rows, cols, owners))
    return found


@pytest.mark.parametrize(("name", "chip", "lowering"), SHOWN, ids=IDS)
def test_the_drawn_blocks_equal_the_blocks_of_the_schedule(name, chip, lowering):
    schedule = schedule_of(name, chip, lowering)
    drawn = parts_of(draw_schedule(schedule).svg)
    assert len(drawn) == len(set(drawn))
    for step in schedule.steps:
        for operand in "abd":
            cells = Counter()
            for number, of, rows, cols, owners in drawn:
                if (number, of) == (step.number, operand):
                    cells.update((r, c, owner) for r in rows for c in cols for owner in owners or (None,))
            expected = Counter()
            for part in step.parts:
                if part.matrix == 0:
                    owner = part.b_threadgroup if operand == "b" else part.threadgroup
                    rows = step.ks if operand == "b" else part.rows
                    cols = step.ks if operand == "a" else part.cols
                    for r in rows:
                        for c in cols:
                            expected[r, c, owner] = 1  # partners read the same block of B
            assert cells == expected, (step.number, operand)


@pytest.mark.parametrize(("name", "chip", "lowering"), SHOWN, ids=IDS)
def test_pictures_are_svg_with_a_title_a_description_and_a_heading_for_each_machine_instruction(name, chip, lowering):
    schedule = schedule_of(name, chip, lowering)
    picture = draw_schedule(schedule)
    root = ElementTree.fromstring(picture.svg)
    tags = [x.tag.split("}")[1] for x in root]
    texts = ["".join(x.itertext()) for x in root.iter() if x.tag.endswith("}text")]
    assert tags[:2] == ["title", "desc"] and root[0].text == picture.title
    assert all(f"{step.number} {step.opcode}: k" in root[1].text for step in schedule.steps)
    assert all(f"{step.number}  {step.opcode}" in texts for step in schedule.steps)
    assert schedule.arch.name in picture.title and schedule.instruction.short_mnemonic in picture.title
    assert ("ptxas" in picture.title) == (schedule.lowering != "native")


VOLTA = [
    ("wmma.mma.m16n16k16.f32.f32", "bd"),  # where threadgroups share a block of A, their stripes are narrow
    ("wmma.mma.m16n16k16.f16.f16", "abd"),
    ("wmma.mma.m32n8k16.f32.f16", "ad"),
    ("wmma.mma.m8n32k16.f32.f32", "bd"),
    ("m8n8k4.row.col.f32.f16.f16.f32", "abd"),
]


@pytest.mark.parametrize(("name", "labelled"), VOLTA, ids=[name for name, _ in VOLTA])
def test_blocks_have_the_colours_of_the_threadgroups_and_their_names_within_their_stripes_where_they_fit(
    name, labelled
):  # fmt: skip
    root = ElementTree.fromstring(draw_schedule(schedule_of(name, "sm_70")).svg)
    seen = {}
    for part in root.iter(f"{SVG}g"):
        if part.get("class") != "part":
            continue
        owners = [int(x) for x in part.get("data-threadgroups").split()]
        stripes = [x for x in part if x.tag == f"{SVG}rect"]
        assert [x.get("fill") for x in stripes] == [lane_colour(4 * owner + 2) for owner in owners]
        labels = [x for x in part if x.tag == f"{SVG}text"]
        operand = part.get("data-operand")
        seen.setdefault(operand, set()).update(x.text for x in labels)
        if not labels:
            continue
        for owner, stripe, label in zip(owners, stripes, labels, strict=True):
            left, top, width, height = (float(stripe.get(x)) for x in ("x", "y", "width", "height"))
            size = float(label.get("font-size"))
            assert label.text == f"TG{owner}" and 8 <= size <= height - 2 and text_width(label.text, size) <= width - 2
            assert float(label.get("x")) == pytest.approx(left + width / 2, abs=0.01)  # rounded in the file
            assert top < float(label.get("y")) - 0.7 * size and float(label.get("y")) < top + height
    assert {operand for operand, names in seen.items() if names} == set(labelled)
    of_first_product = {0, 4} if name.startswith("m8n8k4") else set(range(8))
    assert seen["d"] == {f"TG{i}" for i in of_first_product}


@pytest.mark.parametrize("name", [name for name, _ in VOLTA])
@pytest.mark.parametrize("step", [None, 0])
def test_a_legend_names_the_lanes_of_the_threadgroups_and_a_note_whose_the_colours_are(name, step):
    picture = draw_schedule(schedule_of(name, "sm_70"), step=step)
    root = ElementTree.fromstring(picture.svg)
    width = float(root.get("viewBox").split()[2])
    shown = list(root)
    legend = []
    for colour, label in pairwise(shown):
        if colour.tag == f"{SVG}rect" and (label.text or "").startswith("TG"):
            legend.append((colour.get("fill"), label.text))
            assert float(label.get("x")) + text_width(label.text, float(label.get("font-size"))) <= width
            assert 0 < float(label.get("x")) - float(colour.get("x")) - 14 < 8
    assert legend == [(lane_colour(4 * i + 2), f"TG{i}: lanes {4 * i}-{4 * i + 3}") for i in range(8)]
    boxes = sorted((float(x.get("y")), float(x.get("x")), text_width(x.text, float(x.get("font-size"))))
                   for x in shown if x.tag == f"{SVG}text" and x.text.startswith("TG"))  # fmt: skip
    for (y, x, long), (next_y, next_x, _) in pairwise(boxes):
        assert y != next_y or x + long + 18 <= next_x
    said = " ".join("".join(x.itertext()) for x in root.iter(f"{SVG}text"))
    assert "blocks of A and B are held by the threadgroups whose colours they have" in said
    assert not re.search(r"\bT\d", picture.svg)


def test_a_tooltip_names_the_threadgroups_that_hold_or_compute_a_block():
    svg = draw_schedule(schedule_of("wmma.mma.m16n16k16.f32.f32", "sm_70")).svg
    tips = re.findall(r'<g class="part" data-step="2" [^>]*><title>([^<]*)</title>', svg)
    assert [x for x in tips if "B[" in x] == ["held by TG4-5: B[0:4, 4:8]", "held by TG6-7: B[0:4, 12:16]"]
    assert "held by TG0, 2: A[0:2, 0:4]" in tips and "TG5 makes D[12:14, 4:8]" in tips


@pytest.mark.parametrize(
    ("name", "chip", "step"),
    [("wmma.mma.m16n16k16.f32.f32", "sm_70", 6), ("wmma.mma.m8n32k16.f16.f32", "sm_70", 15),
     ("m8n8k4.col.row.f32.f16.f16.f32", "sm_70", 1), ("wmma.mma.m32n8k16.f16.f16", "sm_75", 3)],
)  # fmt: skip
def test_one_machine_instruction_alone_has_the_lanes_and_registers_of_the_layouts(name, chip, step):
    schedule = schedule_of(name, chip)
    row, chosen = schedule.instruction, schedule.steps[step]
    svg = draw_schedule(schedule, step=step).svg
    cells = re.findall(r'<g class="cell".*?</g>', svg)
    expected = sum(
        len({(r, c) for part in chosen.parts if part.matrix == 0 for r in rows(part) for c in cols(part)})
        for rows, cols in (
            (lambda part: part.rows, lambda part: chosen.ks),
            (lambda part: chosen.ks, lambda part: part.cols),
            (lambda part: part.rows, lambda part: part.cols),
        )
    )
    assert len(cells) == expected
    layouts = {"a": layout_for(row, "a", chip), "b": layout_for(row, "b", chip)}
    layouts["d"] = layout_for(row, "d" if row.d == schedule.sums else "c", chip)
    for cell in cells:
        data = dict(re.findall(r'data-(\w+)="([^"]*)"', cell))
        layout, lanes = layouts[data["operand"]], [int(x) for x in data["lane"].split()]
        places = layout.locate(int(data["row"]), int(data["col"]))
        held = [x for x in places if x.element < layout.read_elements]
        assert {x.lane for x in held} == set(lanes)
        assert {x.register for x in held} == {int(data["register"])}
        texts = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", cell)).split()
        assert texts == [*map(str, lanes), f"{data['operand']}{data['register']}"]


def test_what_is_rounded_in_turn_is_marked_inside_a_machine_instruction():
    schedule = schedule_of("m16n8k16.f32.f16.f16.f32", "sm_80")
    assert [len(ks) for ks in turns_of(schedule.steps[0])] == [8, 8]
    svg = draw_schedule(schedule).svg
    assert re.findall(r'data-operand="a" data-rows="0 16" data-cols="(\d+ \d+)"', svg) == ["0 8", "8 16"]
    assert svg.count(">1.</text>") == 2 and svg.count(">2.</text>") == 2
    assert ">1.</text>" not in draw_schedule(schedule_of("m16n8k16.f32.f16.f16.f32", "sm_90")).svg


@pytest.mark.parametrize("step", [-1, 4, "x", 1.5])
def test_a_machine_instruction_that_there_is_not_is_refused(step):
    schedule = schedule_of("wmma.mma.m16n16k16.f32.f32", "sm_75")
    with pytest.raises(OutOfBoundsError, match="legal numbers are 0 to 3"):
        draw_schedule(schedule, step=step)


def test_html_has_the_picture_and_the_tables_of_the_text():
    for name, chip in (("wmma.mma.m16n16k16.f32.f32", "sm_70"), ("m16n8k32.s32.s4.s4.s32", "sm_90")):
        schedule = schedule_of(name, chip)
        found = html(schedule)
        assert draw_schedule(schedule).svg in found and schedule._repr_html_() == found
        words = unescape(re.sub(r"<[^>]+>", " ", found)).split()
        lines = [
            line for line in str(schedule).splitlines() if line.startswith("  ") and schedule.steps[1].opcode in line
        ]
        assert lines and all(" ".join(line.split()) in " ".join(words) for line in lines)
        assert found.count("<table") == (3 if chip == "sm_70" else 1)
        ElementTree.fromstring(found)


def test_a_bound_instruction_draws_its_schedule():
    ins = we.instruction("wmma.mma.m16n16k16.f16.f16", arch="sm_80")
    assert we.viz.draw_schedule(ins.schedule).svg == draw_schedule(schedule_of(ins.mnemonic, "sm_80")).svg
