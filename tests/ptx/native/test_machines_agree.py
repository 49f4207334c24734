# SPDX-License-Identifier: MIT
"""Whole launches on both machines: the examples, altered kernels, random programs."""

from itertools import islice
from pathlib import Path

import pytest

import wmma_emu as we
from examples.ptx.cases import CASES, SLOW
from examples.ptx.texts import compiled
from tools.compare_machines.__main__ import main
from tools.compare_machines.corpora import CORPORA, shares
from tools.compare_machines.watch import watched

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
    (attempt,) = islice(CORPORA["programs"](shares(1, 7 + number, (), ())[0]), 1)
    rows = []
    with watched(rows.append):
        attempt.perform()
    assert not any(x.is_difference for x in rows)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("corpus", ["mutants", "programs"])
def test_the_machines_agree(corpus, seed):
    assert main([corpus, "--count", "100", "--seed", str(seed)]) == 0
