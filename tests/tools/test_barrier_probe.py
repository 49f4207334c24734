# SPDX-License-Identifier: MIT
"""The probe of mbarriers: its launches are well formed, and it continues after a launch that fails."""

import numpy as np
import pytest

from tools import barrier_probe, barrier_probe_cases, elect_probe_cases
from wmma_emu.ptx import Module

CASES = list(barrier_probe_cases.cases())


def test_launches_of_a_case_have_different_names_and_begin_with_the_shortest():
    for case in CASES:
        launches = barrier_probe_cases.launches(case)
        assert len({x.kernel for x in launches}) == len(launches)
        assert [len(x.operations) for x in launches] == sorted(len(x.operations) for x in launches)
        assert launches[0].reading == "plain"
        assert max(len(x.operations) for x in launches) <= barrier_probe_cases.MOST_OPERATIONS


def test_every_mask_has_a_lane():
    assert elect_probe_cases.masks().all()


@pytest.mark.parametrize("case", ["counts", "bulk", "remote", "states", "cp_async_inc", "warp_expects"])
def test_a_launch_records_each_result_and_the_word(case):
    launch = next(x for x in reversed(barrier_probe_cases.launches(case)) if x.reading == "plain")
    text = barrier_probe_cases.module_text([launch])
    out = np.full((32, barrier_probe_cases.SLOTS), 2**64 - 1, np.uint64)
    report = Module(text, arch="sm_90a", findings="report")[launch.kernel][1, 32](np.arange(4096, dtype=np.uint64), out)
    # The probe reads the word of the mbarrier as ordinary memory, and does not wait for its copies.
    expected = {
        "over-arrival", "race within a warp", "missing proxy fence", "mbarrier not initialised",
        "load in flight at the end",
    }  # fmt: skip
    assert report.completed and not {x.kind for x in report.findings} - expected
    size, first_read = barrier_probe_cases.OPERATION_SLOTS, barrier_probe_cases.SLOTS - barrier_probe_cases.READ_SLOTS
    for i, operation in enumerate(launch.operations):
        has_state = operation.split(":")[-1].split(".")[0].split()[0] in ("arrive", "arrive_drop")
        assert (out[0, size * i] != 2**64 - 1) == has_state
    assert out[0, first_read] != 2**64 - 1


def test_a_case_continues_after_a_reading_that_fails_and_ends_after_operations_that_fail(monkeypatch):
    names = barrier_probe.names_of("drop")
    fails = {"drop/2/late", "drop/3/plain"}

    def answer(case, first):
        end = next((i for i in range(first, len(names)) if names[i] in fails), len(names) - 1)
        return [(x, "boom" if x in fails else np.zeros(0, np.uint64)) for x in names[first : end + 1]]

    monkeypatch.setattr(barrier_probe, "_answers_of_a_process", answer)
    answers = dict(barrier_probe.answers_of("drop"))
    assert [x for x, found in answers.items() if isinstance(found, str)] == ["drop/2/late", "drop/3/plain"]
    assert list(answers) == names[: names.index("drop/3/plain") + 1]
