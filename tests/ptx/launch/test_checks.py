# SPDX-License-Identifier: MIT
"""A launch runs only its enabled checks, and computes the same results."""

import re

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.planted.table import PLANTED
from tests.ptx.texts_of_kernels import launch, put
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.findings import CHECKS, KINDS, SEVERITIES

ONE_OF_EACH = {x.kind: x for x in reversed(PLANTED.values())}


def report_of(bug, **options):
    module = we.ptx.Module(bug.ptx(False), arch="sm_90", findings="report")
    return module[bug.kernel][bug.grid, bug.block, bug.shared](*bug.arguments(), **options)


def test_every_kind_has_a_severity_a_reason_and_a_check():
    for kind, row in KINDS.items():
        assert row.severity in SEVERITIES and row.reason and row.check in {"", *CHECKS}, kind


@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_a_disabled_check_finds_nothing_and_does_not_affect_the_others(kind):
    bug, check = ONE_OF_EACH[kind], KINDS[kind].check
    assert [x.kind for x in report_of(bug, checks=set(CHECKS) - {check}).findings] == ([] if check else [kind])
    assert kind in [x.kind for x in report_of(bug, checks=(check,) if check else ()).findings]


def test_without_checks_an_access_out_of_bounds_is_still_not_performed():
    x = np.arange(8, dtype=np.int32)
    report = launch("add.u64 %rd1, %rd1, 16;" + put("7"), x[:4], block=1, checks=())
    assert not report.findings and x.tolist() == list(range(8))


def test_a_module_has_checks_that_a_launch_may_change():
    bug = PLANTED["reversed"]
    module = we.ptx.Module(bug.ptx(False), arch="sm_90", findings="report", checks=["memory"])
    kernel = module[bug.kernel][bug.grid, bug.block, bug.shared]
    assert not kernel(*bug.arguments()).findings
    assert kernel(*bug.arguments(), checks=tuple(CHECKS)).findings


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("races", "checks='races' is not a tuple of names; write checks=('races',)"),
        (("race",), "checks='race' is not a check; did you mean 'races'? The checks are memory, undefined"),
        ((1,), "checks=1 is not a check; the checks are memory, undefined"),
        (None, "checks=None is not a tuple of names; () disables every check"),
    ],
)
def test_an_invalid_check_is_rejected(given, said):
    pattern = re.escape(said).replace(re.escape(".*"), ".*")
    with pytest.raises(UnsupportedInstructionError, match=pattern):
        launch("ret;", checks=given)


def test_a_report_lists_the_disabled_checks():
    bug = PLANTED["reversed"]
    kernel = we.ptx.Module(bug.ptx(False), arch="sm_90", findings="report")[bug.kernel][bug.grid, bug.block]
    everything = kernel(*bug.arguments())
    assert everything.not_checked == () and "not looked for" not in str(everything)
    nothing = kernel(*bug.arguments(), checks=())
    assert nothing.not_checked == tuple(CHECKS) and not nothing.findings
    assert "\nnot looked for: memory, undefined, races, synchronisation\nfindings: none\n" in str(nothing)


def test_an_error_that_summarises_a_report_lists_the_disabled_checks():
    bug = PLANTED["reversed"]
    kernel = we.ptx.Module(bug.ptx(False), arch="sm_90", findings="raise")[bug.kernel][bug.grid, bug.block]
    with pytest.raises(we.errors.KernelFindingsError, match=r"\nnot looked for: memory, undefined\Z"):
        kernel(*bug.arguments(), checks=("races", "synchronisation"))
    with pytest.raises(we.errors.KernelFindingsError) as error:
        kernel(*bug.arguments())
    assert "not looked for" not in str(error.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"checks": ("race",)}, {"fill": "noughts"}, {"findings": "ignore"}, {"max_steps": 0}, {"silence": "race"},
        {"fuse": 1},
    ],
)  # fmt: skip
def test_an_invalid_option_is_an_option_error_and_a_value_error(wrong):
    with pytest.raises(we.errors.OptionError) as error:
        launch("ret;", **wrong)
    assert isinstance(error.value, ValueError) and isinstance(error.value, UnsupportedInstructionError)


@pytest.mark.parametrize(("grid", "block"), [(0, 1), (1, 1025), ("x", 1), (1, (1, 1, 65))])
def test_an_invalid_grid_or_block_is_an_option_error(grid, block):
    with pytest.raises(we.errors.OptionError):
        launch("ret;", grid=grid, block=block)
