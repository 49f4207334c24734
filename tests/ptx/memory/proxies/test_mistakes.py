# SPDX-License-Identifier: MIT
"""Every mistake is found at its line and alone, in several orders of the warps; repaired kernels have no findings."""

from collections import Counter

import pytest

from tests.ptx.memory.proxies.public_rows import DEADLOCKS, OF_BARRIERS, PUBLIC
from tests.ptx.memory.proxies.right_rows import RIGHT
from tests.ptx.memory.proxies.rows import ROWS
from wmma_emu.ptx.findings import KINDS

ORDERS = (None, 1)


def found(kernel, schedule=None):
    return [(x.kind, x.line) for x in kernel.launch(fixed=False, schedule=schedule).findings]


def require_right(kernel, schedule=None):
    report = kernel.launch(fixed=True, schedule=schedule)
    assert not report.findings, "\n".join(map(str, report.findings))
    assert report.completed


@pytest.mark.parametrize("schedule", ORDERS)
@pytest.mark.parametrize("name", [*ROWS, *PUBLIC])
def test_a_mistake_is_found_at_its_line_and_nothing_else(name, schedule):
    kernel = {**ROWS, **PUBLIC}[name]
    assert found(kernel, schedule) == [(kernel.kind, kernel.line())]


@pytest.mark.parametrize("schedule", ORDERS)
@pytest.mark.parametrize("name", [*ROWS, *PUBLIC, *DEADLOCKS])
def test_a_repaired_kernel_has_no_finding(name, schedule):
    require_right({**ROWS, **PUBLIC, **DEADLOCKS}[name], schedule)


@pytest.mark.parametrize("name", [x for x, kernel in {**ROWS, **PUBLIC}.items() if kernel.words])
def test_a_message_says_what_is_missing(name):
    kernel = {**ROWS, **PUBLIC}[name]
    (finding,) = kernel.launch(fixed=False).findings
    assert kernel.words in finding.sightings[0].message


@pytest.mark.parametrize(("kind", "words"), [
    ("missing proxy fence", "fence.proxy.async"), ("omitted proxy fence", "fence.proxy.async"),
    ("stale tensor map", "fence.proxy.tensormap"), ("copy by several lanes", "elect.sync"), ("missing wait", "wait"),
    ("copy in flight at the end", "cp.async.bulk.wait_group.read"), ("load in flight at the end", "mbarrier.try_wait"),
])  # fmt: skip
def test_a_report_names_the_fix(kind, words):
    for kernel in (x for x in {**ROWS, **PUBLIC}.values() if x.kind == kind):
        (finding,) = kernel.launch(fixed=False).findings
        assert words in finding.fix, str(finding)


def test_there_are_four_mistakes_of_each_kind():
    kinds = Counter(x.kind for x in ROWS.values())
    assert kinds.keys() <= KINDS.keys()
    assert {kind for kind, count in kinds.items() if count < 4} <= {"illegal operand", "misaligned"}  # PLACES has both


@pytest.mark.parametrize("schedule", ORDERS)
@pytest.mark.parametrize("name", RIGHT)
def test_what_libraries_do_is_not_a_finding(name, schedule):
    require_right(RIGHT[name], schedule)


@pytest.mark.parametrize("name", DEADLOCKS)
def test_a_wrong_arrival_phase_or_count_is_a_deadlock(name):
    kinds = [x.kind for x in DEADLOCKS[name].launch(fixed=False).findings]
    assert kinds == (["wrong parity", "deadlock"] if name.endswith("a wrong phase") else ["deadlock"])


@pytest.mark.parametrize("name", OF_BARRIERS)
def test_a_fence_after_the_initialisation_is_not_needed_within_a_block(name):
    assert found(OF_BARRIERS[name]) == []
    require_right(OF_BARRIERS[name])
