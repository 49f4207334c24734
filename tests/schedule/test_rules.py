# SPDX-License-Identifier: MIT
"""Facts about schedules, one at a time: machine instructions read off disassembled cubins and the Volta paper."""

import pytest

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.schedule import schedule_of

WMMA = "wmma.mma.m16n16k16.f32.f32"


def test_ampere_computes_eight_columns_at_a_time():
    steps = schedule_of(WMMA, "sm_80").steps
    assert [(x.opcode, x.cols, x.ks) for x in steps] == [
        ("HMMA.16816.F32", tuple(range(8)), tuple(range(16))),
        ("HMMA.16816.F32", tuple(range(8, 16)), tuple(range(16))),
    ]


def test_turing_finishes_the_first_half_of_k_for_all_columns_first():
    steps = schedule_of(WMMA, "sm_75").steps
    assert [(x.cols[0], x.ks[0]) for x in steps] == [(0, 0), (8, 0), (0, 8), (8, 8)]


def test_a_later_half_of_k_adds_to_the_result_of_the_first():
    assert [x.start for x in schedule_of(WMMA, "sm_75").steps] == ["c", "c", "d", "d"]


def test_volta_runs_sets_of_four_k_in_four_steps():
    sets = schedule_of(WMMA, "sm_70").sets
    assert [[x.opcode for x in steps] for steps in sets] == [[f"HMMA.884.F32.F32.STEP{i}" for i in range(4)]] * 4
    assert [steps[0].ks for steps in sets] == [(0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11), (12, 13, 14, 15)]


def test_volta_with_f16_sums_has_two_steps_a_set():
    sets = schedule_of("wmma.mma.m16n16k16.f16.f16", "sm_70").sets
    assert [len(steps) for steps in sets] == [2, 2, 2, 2]


def test_on_volta_a_threadgroup_computes_four_columns_and_two_rows_a_step():
    # Raihan et al., table III: step 0 computes rows 0 and 1 of the threadgroup's four.
    part = schedule_of(WMMA, "sm_70").steps[0].parts[0]
    assert (part.threadgroup, part.octet, part.rows, part.cols) == (0, 0, range(0, 2), range(0, 4))


def test_a_step_names_the_registers_of_its_elements():
    first, second = schedule_of(WMMA, "sm_80").steps
    assert [first.registers(x) for x in "abcd"] == [(0, 1, 2, 3), (0, 1), (0, 1, 2, 3), (0, 1, 2, 3)]
    assert [second.registers(x) for x in "abcd"] == [(0, 1, 2, 3), (2, 3), (4, 5, 6, 7), (4, 5, 6, 7)]


def test_fp8_on_hopper_is_two_f16_instructions():
    schedule = schedule_of("m16n8k32.f32.e4m3.e4m3.f32", "sm_90")
    assert [x.opcode for x in schedule.steps] == ["HMMA.16816.F32"] * 2
    assert schedule.before == "bytes 0 and 1, later bytes 2 and 3, of every register of A and B are converted to f16"


def test_a_single_machine_instruction_computes_all_of_d():
    (step,) = schedule_of("m16n8k16.f32.f16.f16.f32", "sm_90").steps
    assert (step.rows, step.cols, step.ks) == (tuple(range(16)), tuple(range(8)), tuple(range(16)))


def test_a_software_routine_has_no_schedule():
    with pytest.raises(UnsupportedInstructionError, match="has no schedule on sm_80"):
        schedule_of("m8n8k4.f32.f16.f16.f32", "a100")


def test_old_names_of_the_parts_still_work_with_a_warning():
    import wmma_emu.schedule

    with pytest.warns(DeprecationWarning, match=r"wmma_emu\.schedule\.Held is now wmma_emu\.schedule\.Ownership"):
        assert wmma_emu.schedule.Held is wmma_emu.schedule.Ownership
