# SPDX-License-Identifier: MIT
"""The register view: every box says what the table says, in its bits, the highest left."""

import pytest

import wmma_emu as we
from wmma_emu.errors import OutOfBoundsError, UnsupportedInstructionError
from wmma_emu.viz import draw_registers

from .operand_pictures import ALL, SVG, cells_of, held_by, root_of, texts_of

F16 = we.instruction("m16n8k16.f32.f16.f16.f32")
S8 = we.instruction("m16n8k32.s32.s8.s8.s32")
S4 = we.instruction("m16n8k64.s32.s4.s4.s32", arch="sm_80")
B1 = we.instruction("m16n8k256.s32.b1.b1.s32.xor.popc", arch="sm_80")
F64 = we.instruction("m16n8k16.f64.f64.f64.f64")
QUADS = we.instruction("m8n8k4.f32.f16.f16.f32", arch="sm_70")
AMPERE = we.instruction("wmma.mma.m16n16k16.f32.f32", arch="sm_80")
WGMMA = we.instruction("wgmma.m64n256k16.f32.f16.f16")


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(4))
def test_the_registers_of_every_layout_are_the_table(part):
    for operand in ALL[part::4]:
        layout = operand.layout
        cells = cells_of(draw_registers(operand))
        lanes, registers = range(32), sorted({x.data["register"] for x in cells})
        if layout.num_lanes == 32 or layout.num_registers <= 16:
            assert registers == list(range(layout.num_registers))
        packed = layout.elements_per_register
        elements = [i * packed + j for i in registers for j in range(packed)]
        drawn = [x for cell in cells for x in cell.elements(layout.element_bits)]
        assert sorted(drawn) == sorted(held_by(layout, elements, lanes)), operand
        assert len(cells) == len(lanes) * len(registers)


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(2))
def test_the_bits_of_a_lane_of_every_layout_are_the_table(part):
    for number, operand in enumerate(ALL[part::2]):
        layout = operand.layout
        lane = (7 * number + 5) % layout.num_lanes
        cells = cells_of(draw_registers(operand, lane=lane))
        drawn = [x for cell in cells for x in cell.elements(layout.element_bits)]
        assert sorted(drawn) == sorted(held_by(layout, lanes=[lane])), operand


@pytest.mark.parametrize("operand", [F16.a, S8.b, S4.a, B1.a, F64.a, QUADS.a, AMPERE.a], ids=repr)
def test_the_highest_bit_is_left_and_every_bit_has_its_width(operand):
    layout = operand.layout
    cells = cells_of(draw_registers(operand, lane=9))
    rights = {x.box[0] + x.box[2] for x in cells if x.data["bit"] == 0}
    [right] = {round(x, 3) for x in rights}
    for cell in cells:
        x, y, width, _ = cell.box
        bit = width / layout.element_bits
        assert (right - x - width) / bit == pytest.approx(cell.data["bit"], abs=1e-2)
        others = {c.data["register"] for c in cells if c.box[1] == y}
        assert others == {cell.data["register"]}
    texts = root_of(draw_registers(operand, lane=9)).findall(f"{SVG}text")
    ruler = [x for x in texts if x.text.isdigit() and float(x.get("y")) < cells[0].box[1]]
    numbers = [int(x.text) for x in sorted(ruler, key=lambda x: float(x.get("x")))]
    places = [(right - float(x.get("x"))) / bit - 0.5 for x in sorted(ruler, key=lambda x: float(x.get("x")))]
    assert places == pytest.approx(numbers, abs=1e-2)
    wanted = range(layout.register_bits - 1, -1, -1)
    assert numbers == [i for i in wanted if layout.register_bits == 32 or i % 8 == 0 or i == 63]


def test_boxes_name_their_elements_from_the_highest_bits_down():
    at = {(x.lanes[0], x.data["register"]): x.texts for x in cells_of(draw_registers(F16.a))}
    assert at[5, 1] == ["9,3", "9,2"] and at[31, 3] == ["15,15", "15,14"]
    at = {(x.lanes[0], x.data["register"]): x.texts for x in cells_of(draw_registers(S8.b))}
    assert at[5, 1] == ["23,1", "22,1", "21,1", "20,1"]
    at = {(x.lanes[0], x.data["register"]): x.texts for x in cells_of(draw_registers(S4.a))}
    assert at[5, 1] == ["9,15–8"]
    at = {(x.lanes[0], x.data["register"]): x.texts for x in cells_of(draw_registers(B1.b))}
    assert at[5, 1] == ["191–160,1"]
    lane = {x.data["index"]: x.texts for x in cells_of(draw_registers(S8.a, lane=4))}
    assert lane[13] == ["A[9, 17]", "x13"]
    assert [x.texts for x in cells_of(draw_registers(B1.a, lane=5))][:2] == [["32"], ["33"]]


