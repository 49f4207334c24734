# SPDX-License-Identifier: MIT
"""Every bug that is planted in a Python kernel is found, at its line and as what it is; repaired, nothing is found."""

import pytest

import wmma_emu as we
from tests.kernels.planted import barriers, copies, lanes, places, races, values  # noqa: F401 - they fill the table
from tests.kernels.planted.planted import PLANTED
from wmma_emu.ptx import KINDS

LESSER = {
    "race": {"race within a warp", "lanes store to one place"},
    "wrong parity": {"missing wait"},
}  # fmt: skip
"""What several warps race for, lanes of one warp may race for too, some of them in one instruction. A thread that waits
for the wrong phase reads too early.
"""


def launch(bug, *, fixed):
    kernel = we.kernel(bug.function, findings="report")
    return kernel[bug.grid, bug.block](*bug.arguments(), fixed=fixed)


def report_of(bug):
    """The report of a launch with the bug, or of the error that ends it."""
    if bug.error is None:
        return launch(bug, fixed=False)
    with pytest.raises(bug.error) as caught:
        launch(bug, fixed=False)
    return caught.value.report


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_found_at_its_line(name):
    bug = PLANTED[name]
    report = report_of(bug)
    found = [x for x in report.findings if x.kind == bug.kind]
    assert found, f"no {bug.kind} is found\n{report}"
    assert {x.severity for x in found} == {bug.severity}
    for finding in (x for x in report.findings if x.severity != "note" or x in found):
        assert finding.kind in {bug.kind, *LESSER.get(bug.kind, ())}, str(finding)
        assert {x.number for x in finding.sides} <= bug.marked_lines(), str(finding)
        assert {x.file for x in finding.sides} == {bug.function.__code__.co_filename}
        assert finding.sides[0].quote


@pytest.mark.parametrize("name", PLANTED)
def test_nothing_is_found_in_the_repaired_kernel(name):
    report = launch(PLANTED[name], fixed=True)
    assert report.findings == () and report.completed


def test_the_planted_bugs_are_of_every_kind_that_a_python_kernel_can_have():
    other = {
        "partial warp", "illegal metadata",  # no lanes that go alone, no metadata in memory
        "stale tensor map", "copy by several lanes",  # maps do not change, one lane issues each copy
        "race of an unused value", "partly uninitialised",  # how a value is used is known to NumPy only
    }  # fmt: skip
    assert {x.kind for x in PLANTED.values()} == set(KINDS) - other
