# SPDX-License-Identifier: MIT
"""Schedules divide the work: no element is computed twice or omitted, and all positions match the layouts."""

import json
import re
from collections import Counter

import numpy as np
import pytest

import wmma_emu as we
from tests.representatives import REPRESENTATIVES
from wmma_emu.arithmetic import dot_product_of
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, lookup, lowerings, machine_instructions
from wmma_emu.layouts import granularity_of, layout_for
from wmma_emu.schedule import schedule_of, undivided
from wmma_emu.schedule.table import ORDERS, UNDIVIDED
from wmma_emu.schedule.text import numbers, runs_of_k

EVERY = [
    (row, chip, lowering)
    for row in REPRESENTATIVES.values()
    for chip in row.archs
    for lowering in lowerings(row, ARCHS[chip])
]


def divided():
    """Schedules that may differ: roundings do not matter, and ways of storing matter on Volta alone."""
    for row, chip, lowering in EVERY:
        alike = {"rn", "rz", "rm", "rp"} & set(row.modifiers) or row.n == 256
        stored = chip in ("sm_70", "sm_75") or (row.a_layout, row.b_layout) == ("row", "col")
        if not alike and stored and undivided(row, chip) is None:
            yield schedule_of(row, chip, lowering)


def test_every_instruction_on_every_chip_has_a_schedule_or_a_row_that_says_why_not():
    reasons = Counter()
    for row, chip, lowering in EVERY:
        reason = undivided(row, chip)
        if reason is None:
            assert schedule_of(row, chip, lowering).steps
            continue
        reasons[reason] += 1
        with pytest.raises(UnsupportedInstructionError, match="has no schedule on") as caught:
            schedule_of(row, chip, lowering)
        assert machine_instructions(row, chip, lowering).text in str(caught.value)
    assert set(reasons) == set(UNDIVIDED) and sum(reasons.values()) == 12 * 8 + 4 + 4 * 4


def test_every_entry_of_the_table_of_orders_is_used_by_an_instruction():
    used = set()
    for row, chip, lowering in EVERY:
        code = machine_instructions(row, chip, lowering).text
        used |= {
            order
            for order in ORDERS
            if f" {order.opcode}" in f" {code.split('x ', 1)[-1]}"
            and not code.startswith("1x")
            and row.family in order.families.split()
            and {row.a, f"{row.a}:{row.bit_operation}"} & set(order.operands.split())
        }
    assert used == set(ORDERS)


def test_the_machine_instructions_match_the_table_of_machine_code():
    for schedule in divided():
        code = machine_instructions(schedule.instruction, schedule.arch, schedule.lowering).text
        counts = {opcode: int(count) for count, opcode in (part.split("x ") for part in code.split(" + "))}
        assert Counter(step.opcode for step in schedule.steps) == counts and schedule.machine == code
        assert [step.number for step in schedule.steps] == list(range(len(schedule.steps)))


def test_every_element_of_d_is_made_from_every_k_exactly_once():
    for schedule in divided():
        row = schedule.instruction
        made = np.zeros((row.products, row.m, row.n, row.terms), np.int64)
        for step in schedule.steps:
            for part in step.parts:
                made[part.matrix, part.rows.start : part.rows.stop, part.cols.start : part.cols.stop, step.ks] += 1
        assert (made == 1).all(), schedule


def test_products_are_added_to_c_once_and_then_to_earlier_results():
    for schedule in divided():
        row = schedule.instruction
        begun = np.zeros((row.products, row.m, row.n), np.int64)
        for step in schedule.steps:
            for part in step.parts:
                here = begun[part.matrix, part.rows.start : part.rows.stop, part.cols.start : part.cols.stop]
                assert (here > 0).all() if step.start == "d" else not (here > 0).any() or step.start == "zero", schedule
                here += 1
        begins = {step.start for step in schedule.steps} - {"d"}
        assert begins == ({"zero"} if schedule.finish in ("add_c", "add_sums_and_c") else {"c"})


