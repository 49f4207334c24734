# SPDX-License-Identifier: MIT
"""Pictures of memory agree with the emulator: numbered elements are moved to the registers that the cells name."""

import itertools
from xml.etree import ElementTree

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu import wmma
from wmma_emu.errors import AlignmentError, FragmentMismatchError, OutOfBoundsError, UnsupportedInstructionError
from wmma_emu.formats.dtypes import dtype_of, to_bits
from wmma_emu.layouts.banks import bank_of, words_of_banks
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.layouts.shared_memory import addresses, image_of, read_matrix
from wmma_emu.viz import draw_ldmatrix, draw_load_matrix_sync, draw_shared_operand
from wmma_emu.viz.memory.ldmatrix_plan import ldmatrix_plan, plain_addresses, row_conflicts
from wmma_emu.viz.memory.load_plan import load_plan
from wmma_emu.warp import ldmatrix, movmatrix, stmatrix
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES

SVG = "{http://www.w3.org/2000/svg}"
MOVES = [name for name, row in MATRIX_MOVES.items() if row.family != "movmatrix"]
LOADS = [name for name in MOVES if name.startswith("ldmatrix")]
MOVMATRIX = "movmatrix.sync.aligned.m8n8.trans.b16"


def groups(picture, kind):
    """The data of every group of a class, as numbers where they are."""
    root = ElementTree.fromstring(str(picture))
    found = [x for x in root.iter(f"{SVG}g") if kind in x.get("class", "").split()]
    return [{name[5:]: number(x.get(name)) for name in x.keys() if name.startswith("data-")} for x in found]


def number(text):
    return int(text) if text.lstrip("-").isdigit() else text


def random_rows(name):
    """Rows of 16 bytes in a random order, none twice."""
    return np.random.default_rng(len(name)).permutation(64)[:32] * 16


def part_of(registers, lane, register, bit, width):
    return int(registers[register, lane]) >> bit & (1 << width) - 1


def source_element(memory, address, bit, width):
    word = int.from_bytes(memory[address : address + 4].tobytes(), "little")
    return word >> bit & (1 << width) - 1