def test_registers_that_are_not_read_are_drawn_as_copies():
    for options in ({}, {"lane": 3}):
        for cell in cells_of(draw_registers(AMPERE.a, **options)):
            assert ("copy" in cell.classes) == (cell.data["index"] >= 8)
            assert cell.tip.endswith(", a copy that is not read") == (cell.data["index"] >= 8)


@pytest.mark.parametrize("options", [
    {"register": 1}, {"element": (9, 3)}, {"lane": 5, "register": 1}, {"lane": 5, "element": (9, 3)},
], ids=str)  # fmt: skip
def test_only_the_highlighted_elements_are_marked(options):
    picture = draw_registers(F16.a, **options)
    for cell in cells_of(picture):
        wanted = [
            x for x in cell.elements(16)
            if options.get("register", x.register) == x.register and options.get("element", x[1:3]) == x[1:3]
        ]  # fmt: skip
        assert cell.classes[2] == ("on" if wanted else "off")
        assert len(cell.rects("mark")) == bool(wanted)
        if wanted == [] or len(wanted) == cell.data.get("cols", 1):
            continue
        x, _, width, _ = cell.box
        left = float(cell.rects("mark")[0].get("x"))
        assert (left > x + width / 2) == (wanted[0].bit == 0)


def test_a_lane_alone_is_not_marked_in_itself():
    picture = draw_registers(F16.a, lane=5)
    assert picture.title == "Lane 5 holds rows 1, 9, columns 2–3, 10–11 of A"
    assert {tuple(x.classes) for x in cells_of(picture)} == {("cell", "l5")}


def test_the_part_of_four_warps_registers_is_around_the_highlighted_element():
    picture = draw_registers(WGMMA.d, element=(40, 200))
    cells = cells_of(picture)
    assert {x.lanes[0] for x in cells} == set(range(64, 96))
    assert {x.data["register"] for x in cells} == set(range(96, 104))
    assert [(x.lanes[0], x.data["register"]) for x in cells if "on" in x.classes] == [(64, 102)]
    words = " ".join(x for x in texts_of(picture) if x)
    assert "Drawn are T64 to T95, d96 to d103; more warps: T + 32: 16 rows further down" in words
    assert "more registers: 4 further on: 8 columns to the right" in words


def test_lanes_of_several_matrices_are_named_with_theirs():
    words = texts_of(draw_registers(QUADS.c))
    assert "T5 of matrix 1" in words and "T31 of matrix 3" in words


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"lane": -1}, OutOfBoundsError, "there is no lane -1; legal values are 0 to 31"),
    ({"register": 9}, OutOfBoundsError, "there is no register 9; legal values are 0 to 3"),
    ({"lane": 0, "element": (1, 2)}, UnsupportedInstructionError, r"A\[1, 2\] is in lane 5"),
])  # fmt: skip
def test_what_the_operand_does_not_have_is_an_error_that_says_what_it_has(options, error, message):
    with pytest.raises(error, match=message):
        draw_registers(F16.a, **options)


def test_pictures_are_small():
    assert max(len(str(draw_registers(x))) for x in (F16.a, S8.a, S4.a, B1.a, AMPERE.c)) < 72_000


@pytest.mark.filterwarnings("ignore::wmma_emu.UnverifiedModelWarning")
def test_a_value_that_does_not_fill_its_byte_is_said_to_be_where_it_is():
    ins = we.instruction("m16n8k32.kind::f8f6f4.f32.e2m1.e3m2.f32", arch="sm_120")
    assert "8 bits (the value in bits 2 to 5 of them) each" in draw_registers(ins.a).svg
    assert "8 bits (the value in bits 0 to 5 of them) each" in draw_registers(ins.b).svg
    ins = we.instruction("m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", arch="sm_120")
    assert "8 neighbours along k share a register, 4 bits each" in draw_registers(ins.a).svg
