# SPDX-License-Identifier: MIT
"""The rules of pictures of schedules, one fact each: blocks, turns, threadgroups, colours, single steps."""

import re

import pytest

from wmma_emu.errors import OutOfBoundsError
from wmma_emu.schedule import schedule_of
from wmma_emu.viz import draw_schedule
from wmma_emu.viz.schedules.schedule_blocks import blocks_of, turns_of

VOLTA = schedule_of("wmma.mma.m16n16k16.f32.f32", "sm_70")
TURING = schedule_of("m16n8k8.f32.f16.f16.f32", "sm_75")
AMPERE = schedule_of("m16n8k16.f32.f16.f16.f32", "sm_80")


def blocks(step, operand):
    return [(x.rows, x.cols) for x in blocks_of(step) if x.operand == operand]


def parts_of(picture):
    """Return the attributes of each block that is drawn: machine instruction, operand, rows and columns."""
    found = re.findall(r'<g class="part" data-step="(\d+)" data-operand="(\w)" data-rows="([\d ]+)" '
                       r'data-cols="([\d ]+)"', picture.svg)  # fmt: skip
    return [(int(step), operand, rows, cols) for step, operand, rows, cols in found]


def test_a_machine_instruction_has_a_block_of_each_matrix_that_it_reads_or_writes():
    [step] = TURING.steps
    assert blocks(step, "a") == [(range(16), range(8))]
    assert blocks(step, "b") == [(range(8), range(8))]
    assert blocks(step, "d") == [(range(16), range(8))]


def test_successive_roundings_are_turns_with_separate_blocks():
    [step] = AMPERE.steps
    assert turns_of(step) == (tuple(range(8)), tuple(range(8, 16)))
    assert [(x.turn, x.cols, x.labels) for x in blocks_of(step) if x.operand == "a"] == [
        (1, range(8), ("1.",)), (2, range(8, 16), ("2.",)),
    ]  # fmt: skip


def test_one_rounding_is_one_turn_labelled_by_the_number_of_the_machine_instruction():
    [step] = TURING.steps
    assert turns_of(step) == (tuple(range(8)),)
    assert [x.labels for x in blocks_of(step)] == [("#0",)] * 3


def test_on_volta_a_block_of_a_is_held_by_two_threadgroups():
    of_a = [(x.rows, x.owners) for x in blocks_of(VOLTA.steps[4]) if x.operand == "a"]
    assert of_a[:2] == [(range(0, 2), (0, 2)), (range(8, 10), (1, 3))]


def test_a_picture_has_every_block_of_every_machine_instruction():
    assert parts_of(draw_schedule(TURING)) == [
        (0, "d", "0 16", "0 8"), (0, "a", "0 16", "0 8"), (0, "b", "0 8", "0 8"),
    ]  # fmt: skip
    assert {x[0] for x in parts_of(draw_schedule(VOLTA))} == set(range(16))


def test_one_machine_instruction_can_be_drawn_alone():
    assert {x[0] for x in parts_of(draw_schedule(VOLTA, step=4))} == {4}


@pytest.mark.parametrize("step", [16, -1])
def test_a_machine_instruction_that_does_not_exist_is_an_error(step):
    with pytest.raises(OutOfBoundsError):
        draw_schedule(VOLTA, step=step)


def test_a_picture_is_titled_by_instruction_chip_and_lowering():
    assert draw_schedule(AMPERE).title == "m16n8k16.f32.f16.f16.f32 on sm_80 (Ampere)"
    lowered = schedule_of("m16n8k32.f32.e4m3.e4m3.f32", "sm_90", "ptxas-12.4")
    assert draw_schedule(lowered).title == "m16n8k32.f32.e4m3.e4m3.f32 on sm_90 (Hopper), ptxas-12.4"