@pytest.mark.parametrize("name", LOADS)
def test_every_cell_of_ldmatrix_is_what_ldmatrix_moves_there(name):
    plan, rows = ldmatrix_plan(name), random_rows(name)
    memory = np.random.default_rng(7).integers(0, 256, 1024 + 4, np.uint8)
    registers = ldmatrix(memory, rows, name, arch=plan.arch)
    picture = draw_ldmatrix(name, rows)
    cells = groups(picture, "cell")
    assert len(cells) == plan.matrices * plan.rows * plan.row_elements
    for cell in cells:
        expected = source_element(memory, cell["address"], cell["address-bit"], plan.source_bits)
        assert part_of(registers, cell["lane"], cell["register"], cell["bit"], plan.element_bits) == expected
        assert cell["bank"] == cell["address"] // 4 % 32
    held = {tuple(x[i] for i in ("lane", "register", "bit", "matrix", "row", "col")) for x in groups(picture, "held")}
    assert held == {tuple(x[i] for i in ("lane", "register", "bit", "matrix", "row", "col")) for x in cells}
    assert len(held) == len(cells) == registers.size * (32 // plan.element_bits)


@pytest.mark.parametrize("name", [name for name in MOVES if name.startswith("stmatrix")])
def test_every_cell_of_stmatrix_is_what_stmatrix_moves_from_there(name):
    plan, rows = ldmatrix_plan(name), random_rows(name)
    memory = np.zeros(1024 + 4, np.uint8)
    registers = np.random.default_rng(8).integers(0, 1 << 32, (plan.num_registers, 32), np.uint32)
    stmatrix(memory, rows, registers, name, arch=plan.arch)
    cells = groups(draw_ldmatrix(name, rows), "cell")
    assert len(cells) == registers.size * (32 // plan.element_bits)
    for cell in cells:
        expected = part_of(registers, cell["lane"], cell["register"], cell["bit"], plan.element_bits)
        assert source_element(memory, cell["address"], 0, plan.source_bits) == expected


@pytest.mark.parametrize("name", MOVES)
def test_a_lane_gives_the_address_of_the_row_that_the_picture_says(name):
    plan = ldmatrix_plan(name)
    rows = random_rows(name)
    drawn = groups(draw_ldmatrix(name, rows), "row")
    assert [x["address"] for x in drawn] == [rows[x["lane"]] for x in drawn]
    assert sorted(x["lane"] for x in drawn) == list(range(plan.lanes_with_address))
    for lane in range(32):  # a row of ones at one lane's address, zeros elsewhere
        memory = np.zeros(1024, np.uint8)
        memory[rows[lane] : rows[lane] + 16] = 0xFF
        if plan.family == "ldmatrix":
            registers = ldmatrix(memory, rows, name, arch=plan.arch)
            lit = {(x["matrix"], x["row"]) for x in drawn if x["lane"] == lane}
            places = np.argwhere(plan_parts(registers, plan))
            assert {tuple(plan.elements[register, part, holder, :2]) for register, part, holder in places} == lit


def plan_parts(registers, plan):
    shifts = np.arange(plan.elements_per_register)[:, None] * plan.element_bits
    return registers[:, None, :] >> shifts.astype(np.uint32) & np.uint32((1 << plan.element_bits) - 1)


def test_movmatrix_is_drawn_as_it_moves():
    pairs = np.arange(32, dtype=np.uint32) * 2
    registers = (pairs + 1 << 16 | pairs)[None]
    moved = movmatrix(registers)
    picture = draw_ldmatrix(MOVMATRIX)
    held = {(x["row"], x["col"]): part_of(registers, x["lane"], 0, x["bit"], 16) for x in groups(picture, "held")}
    given = {(x["row"], x["col"]): part_of(moved, x["lane"], 0, x["bit"], 16) for x in groups(picture, "given")}
    assert held == given == {(row, col): row * 8 + col for row in range(8) for col in range(8)}
    assert {(x["lane"], x["bit"], x["row"], x["col"]) for x in groups(picture, "given")} == {
        (x["lane"], x["bit"], x["col"], x["row"]) for x in groups(picture, "held")
    }


@pytest.mark.parametrize("name", MATRIX_MOVES)
def test_a_plan_and_its_inverse_agree_and_go_into_json(name):
    plan = ldmatrix_plan(name)
    for register, part, lane in np.ndindex(plan.elements.shape[:3]):
        matrix, row, col = plan.elements[register, part, lane]
        assert plan.holders[matrix, row, col].tolist() == [lane, register, part]
    data = plan.to_dict()
    assert data["elements"] == plan.elements.tolist() and data["address_lanes"] == plan.address_lanes.tolist()
    assert type(data["rows"]) is int and data["row_bytes"] == 16


@pytest.mark.parametrize(("pitch", "ways"), [(128, 8), (144, 1), (64, 4), (None, 2)])
def test_banks_are_counted_and_marked_where_rows_meet(pitch, ways):
    name = "ldmatrix.m8n8.x4.b16"
    rows = plain_addresses(name, pitch)
    picture = draw_ldmatrix(name, pitch=pitch)
    words, conflict = row_conflicts(name, rows)
    assert conflict.tolist() == [ways] * 4
    assert np.array_equal(words, words_of_banks(rows.reshape(4, 8)))
    assert [x["words"] for x in groups(picture, "count")] == words[:, ::4].reshape(-1).tolist()
    banks = groups(picture, "bank")
    assert [(x["lane"], x["bank"]) for x in banks] == [(lane, bank_of(rows[lane])) for lane in range(32)]
    assert [x["words"] for x in banks] == [words[x["phase"], x["bank"]] for x in banks]
    marked = [x for x in groups(picture, "marked") if "bank" in x]
    assert len(marked) == (32 if ways > 1 else 0)
    assert f"{ways}-way bank conflicts" in picture.title if ways > 1 else "no bank conflict" in picture.title


def test_a_swizzle_given_as_addresses_has_no_conflict_and_loads_what_the_plain_tile_does():
    lane = np.arange(32)
    row, chunk = lane % 16, lane // 16
    plain, swizzled = row * 128 + chunk * 16, row * 128 + (chunk ^ row % 8) * 16
    tile = np.arange(16 * 64, dtype=np.uint16).reshape(16, 64)
    moved = np.empty_like(tile)
    for r, c in itertools.product(range(16), range(8)):
        moved[r, 8 * (c ^ r % 8) : 8 * (c ^ r % 8) + 8] = tile[r, 8 * c : 8 * c + 8]
    name = "ldmatrix.m8n8.x4.b16"
    assert np.array_equal(ldmatrix(tile, plain, name), ldmatrix(moved, swizzled, name))
    assert draw_ldmatrix(name, swizzled).title.endswith("no bank conflict")


@pytest.mark.parametrize(("arguments", "options", "error", "text"), [
    (("ldmatrix.m8n8.x4.b16",), {"pitch": 40}, AlignmentError, "32 at least: 32, 48"),
    (("ldmatrix.m8n8.x4.b16",), {"pitch": 16}, AlignmentError, "pitch is 16; .* 32 at least"),
    (("ldmatrix.m8n8.x1.b16", np.arange(32)), {}, AlignmentError, "lane 1 gives the address 1"),
    (("ldmatrix.m8n8.x1.b16", np.arange(8) * 16), {}, FragmentMismatchError, r"shape \(\*warps, 32\)"),
    (("ldmatrix.m8n8.x1.b16", np.zeros((2, 32), int)), {}, FragmentMismatchError, "one warp"),
    (("ldmatrix.m8n8.x1.b16", np.zeros(32, int)), {"pitch": 16}, UnsupportedInstructionError, "pass only one of them"),
    ((MOVMATRIX, np.zeros(32, int)), {}, UnsupportedInstructionError, "omit addresses and pitch"),
    (("ldmatrix.m8n8.x3.b16",), {}, UnsupportedInstructionError, "Nearest"),
    (("mma.m16n8k16",), {}, UnsupportedInstructionError, "the first word must be ldmatrix, stmatrix, movmatrix"),
    (("stmatrix.m8n8.x4.b16",), {"arch": "sm_80"}, UnsupportedInstructionError, "the first chip that has it is sm_90"),
    (("ldmatrix.m8n8.x1.b16",), {"lane": 32}, OutOfBoundsError, "the lane is 32; legal lanes are 0 to 31"),
])  # fmt: skip
def test_what_ldmatrix_would_refuse_is_not_drawn(arguments, options, error, text):
    with pytest.raises(error, match=text):
        draw_ldmatrix(*arguments, **options)


FRAGMENTS = [
    ("sm_90", wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major, None, 24),
    ("sm_90", wmma.matrix_b, 16, 16, 16, wmma.half, wmma.row_major, None, 16),
    ("sm_70", wmma.matrix_a, 16, 16, 16, wmma.half, wmma.col_major, None, 16),
    ("sm_70", wmma.matrix_b, 32, 8, 16, wmma.half, wmma.row_major, None, 8),
    ("sm_75", wmma.accumulator, 8, 32, 16, wmma.half, None, wmma.mem_row_major, 40),
    ("sm_80", wmma.matrix_b, 16, 16, 8, wmma.precision.tf32, wmma.col_major, None, 12),
    ("sm_80", wmma.accumulator, 16, 16, 16, wmma.float32, None, wmma.mem_col_major, 20),
    ("sm_80", wmma.matrix_a, 16, 16, 16, wmma.int8, wmma.row_major, None, 32),
    ("sm_90", wmma.accumulator, 8, 8, 4, wmma.double, None, wmma.mem_row_major, 8),
    ("sm_90", wmma.matrix_a, 8, 8, 32, wmma.experimental.precision.s4, wmma.row_major, None, 64),
    ("sm_90", wmma.matrix_b, 8, 8, 128, wmma.experimental.precision.b1, wmma.col_major, None, 256),
]
IDS = [f"{x[0]}-{x[1].name}-m{x[2]}n{x[3]}k{x[4]}-{x[5].cpp.split('::')[-1].replace(' ', '_')}" for x in FRAGMENTS]


@pytest.mark.parametrize(("arch", "use", "m", "n", "k", "kind", "layout", "memory_layout", "ldm"), FRAGMENTS, ids=IDS)
def test_every_cell_of_load_matrix_sync_is_the_element_that_a_load_puts_there(
    arch, use, m, n, k, kind, layout, memory_layout, ldm
):  # fmt: skip
    fragment = wmma.fragment(use, m, n, k, kind, layout, arch=arch)
    start = 256
    picture = draw_load_matrix_sync(fragment, ldm, memory_layout, start=start)
    assert not fragment.is_initialised
    bits = fragment.format.bits
    storage = fragment.format.storage
    memory = np.random.default_rng(bits).integers(0, 2 ** min(bits, 63), 40 * 256 + start, np.uint64).astype(storage)
    values = memory.view(dtype_of(fragment.format)) if bits >= 8 else memory.astype(dtype_of(fragment.format))
    wmma.load_matrix_sync(fragment, we.Pointer(values, start), ldm, memory_layout)
    x = to_bits(fragment.x, fragment.format, "x")
    seen = set()
    for cell in groups(picture, "cell"):
        for i in range(cell["elements"]):
            for lane, element in (map(int, pair.split(":")) for pair in cell["holders"].split()):
                assert x[element + i, lane] == memory[cell["position"] + i]
                seen.add((element + i, lane))
        assert cell["address"] * 8 == cell["position"] * bits and cell["segment"] == cell["address"] // 32
    read = fragment.lane_map.read_elements
    assert seen == {(element, lane) for element in range(read) for lane in range(32)}


@pytest.mark.parametrize("arch", ["sm_70", "sm_90"])
def test_a_lane_that_is_lit_is_lit_wherever_it_is_and_nothing_else(arch):
    fragment = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major, arch=arch)
    root = ElementTree.fromstring(str(draw_load_matrix_sync(fragment, 16, lane=9)))
    lit, faint = ([x.find(f"{SVG}text").text for x in root.iter(f"{SVG}g") if name in x.get("class").split()]
                  for name in ("lit", "faint"))  # fmt: skip
    assert sorted(lit) == sorted(f"T9 x{i}" for i in range(fragment.lane_map.read_elements))
    assert len(faint) == 31 * fragment.lane_map.read_elements and not [x for x in faint if x.startswith("T9 ")]


@pytest.mark.parametrize("name", ["ldmatrix.m8n8.x4.trans.b16", "stmatrix.m16n8.x2.trans.b8", MOVMATRIX])
def test_a_lane_that_is_lit_in_ldmatrix_shows_its_registers_and_the_row_whose_address_it_gives(name):
    plan = ldmatrix_plan(name)
    lit = groups(draw_ldmatrix(name, lane=9), "lit")
    assert {x["lane"] for x in lit} == {9}
    parts = plan.num_registers * plan.elements_per_register
    assert sum("col" in x for x in lit) == 2 * parts  # in memory and in registers; or before and after
    assert sum("phase" in x for x in lit) == (plan.lanes_with_address > 9)


def test_segments_are_counted_from_the_bytes_of_the_elements():
    fragment = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
    for ldm in (16, 24, 32, 72):
        plan = load_plan(fragment, ldm)
        lying = {int(byte) // 32 for byte in (plan.positions.reshape(-1, 1) * 2 + [0, 1]).reshape(-1)}
        assert plan.segments.tolist() == sorted(lying)
        assert f"span {len(lying)} segments" in str(draw_load_matrix_sync(fragment, ldm))


@pytest.mark.parametrize(("ldm", "options", "error", "text"), [
    (20, {}, AlignmentError, "the nearest are 16 and 24"),
    (8, {}, AlignmentError, "the smallest that is legal is 16"),
    (0, {}, AlignmentError, "the smallest that is legal is 16"),
    (None, {}, FragmentMismatchError, "pass ldm"),
    ("16", {}, FragmentMismatchError, "ldm is an integer"),
    (1 << 21, {}, OutOfBoundsError, "shows at most 1048576 elements"),
    (16, {"start": 8}, AlignmentError, "legal distances are multiples of 32 bytes"),
    (16, {"start": -16}, OutOfBoundsError, "before the first"),
    (16, {"lane": -1}, OutOfBoundsError, "the lane is -1"),
    (16, {"layout": wmma.mem_row_major}, FragmentMismatchError, "omit the argument"),
])  # fmt: skip
def test_what_a_load_would_refuse_is_not_drawn(ldm, options, error, text):
    fragment = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
    with pytest.raises(error, match=text):
        draw_load_matrix_sync(fragment, ldm, **options)


@pytest.mark.parametrize("major", ["k", "mn"])
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_every_chunk_of_a_shared_operand_holds_the_elements_that_wgmma_reads_there(swizzle, major):
    matrix = np.arange(64 * 64, dtype=np.uint16).reshape(64, 64)
    memory, descriptor = image_of(matrix, "f16", swizzle=swizzle, major=major)
    assert np.array_equal(read_matrix(memory, descriptor, 64, 64, "f16", major), matrix)
    cells = groups(draw_shared_operand(descriptor, 64, 64, "f16", major, memory_rows=64), "cell")
    assert len(cells) == 64 * 64 * 2 // 16 == len({x["address"] for x in cells})
    for cell in cells:
        there = memory[cell["address"] : cell["address"] + 16].view(np.uint16)
        rows, ks = slice(cell["row"], cell["last-row"] + 1), slice(cell["k"], cell["last-k"] + 1)
        assert np.array_equal(there, matrix[rows, ks].reshape(-1))
        assert cell["bank"] == cell["address"] // 4 % 32 and cell["others"] == 0


@pytest.mark.parametrize("fmt", ["tf32", "e4m3", "s8", "b1"])
def test_chunks_of_other_widths_begin_where_their_first_element_lies(fmt):
    descriptor = MatrixDescriptor(256, 16, 512, 64)
    k = {"tf32": 8, "e4m3": 32, "s8": 32, "b1": 256}[fmt]
    where = addresses(descriptor, 16, k, fmt)
    where = where // 8 if fmt == "b1" else where
    for cell in groups(draw_shared_operand(descriptor, 16, k, fmt), "cell"):
        assert cell["address"] == where[cell["row"], cell["k"]]
        assert where[cell["last-row"], cell["last-k"]] // 16 == cell["address"] // 16


def test_a_shared_operand_of_an_instruction_brings_its_major_and_its_descriptor():
    ins = we.instruction("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16")
    operand = ins.in_shared_memory("b", np.zeros((16, 64), np.float16), swizzle=128, transpose=True)
    picture = draw_shared_operand(operand, 64, 16, "f16")
    same = draw_shared_operand(operand.descriptor, 64, 16, "f16", "mn")
    assert str(picture) == str(same)
    text = " ".join(ElementTree.fromstring(str(picture)).itertext())
    for said in (hex(operand.descriptor)[2:], "swizzle 128", "base offset 0", "(SBO) 1024", "start + SBO = 1024"):
        assert said in text
    with pytest.raises(FragmentMismatchError, match="omit major"):
        draw_shared_operand(operand, 64, 16, "f16", "k")


def test_elements_that_share_an_address_and_gaps_between_them_are_said():
    overlapping = groups(draw_shared_operand(MatrixDescriptor(0, 128, 0), 16, 16, "f16"), "cell")
    assert {x["others"] for x in overlapping} == {1}
    text = str(draw_shared_operand(MatrixDescriptor(0, 128, 4096), 16, 16, "f16"))
    assert "3840 bytes without an element" in text
    assert "more row" not in text
    text = str(draw_shared_operand(MatrixDescriptor(0, 128, 4096), 16, 16, "f16", memory_rows=1))
    assert "3 more rows of 128 bytes" in text


@pytest.mark.parametrize(("arguments", "error", "text"), [
    ((MatrixDescriptor(112, 16, 1024, 128), 64, 16, "f16"), AlignmentError, "would cross its end"),
    ((1 << 14, 64, 16, "f16"), UnsupportedInstructionError, "reserved bits set: 14"),
    ((MatrixDescriptor(0, 16, 256), 64, 12, "f16"), FragmentMismatchError, "it needs at least 8 lines of 16 bytes"),
    ((MatrixDescriptor(0, 16, 256), 64, 32, "e4m3", "mn"), UnsupportedInstructionError, "MN-major elements must have "
        "16 bits"),
    (("x", 64, 16, "f16"), FragmentMismatchError, "an integer of 64 bits"),
])  # fmt: skip
def test_what_wgmma_would_not_read_is_not_drawn(arguments, error, text):
    with pytest.raises(error, match=text):
        draw_shared_operand(*arguments)
    with pytest.raises(FragmentMismatchError, match="at least 1 row"):
        draw_shared_operand(MatrixDescriptor(0, 128, 256), 8, 16, "f16", memory_rows=0)


def test_pictures_name_their_chip_and_escape_their_title():
    for picture in (
        draw_ldmatrix("ldmatrix.m8n8.x1.b16", title="<b>"),
        draw_shared_operand(MatrixDescriptor(0, 128, 256), 8, 16, "f16", title="<b>"),
        draw_load_matrix_sync(wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major), 16, title="<b>"),
    ):
        root = ElementTree.fromstring(str(picture))
        assert root.get("role") == "img" and root.find(f"{SVG}title").text == "<b>" == picture.title
        assert len(root.find(f"{SVG}desc").text) > 100
