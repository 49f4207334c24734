# SPDX-License-Identifier: MIT
"""Pictures of schedules: what they draw, read back from the SVG, is what the schedule says."""

import re
from collections import Counter
from html import unescape
from xml.etree import ElementTree

import pytest

import wmma_emu as we
from wmma_emu.errors import OutOfBoundsError
from wmma_emu.layouts import layout_for
from wmma_emu.viz.palette import lane_colour
from wmma_emu.viz.schedules.schedule import draw_schedule, html
from wmma_emu.viz.schedules.schedule_blocks import turns_of
from wmma_emu.warp.schedule import schedule_of

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
def test_the_blocks_that_are_drawn_are_those_of_the_schedule(name, chip, lowering):
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


def test_blocks_have_the_colours_and_the_names_of_the_threadgroups():
    svg = draw_schedule(schedule_of("wmma.mma.m16n16k16.f32.f32", "sm_70")).svg
    seen = set()
    for part in re.findall(r'<g class="part".*?</g>', svg):
        owners = re.search(r'data-threadgroups="([^"]*)"', part)[1].split()
        assert re.findall(r'fill="(#\w+)"', part) == [lane_colour(4 * int(x) + 2) for x in owners]
        [label] = re.findall(r"<text[^>]*>([^<]*)</text>", part)
        assert label in (f"T{owners[0]}", f"T{owners[0]}-{owners[-1]}", f"T{','.join(owners)}")
        seen.add(label)
    assert seen == {*(f"T{i}" for i in range(8)), "T0,2", "T1,3", "T4,6", "T5,7", "T0-1", "T2-3", "T4-5", "T6-7"}


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
    with pytest.raises(OutOfBoundsError, match="they are 0 to 3"):
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
