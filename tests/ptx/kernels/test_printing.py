# SPDX-License-Identifier: MIT
"""The example that prints: its lines are the lines of a Hopper GPU, in any order, and nothing is found."""

from pathlib import Path

import pytest

import wmma_emu as we
from examples.ptx.cases import CASES
from examples.ptx.texts import compiled

PRINTED = (Path(__file__).parent / "printed_by_sm90.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("schedule", [None, 3])
def test_the_printed_lines_are_the_lines_that_a_gpu_prints(schedule):
    case = CASES["printing"]
    arguments = case.draw(1)
    module = we.ptx.Module(compiled(case.text), "sm_90", findings="raise")
    report = module[case.kernel][case.grid, case.block](*arguments, schedule=schedule, schedules=2)
    assert sorted(report.output.splitlines()) == PRINTED
    assert arguments[1].tolist() == [4] * 39 + [19]
    assert "printed:\n  block " in str(report)
