# SPDX-License-Identifier: MIT
"""Comparisons of the machines: what counts as a difference, altered kernels, workers, and the page."""

import json
from itertools import islice

import numpy as np
import pytest

import wmma_emu as we
from tools.compare_machines.__main__ import main
from tools.compare_machines.alterations import ALTERATIONS
from tools.compare_machines.mutants import ORIGINALS, mutant, mutants
from tools.compare_machines.watch import Agreement, watched

pytest.importorskip("llvmlite")
run_module = pytest.importorskip("wmma_emu.ptx.native.run")
Flag = pytest.importorskip("wmma_emu.ptx.native.context").Flag


def rows_of(attempt):
    rows = []
    with watched(rows.append, attempt.name):
        attempt.perform()
    return rows


ADD = """.version 8.0 .target sm_80 .address_size 64 .visible .entry add(.param .u64 x) { .reg .b32 %r<3>; .reg .b64 %d;
ld.param.u64 %d, [x]; ld.global.u32 %r1, [%d]; add.u32 %r2, %r1, 1; st.global.u32 [%d+OFFSET], %r2; ret; }"""


def outcome_of(monkeypatch, offset, change=lambda _, outcome: outcome):
    """Launch a kernel; `change` makes the outcome of the native machine wrong."""
    rows, run = [], run_module.run
    kernel = we.ptx.Module(ADD.replace("OFFSET", str(offset)), findings="report")["add"]
    with monkeypatch.context() as patched, watched(rows.append, "here"):
        patched.setattr(run_module, "run", lambda launching, *more: change(launching, run(launching, *more)))
        kernel[1, 1](np.zeros(2, np.uint32))
    return [(x.outcome, x.why) for x in rows]


def test_equal_launches_are_equal_and_a_finding_is_on_both(monkeypatch):
    assert outcome_of(monkeypatch, 4) == [(Agreement.EQUAL, "")]
    assert outcome_of(monkeypatch, 8) == [(Agreement.FOUND, "an access may be out of bounds")]


def test_a_launch_that_runs_twice_without_a_finding_is_noted(monkeypatch):
    found = outcome_of(monkeypatch, 4, lambda _, outcome: outcome._replace(flags=Flag.RACE, counts=None))
    assert found == [(Agreement.TWICE, "there may be a race")]


def test_wrong_bits_and_a_missing_flag_are_differences(monkeypatch):
    def with_other_bits(launching, outcome):
        launching.heap.view(4)[launching.heap.mapped[0].lo // 4] += 1
        counts.append(outcome.counts)
        return outcome

    counts = []
    ((outcome, why),) = outcome_of(monkeypatch, 4, with_other_bits)
    assert (outcome, why) == (Agreement.DIFFERENT, "the bits of argument 0 (x) of add differ in 1 bytes from byte 0")
    found = outcome_of(monkeypatch, 8, lambda _, outcome: outcome._replace(flags=Flag(0), counts=counts[0]))
    assert found == [(Agreement.DIFFERENT, "findings: none; NumPy: out of bounds")]


def test_a_mutant_is_made_again_by_its_name():
    attempts = [*islice(mutants(1), 40)]
    assert {x.name.split(" ")[1] for x in attempts} <= {*ALTERATIONS, "shortened", "reshaped"}
    assert len({x.name.split(" ")[0] for x in attempts}) > 20
    assert len(ORIGINALS) > 300
    assert mutant("block_wmma without_order 1 0") is None
    doubled = next(x for x in attempts if " doubled " in x.name)
    assert [x.outcome for x in rows_of(mutant(doubled.name))] == [x.outcome for x in rows_of(doubled)]


@pytest.mark.thorough
def test_workers_divide_the_launches_and_one_that_dies_is_a_difference(tmp_path, capsys, monkeypatch):
    names = ["votes", "bit_exercise", "spin_lock"]
    assert main(["examples", *names, "--workers", "2", "--json", str(tmp_path / "a")]) == 0
    written = json.loads((tmp_path / "a").read_text())
    assert sum(written["outcomes"].values()) == len(names)
    (tmp_path / "machines_dies.py").write_text("import os; os._exit(3)")
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["module", "machines_dies"]) == 1
    assert "the process ended with 3" in capsys.readouterr().out
