# SPDX-License-Identifier: MIT
"""Sequences of operations on an mbarrier give the recorded words, states and predicates."""

from pathlib import Path

import numpy as np
import pytest

from tools import barrier_probe_cases
from wmma_emu.ptx import Module

NOTHING = 2**64 - 1
SLOT = barrier_probe_cases.OPERATION_SLOTS
READ = barrier_probe_cases.SLOTS - barrier_probe_cases.READ_SLOTS

IN_FLIGHT = ("bulk", "cp.async.arrive")
"""Operations after which a copy may be in flight, so that the word depends on time."""


def recorded():
    """Return the cases: for each, the word, the state, the predicate and the waits after each operation."""
    found: dict[str, list[tuple]] = {}
    case = ""
    lines = (Path(__file__).parent / "data" / "mbarriers.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line.startswith("  "):
            fields = [x.strip() for x in line.split("|")]
            found[case].append((fields[0], *(None if x == "-" else int(x, 0) for x in fields[1:4]), fields[4]))
        elif not line.startswith("#"):
            case = line
            found[case] = []
    return found


RECORDED = recorded()


def emulated(launch):
    """Return what the launch records, and the kinds of its findings."""
    out = np.full((32, barrier_probe_cases.SLOTS), NOTHING, np.uint64)
    module = Module(barrier_probe_cases.module_text([launch]), arch="sm_90a", findings="report")
    report = module[launch.kernel][1, 32](np.arange(4096, dtype=np.uint64), out)
    return [int(x) for x in out[0]], {x.kind for x in report.findings}


@pytest.mark.vectors
@pytest.mark.sweep(keep=1 / 10)
@pytest.mark.parametrize("case", RECORDED)
def test_the_operations_of_a_case_give_the_recorded_words(case):
    launches = {(x.reading, len(x.operations)): x for x in barrier_probe_cases.launches(case)}
    for i, (operation, word, state, predicate, waits) in enumerate(RECORDED[case]):
        if operation.startswith(IN_FLIGHT):
            continue
        written, _ = emulated(launches["inval", i + 1])
        assert word in (None, written[READ]), operation
        assert state in (None, written[SLOT * i] >> 32), operation
        assert predicate in (None, written[SLOT * i + 1]), operation
        if waits != "-":
            written, findings = emulated(launches["waits", i + 1])
            if operation == "inval":  # PTX defines no wait for it: an error, and no bits
                assert findings, operation
                continue
            assert waits == "".join(str(x) for x in written[READ : READ + 2]), operation
