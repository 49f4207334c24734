# SPDX-License-Identifier: MIT
"""Whole launches on both machines: the examples, altered kernels, random programs."""

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

import wmma_emu as we
from examples.ptx.cases import CASES, SLOW
from examples.ptx.texts import compiled
from tools.compare_machines import ALTERATIONS, body_of, difference, main, mutants, programs

pytest.importorskip("llvmlite")

from wmma_emu.ptx.native.refusals import REFUSALS, reason_for

ON_NUMPY = {
    "spin_lock": "the kernel takes locks",
    "lock_in_a_warp": "the kernel takes locks",
    "printing": reason_for("vprintf", "a call of vprintf"),
}
"""The examples that the NumPy machine runs, and why."""


def test_a_page_lists_what_has_no_native_code_and_why():
    page = Path("docs/how-to/test-a-kernel-without-a-gpu.md").read_text(encoding="utf-8")
    rows = [line for line in page.split("\n") if line.startswith("|")]
    for refusal in REFUSALS:
        assert any(all(f"`{x}`" in row for x in refusal.names) and refusal.why in row for row in rows), refusal


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("name", [x for x in CASES if x not in SLOW])
def test_an_example_runs_on_the_native_machine(name):
    case = CASES[name]
    launch = we.ptx.Module(compiled(case.text), arch="sm_90", findings="raise")[case.kernel]
    report = launch[case.grid, case.block, case.shared](*case.draw(1))
    assert (report.machine, report.machine_reason) == (
        "numpy" if name in ON_NUMPY else "native",
        ON_NUMPY.get(name, ""),
    )


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("number", range(8))
def test_the_machines_agree_on_a_random_program(number):
    (attempt,) = islice(programs(7 + number), 1)
    assert not difference(attempt, Counter())


def test_alterations_change_one_line():
    attempts = [*islice(mutants(1, ["block_wmma"]), 30)]
    assert {x.name.split(", ")[1].split(" ")[0] for x in attempts if ", " in x.name} <= {*ALTERATIONS}
    _, lines = body_of(CASES["block_wmma"])
    assert sum("bar.sync" in x for x in lines) > 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_machines_agree_on_altered_kernels(seed):
    assert main(["mutants", "--count", "100", "--seed", str(seed)]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_machines_agree_on_random_programs(seed):
    assert main(["programs", "--count", "50", "--seed", str(seed)]) == 0
