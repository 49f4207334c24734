# SPDX-License-Identifier: MIT
"""Sets and steps of HMMA.884 as tables II and III of Raihan et al. (arXiv 1811.08309) have them, letter by letter."""

import pytest

from wmma_emu.layouts import layout_for
from wmma_emu.schedule import schedule_of

OCTETS = {  # table II: threadgroups, rows of A, columns of B
    0: ((0, 4), range(0, 8), range(0, 8)),
    1: ((1, 5), range(8, 16), range(0, 8)),
    2: ((2, 6), range(0, 8), range(8, 16)),
    3: ((3, 7), range(8, 16), range(8, 16)),
}
MIXED = {  # table III, f32 sums: what threadgroups X and X + 4 multiply, for the first of the four sets
    0: (("a", 0, 2, "A"), ("e", 0, 2, "A")),
    1: (("a", 2, 4, "A"), ("e", 2, 4, "A")),
    2: (("a", 0, 2, "E"), ("e", 0, 2, "E")),
    3: (("a", 2, 4, "E"), ("e", 2, 4, "E")),
}
HALF = {  # the same, f16 sums
    0: (("a", 0, 4, "A"), ("e", 0, 4, "A")),
    1: (("a", 0, 4, "E"), ("e", 0, 4, "E")),
}


def tile_of_a(letter, octet):
    """Rows and k of a 4x4 tile of A: a, b, c, d are the first four rows of the octet, e, f, g, h the others."""
    half, of_set = divmod("abcdefgh".index(letter), 4)
    return range(OCTETS[octet][1][4 * half], OCTETS[octet][1][4 * half] + 4), range(4 * of_set, 4 * of_set + 4)


def tile_of_b(letter, octet):
    """K and columns of a 4x4 tile of B: A, B, C, D are the first four columns of the octet, E, F, G, H the others."""
    half, of_set = divmod("ABCDEFGH".index(letter), 4)
    return range(4 * of_set, 4 * of_set + 4), range(OCTETS[octet][2][4 * half], OCTETS[octet][2][4 * half] + 4)


def later(letter, of_set):
    return chr(ord(letter) + of_set)


@pytest.mark.parametrize("layouts", ["row.col", "row.row", "col.row", "col.col"])
@pytest.mark.parametrize(("types", "table"), [("f32.f32", MIXED), ("f32.f16", MIXED), ("f16.f16", HALF)])
def test_sets_steps_and_threadgroups_match_the_paper(types, table, layouts):
    schedule = schedule_of(f"wmma.mma.{layouts}.m16n16k16.{types}", "sm_70")
    assert [len(steps) for steps in schedule.sets] == [len(table)] * 4
    for of_set, steps in enumerate(schedule.sets):
        for number, step in enumerate(steps):
            assert (step.set, step.step) == (of_set, number) and step.opcode.endswith(f".STEP{number}")
            assert [part.threadgroup for part in step.parts] == list(range(8))
            for part in step.parts:
                threadgroups, _, _ = OCTETS[part.octet]
                a, first, last, b = table[number][threadgroups.index(part.threadgroup)]
                rows, ks = tile_of_a(later(a, of_set), part.octet)
                ks_of_b, cols = tile_of_b(later(b, of_set), part.octet)
                assert part.rows == rows[first:last] and part.cols == cols
                assert step.ks == tuple(ks) == tuple(ks_of_b)


@pytest.mark.parametrize("chip", ["sm_70", "sm_72"])
@pytest.mark.parametrize("layouts", ["row.col", "row.row", "col.row", "col.col"])
@pytest.mark.parametrize(
    "shape", ["wmma.mma.{}.m16n16k16", "wmma.mma.{}.m32n8k16", "wmma.mma.{}.m8n32k16", "m8n8k4.{}"]
)
def test_each_threadgroup_reads_its_own_a_and_both_of_an_octet_the_same_half_of_b(shape, layouts, chip):
    """Check that the lanes that are read hold these elements in the layouts, in which every octet has its replicas."""
    mnemonic = shape.format(layouts) + (".f32.f16.f16.f32" if shape.startswith("m8") else ".f32.f32")
    schedule = schedule_of(mnemonic, chip)
    b = layout_for(schedule.instruction, "b", chip)
    for step in schedule.steps:
        for part in step.parts:
            own = set(range(4 * part.threadgroup, 4 * part.threadgroup + 4))
            assert set(part.a.lanes) <= own and set(part.d.lanes) == own and set(part.c.lanes) == own
            assert part.octet == part.threadgroup % 4 and part.b_threadgroup % 4 == part.octet
            assert {lane // 4 for lane in part.b.lanes} == {part.b_threadgroup}
            assert part.b_threadgroup // 4 == step.step // 2  # the first threadgroup's half in steps 0 and 1
            pair = (2 * step.set, 2 * step.set + 1)  # of these registers it may need one half
            assert step.registers("a") == (pair if layouts.startswith("row") else pair[step.step % 2 :][:1])
            assert step.registers("b") == pair
            assert part.d.registers == (2 * step.step, 2 * step.step + 1)
            for k in step.ks:
                for col in part.cols:
                    held = [x.lane for x in b.locate(k, col, part.matrix)]
                    assert set(held) & set(part.b.lanes)


@pytest.mark.parametrize(
    ("shape", "origin"),
    [("m32n8k16", lambda octet: (8 * octet, 0)), ("m8n32k16", lambda octet: (0, 8 * octet))],
    ids=["m32n8k16", "m8n32k16"],
)
def test_octets_of_the_other_shapes_are_stacked_or_side_by_side(shape, origin):
    for step in schedule_of(f"wmma.mma.{shape}.f32.f32", "sm_70").steps:
        for part in step.parts:
            row, col = origin(part.octet)
            row, col = row + 4 * (part.threadgroup // 4) + 2 * (step.step % 2), col + 4 * (step.step // 2)
            assert (part.rows, part.cols) == (range(row, row + 2), range(col, col + 4))


def test_c_of_another_format_is_read_by_the_first_set_or_converted_at_the_end():
    mixed = schedule_of("wmma.mma.m16n16k16.f32.f16", "sm_70")
    opcodes = [step.opcode[:16] for step in mixed.steps]
    assert opcodes == ["HMMA.884.F32.F16"] * 4 + ["HMMA.884.F32.F32"] * 12
    c = layout_for(mixed.instruction, "c", "sm_70")
    assert [step.registers("c") for step in mixed.sets[0]] == [(0, 1), (0, 1), (2, 3), (2, 3)]
    assert c.num_registers == 4 and mixed.finish == "none"
    narrow = schedule_of("wmma.mma.m16n16k16.f16.f32", "sm_70")
    assert {step.opcode[:16] for step in narrow.steps} == {"HMMA.884.F32.F32"} and narrow.finish == "convert"
    assert [step.registers("d") for step in narrow.sets[3]] == [(0, 1), (2, 3), (4, 5), (6, 7)]


def test_m8n8k4_is_one_set_of_four_products():
    for chip in ("sm_70", "sm_72", "sm_75"):
        schedule = schedule_of("m8n8k4.row.col.f32.f16.f16.f32", chip)
        assert len(schedule.sets) == 1 and len(schedule.steps) == 4
        assert [part.matrix for part in schedule.steps[0].parts] == [0, 1, 2, 3] * 2
        assert {part.rows.start for part in schedule.steps[1].parts} == {2, 6}
        assert len(schedule_of("m8n8k4.row.col.f16.f16.f16.f16", chip).steps) == 2