def cells(layout, place):
    """The matrix and cells that a place holds, a list: one for each of its elements in each of its lanes."""
    coords = layout.coords_of_lanes[np.ix_(place.elements, place.lanes)].reshape(-1, 2).tolist()
    matrices = layout.matrix_of_lane.reshape(-1)[list(place.lanes)]
    assert len(set(matrices.tolist())) == 1 or layout.num_matrices == 1
    registers = {layout.register_of(element) for element in place.elements}
    assert registers == set(place.registers) and list(place.registers) == sorted(place.registers)
    assert max(place.elements) < layout.read_elements
    return int(matrices[0]), sorted(map(tuple, coords))


def block(rows, cols):
    return sorted((row, col) for row in rows for col in cols)


def rows_of_b(row, step):
    """Return the k for a dense A; for a packed A all rows of B that can be selected: of its chunk, or of its nibble."""
    if not row.is_sparse:
        return step.ks
    if row.a in ("s4", "u4") and len(step.ks) < row.terms:
        return [k for k in range(row.k) if k % 2 == step.ks[0] % 2]
    places = granularity_of(row)
    return [c * places.chunk + i for c in sorted({k // places.kept for k in step.ks}) for i in range(places.chunk)]


@pytest.mark.thorough
def test_accesses_are_at_the_positions_of_the_layouts_and_nowhere_else():
    """A place is a rectangle of elements and lanes, which hold the cells of the part, and each of them once."""
    seen = set()
    for schedule in divided():
        row, chip = schedule.instruction, schedule.arch
        a, c, d = (layout_for(row, x, chip) for x in "acd")
        if (key := (row.mnemonic, schedule.steps, a, c, d)) in seen:  # chips with equal schedules
            continue
        seen.add(key)
        sums = d if row.d == schedule.sums else c
        for step in schedule.steps:
            for part in step.parts:
                assert cells(a, part.a) == (part.matrix, block(part.rows, step.ks))
                if row.is_warpgroup:
                    assert part.b is None
                else:
                    b = layout_for(row, "b", chip)
                    assert cells(b, part.b) == (part.matrix, block(rows_of_b(row, step), part.cols))
                assert cells(sums, part.d) == (part.matrix, block(part.rows, part.cols))
                if step.start == "c" and not schedule.c_is_converted:
                    assert cells(c, part.c) == (part.matrix, block(part.rows, part.cols))
                else:
                    assert part.c == (None if step.start == "zero" else part.d)


def test_the_last_machine_instructions_write_every_register_of_the_sums():
    for schedule in divided():
        row = schedule.instruction
        layout = layout_for(row, "d" if row.d == schedule.sums else "c", schedule.arch)
        written = Counter()
        last = {(part.matrix, part.rows, part.cols): part for step in schedule.steps for part in step.parts}
        for part in last.values():
            written.update((element, lane) for element in part.d.elements for lane in part.d.lanes)
        assert set(written.values()) == {1} and len(written) == layout.num_elements * layout.num_lanes


def test_what_is_rounded_together_is_in_the_order_of_the_arithmetic():
    """Return the steps of the model for every element of D, one machine instruction after another, none divided."""
    for schedule in divided():
        row = schedule.instruction
        product = dot_product_of(row, schedule.arch.name, schedule.lowering)
        exact = product.model.arithmetic in ("integer", "popcount")
        orders = {}
        for step in schedule.steps:
            assert exact == (step.rounded == ()) and (exact or sorted(sum(step.rounded, ())) == list(step.ks))
            for part in step.parts:
                orders.setdefault((part.matrix, part.rows, part.cols), []).extend(step.rounded)
        assert exact or {tuple(order) for order in orders.values()} == {product.steps}, schedule


@pytest.mark.parametrize(
    ("mnemonic", "chip", "expected"),
    [
        ("wmma.mma.m16n16k16.f32.f32", "sm_75", [(0, 0, 0), (0, 8, 0), (0, 0, 8), (0, 8, 8)]),
        ("wmma.mma.m32n8k16.f16.f16", "sm_75", [(0, 0, 0), (16, 0, 0), (0, 0, 8), (16, 0, 8)]),
        ("wmma.mma.m8n32k16.f32.f32", "sm_75", [(0, 0, 0), (0, 16, 0), (0, 0, 8), (0, 16, 8)]),
        ("wmma.mma.m16n16k16.s32.s8.s8.s32", "sm_72", [(0, 0, 0), (8, 0, 0), (0, 8, 0), (8, 8, 0)]),
        ("wmma.mma.m32n8k16.s32.s8.s8.s32", "sm_75", [(0, 0, 0), (8, 0, 0), (16, 0, 0), (24, 0, 0)]),
        ("wmma.mma.m8n32k16.s32.u8.u8.s32", "sm_75", [(0, 0, 0), (0, 8, 0), (0, 16, 0), (0, 24, 0)]),
        ("wmma.mma.m16n16k16.f32.f32", "sm_80", [(0, 0, 0), (0, 8, 0)]),
        ("wmma.mma.m32n8k16.f32.bf16.bf16.f32", "sm_89", [(0, 0, 0), (16, 0, 0)]),
        ("wmma.mma.m8n32k16.s32.s8.s8.s32", "sm_90", [(0, 0, 0), (0, 16, 0)]),
        ("wmma.mma.m16n16k8.f32.tf32.tf32.f32", "sm_90", [(0, 0, 0), (0, 8, 0), (0, 0, 4), (0, 8, 4)]),
        ("m16n8k8.f64.f64.f64.f64", "sm_100", [(0, 0, 0), (8, 0, 0), (0, 0, 4), (8, 0, 4)]),
        ("m16n8k32.f32.e4m3.e5m2.f32", "sm_90", [(0, 0, 0), (0, 0, 2)]),
        ("m16n8k32.s32.s4.s4.s32", "sm_120", [(0, 0, 0), (0, 0, 1)]),
        ("m8n8k128.s32.b1.b1.s32.and.popc", "sm_100", [(0, 0, 3), (0, 0, 2), (0, 0, 1), (0, 0, 0)]),
        ("m16n8k16.f32.f16.f16.f32", "sm_90", [(0, 0, 0)]),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)  # fmt: skip
def test_machine_instructions_come_in_the_order_of_the_machine_code(mnemonic, chip, expected):
    """The first row, column and k of each, as the operands of the disassembled instructions follow each other."""
    steps = schedule_of(mnemonic, chip).steps
    assert [(step.rows[0], step.cols[0], step.ks[0]) for step in steps] == expected


@pytest.mark.parametrize("chip", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize("name", ["f16", "s8"])
def test_the_machine_takes_b_first_where_the_product_runs_as_its_transpose(name, chip):
    types = "f32.f32" if name == "f16" else "s32.s8.s8.s32"
    steps = schedule_of(f"wmma.mma.m8n32k16.{types}", chip).steps
    assert {step.transposed for step in steps} == {not (name == "s8" and chip == "sm_75")}
    assert not any(step.transposed for step in schedule_of(f"wmma.mma.m32n8k16.{types}", chip).steps)


@pytest.mark.parametrize(
    ("mnemonic", "chip", "before", "after", "finish"),
    [
        ("wmma.mma.m16n16k16.f32.f16", "sm_75", "C is converted to f32", "", "none"),
        ("wmma.mma.m16n16k16.f32.f16", "sm_70", "", "", "none"),
        ("wmma.mma.m16n16k16.f16.f32", "sm_70", "", "D is the f32 sums, rounded to nearest f16", "convert"),
        ("m16n8k32.f32.e4m3.e4m3.f32", "sm_90", "bytes 0 and 1", "D = C + second, rounded to nearest", "add_c"),
        ("m8n8k32.s32.s4.s4.s32.satfinite", "sm_90", "the even, later the odd nibbles",
         "D = C + (first + second), clamped to 32 bits", "add_sums_and_c"),
    ],
)  # fmt: skip
def test_what_other_instructions_do_is_said(mnemonic, chip, before, after, finish):
    schedule = schedule_of(mnemonic, chip)
    assert schedule.before.startswith(before) and bool(schedule.before) == bool(before)
    assert (schedule.after, schedule.finish) == (after, finish)


def test_the_older_lowering_adds_two_sums_that_begin_at_zero():
    new, old = (schedule_of("m16n8k32.f32.e4m3.e4m3.f32", "sm_90", x) for x in ("ptxas-12.8", "ptxas-12.4"))
    assert [step.start for step in new.steps] == ["zero", "d"] and [step.start for step in old.steps] == ["zero"] * 2
    assert old.finish == "add_sums_and_c" and "first + second" in old.after and "ptxas 12.4" in old.source


def test_an_instruction_bound_to_a_chip_has_its_schedule_also_with_another_model():
    ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_80")
    assert ins.schedule == schedule_of("m16n8k16.f32.f16.f16.f32", "sm_80")
    assert ins.schedule.steps[0].rounded == (tuple(range(8)), tuple(range(8, 16)))
    from dataclasses import replace

    other = ins.with_model(replace(ins.model, terms_per_step=4)).schedule
    assert len(other.steps[0].rounded) == 4 and other.instruction == ins.schedule.instruction
    wgmma = we.instruction("wgmma.m64n64k16.f32.f16.f16", arch="sm_90").schedule
    assert wgmma.steps[0].parts[0].d.lanes == tuple(range(128))


def test_the_remark_on_the_arithmetic_matches_the_model():
    """Compare with words that are written again here, with numbers from the steps of the arithmetic."""
    kinds = Counter()
    for schedule in divided():
        product = dot_product_of(schedule.instruction, schedule.arch.name, schedule.lowering)
        model = product.model
        kinds[model.arithmetic] += 1
        first = [part for ks in product.steps if (part := sorted(set(ks) & set(schedule.steps[0].ks)))]
        rounds = f"{model.rounding} to {model.output_format} ({model.status})"
        if model.arithmetic == "fma_chain":
            assert product.steps == tuple((k,) for k in range(schedule.instruction.terms))
            expected = f"fused multiply-adds, k ascending, each rounded ({model.status})"
        elif model.arithmetic == "aligned_sum" and len(first) == 1:
            count = len(first[0])
            scaled = {"": "", "exponents": " with their scales"}.get(
                model.scaling, f", as exact sums of {model.group_terms} with their scales,"
            )
            expected = f"{count} products{scaled} and the accumulator are summed and rounded once, {rounds}"
        elif model.arithmetic == "aligned_sum":
            runs = ", then ".join(f"k {numbers(ks)}" for ks in first)
            expected = f"{runs}, each summed with its accumulator and rounded {rounds}"
        else:
            exact = {"integer": "products and sums are exact", "popcount": "ones are counted, which is exact"}
            expected = f"{exact[model.arithmetic]} ({model.status})"
        assert schedule.inside == expected
        assert f"inside: {expected}" in re.sub(r"\n +", " ", str(schedule))
    assert set(kinds) == {"fma_chain", "aligned_sum", "integer", "popcount"}


@pytest.mark.parametrize(
    ("mnemonic", "chip", "lowering", "status"),
    [
        ("wmma.mma.m16n16k16.f32.f32", "sm_70", None, "literature"),
        ("wmma.mma.m8n32k16.f16.f16", "sm_72", None, "inferred"),
        ("m8n8k4.row.col.f32.f16.f16.f32", "sm_75", None, "inferred"),
        ("wmma.mma.m16n16k16.f32.f32", "sm_75", None, "inferred"),
        ("m16n8k8.f32.f16.f16.f32", "sm_75", None, "inferred"),
        ("wmma.mma.m16n16k16.f32.f32", "sm_80", None, "inferred"),
        ("m16n8k16.f64.f64.f64.f64", "sm_90", None, "inferred"),
        ("wgmma.m64n64k16.f32.f16.f16", "sm_90", None, "inferred"),
        ("m16n8k32.f32.e4m3.e4m3.f32", "sm_90", "ptxas-12.8", "inferred"),
        ("m16n8k32.f32.e4m3.e4m3.f32", "sm_90", "ptxas-12.4", "inferred"),
        ("m16n8k32.f32.e4m3.e4m3.f32", "sm_120", None, "inferred"),
    ],
    ids=lambda x: x or "",
)
def test_a_schedule_says_how_it_is_known(mnemonic, chip, lowering, status):
    """Sets and steps match the paper where it measured; the others are inferred from it or from machine code."""
    schedule = schedule_of(mnemonic, chip, lowering)
    assert schedule.status == status == schedule.to_dict()["status"]
    assert bool(schedule.sets) == ("1811.08309" in schedule.source) >= (status == "literature")
    assert str(schedule).endswith(f"({status})")


def test_text_fits_a_hundred_columns_and_names_every_machine_instruction():
    for schedule in divided():
        text = str(schedule)
        assert not any(x != x.rstrip() for x in text.splitlines())
        longer = {line for line in text.splitlines() if len(line) > 100} - {schedule.instruction.mnemonic}
        assert not longer or len(schedule.steps[0].opcode) >= 40
        assert ("\nscales: " in text) == schedule.instruction.is_block_scaled
        assert text.count(schedule.steps[-1].opcode) >= 1 + (len(schedule.sets) > 0)
        assert len(text.splitlines()) <= 48


def test_text_of_block_scales_says_how_many_there_are_and_of_what():
    name = "m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
    text = " ".join(str(schedule_of(name, "sm_120")).split())
    assert "scales: 4 of every row of A and of every column of B, in ue4m3, each for 16 k; bytes of one" in text
    assert schedule_of(name, "sm_120").steps[0].parts[0].b.registers == (0, 1)


def test_text_of_volta_has_a_table_of_sets_and_steps_and_one_of_threadgroups():
    text = str(schedule_of("wmma.mma.m16n16k16.f32.f32", "v100"))
    assert "  9   HMMA.884.F32.F32.STEP1  2    1     8-11   a 4-5    b 4-5    TG0-3      d 2-3    d 2-3\n" in text
    assert "  2      TG2, TG6      8-11, 24-27   0        0-7   8-15\n" in text
    assert not re.search(r"\bT\d", text)  # which is a lane elsewhere
    assert "  step  TG0      TG1        TG2        TG3          TG4      TG5        TG6        TG7\n" in text
    assert "  2     0-1x4-7  8-9x4-7    0-1x12-15  8-9x12-15    4-5x4-7  12-13x4-7  4-5x12-15  12-13x12-15\n" in text


def test_a_dictionary_is_json_and_says_what_the_schedule_says():
    for mnemonic, chip in (("wmma.mma.m16n16k16.f32.f16", "sm_70"), ("wgmma.m64n64k16.f32.f16.f16", "sm_90")):
        schedule = schedule_of(mnemonic, chip)
        found = json.loads(json.dumps(schedule.to_dict()))
        assert found == schedule.to_dict() and found["machine"] == schedule.machine
        for step, told in zip(schedule.steps, found["steps"], strict=True):
            assert (told["opcode"], tuple(told["ks"]), told["start"]) == (step.opcode, step.ks, step.start)
            for part, said in zip(step.parts, told["parts"], strict=True):
                assert (range(*said["rows"]), range(*said["cols"])) == (part.rows, part.cols)
                for name in "abcd":
                    place = getattr(part, name)
                    assert said[name] == (place and {x: list(getattr(place, x)) for x in said[name]})


@pytest.mark.parametrize("chip", ["sm_75", "sm_90"])
def test_errors_say_what_the_chip_has(chip):
    with pytest.raises(UnsupportedInstructionError, match="no lowering 'ptxas-1'"):
        schedule_of("wmma.mma.m16n16k16.f32.f32", chip, "ptxas-1")
    with pytest.raises(UnsupportedInstructionError, match="m16n8k16"):
        schedule_of("m16n8k15.f32.f16.f16.f32", chip)


def test_numbers_are_written_as_runs():
    assert numbers([]) == "-" and numbers([3]) == "3" and numbers([0, 1, 3, 4, 5]) == "0-1, 3-5"
    assert runs_of_k([1, 2, 4, 8, 9, 40, 50, 60]) == "1-2, 4, 8-9, 40, 50, 60"
    assert runs_of_k(range(1, 64, 2)) == "1-63, k % 2 = 1"


def test_an_instruction_is_looked_up_as_everywhere():
    assert schedule_of(lookup("m16n8k16.f32.f16.f16.f32"), "A100") == schedule_of("m16n8k16.f32.f16.f16.f32", "sm_80")
    assert len(INSTRUCTIONS) > len(REPRESENTATIVES)
