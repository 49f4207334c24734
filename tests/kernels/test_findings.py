# SPDX-License-Identifier: MIT
"""Findings of Python kernels as warnings, errors and reports; and the choice of checks."""

import json

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu import watching
from wmma_emu.errors import DivergenceError, KernelFindingsError, KernelFindingsWarning, OptionError, OutOfBoundsError
from wmma_emu.kernels import checked_launch
from wmma_emu.ptx import CHECKS, Finding, Report


def racing(t, x, out):
    s = t.shared((2, 32), np.float32)
    i = t.threadIdx.x
    s[i // 32, i % 32] = x[i]
    out[i] = s[1 - i // 32, i % 32]


def ordered(t, x, out):
    s = t.shared((2, 32), np.float32)
    i = t.threadIdx.x
    s[i // 32, i % 32] = x[i]
    yield t.syncthreads()
    out[i] = s[1 - i // 32, i % 32]


def arguments():
    return np.arange(64, dtype=np.float32), np.zeros(64, np.float32)


def test_a_launch_returns_a_report_of_the_same_type_as_a_launch_of_ptx():
    report = launch(racing)
    (finding,) = report.findings
    assert type(report) is Report and type(finding) is Finding
    assert (finding.kind, finding.variable, finding.element) == ("race", "s", "s[1, 0]")
    assert report.version == we.__version__
    first = racing.__code__.co_firstlineno
    assert [x.number - first for x in finding.sides] == [3, 4]
    assert [x.role for x in finding.sides] == ["writes", "reads"]
    assert "yield t.syncthreads()" in finding.fix
    assert "PTX" not in finding.to_text(verbose=True) and "__syncthreads" not in str(finding)
    assert (report.kernel, report.arch, report.grid, report.block) == ("racing", "sm_90", (1, 1, 1), (64, 1, 1))
    assert json.loads(report.to_json())["findings"][0]["kind"] == "race"
    assert report.to_sarif()["runs"][0]["results"][0]["ruleId"]


def launch(function, **options):
    return we.kernel(**{"findings": "report", **options})(function)[1, 64](*arguments())


def test_a_finding_warns_where_nothing_else_is_said_at_the_line_of_the_launch():
    with pytest.warns(KernelFindingsWarning, match="race on s") as caught:
        we.kernel(racing)[1, 64](*arguments())
    assert caught[0].filename == __file__


def test_findings_that_are_errors_raise_after_the_launch():
    x, out = arguments()
    with pytest.raises(KernelFindingsError, match="race on s") as caught:
        we.kernel(findings="raise")(racing)[1, 64](x, out)
    assert out[:32].any() and [x.kind for x in caught.value.findings] == ["race"]


def test_a_correct_kernel_has_no_findings():
    assert we.kernel(ordered)[1, 64](*arguments()).findings == ()


def test_checks_that_are_off_find_nothing_and_are_named():
    report = launch(racing, checks=())
    assert report.findings == () and set(report.not_checked) == set(CHECKS)
    assert [x.kind for x in launch(racing, checks=("races",)).findings] == ["race"]
    assert launch(racing, checks=("undefined",)).findings == ()


def test_an_unknown_check_or_rule_is_refused_where_the_kernel_is_made():
    for options in ({"checks": ("rases",)}, {"findings": "ignore"}):
        with pytest.raises(OptionError):
            we.kernel(**options)


def test_a_silence_at_a_line_silences_it():
    line = racing.__code__.co_firstlineno + 4
    silence = we.ptx.Silence("race", f"test_findings.py:{line}", "it is the point of the test")
    report = launch(racing, silence=[silence])
    assert report.findings == () and [x.finding.kind for x in report.silenced] == ["race"]


def test_an_error_that_ends_a_launch_has_its_finding_and_those_before_it():
    @we.kernel
    def fails(t, x, out):
        i = t.threadIdx.x
        out[i // 2] = x[i]
        yield t.syncthreads()
        x[i + 1] = 0

    with pytest.raises(OutOfBoundsError) as caught:
        fails[1, 64](*arguments())
    report = caught.value.report
    assert {x.kind for x in report.findings} == {"lanes store to one place", "out of bounds"}
    assert not report.completed


def test_an_error_other_than_a_finding_has_no_report():
    @we.kernel
    def fails(t):
        if t.lane > 3:
            pass

    with pytest.raises(DivergenceError) as caught:
        fails[1, 32]()
    assert caught.value.report is None


def test_blocks_race_across_the_pieces_in_which_a_long_launch_is_checked(monkeypatch):
    monkeypatch.setattr(checked_launch, "_MOST_TRACED", 2)
    out = np.zeros(64, np.float32)

    @we.kernel(findings="report")
    def overlap(t, x, out):
        i = t.blockIdx.x * 16 + t.lane
        v = x[t.lane]
        yield t.syncthreads()
        out[np.minimum(i, 63)] = v

    report = overlap[3, 32](np.arange(32, dtype=np.float32), out)
    assert "race" in {x.kind for x in report.errors}
    assert launch(ordered).findings == ()


def test_a_kernel_launched_by_another_kernel_has_separate_findings():
    reports = []
    inner = we.kernel(findings="report")(racing)

    @we.kernel
    def outer(t, x, out):
        reports.append(inner[1, 64](x, out))
        yield t.syncthreads()
        out[t.lane] = x[t.lane]

    assert outer[1, 32](*arguments()).findings == ()
    assert [x.kind for x in reports[0].findings] == ["race"]
    assert watching.watching.watcher is None


def test_elements_are_named_by_the_arrays_indices_and_arrays_by_their_parameters():
    @we.kernel(findings="report")
    def twice(t, matrices, *, result):
        result[t.lane // 2 // 4, t.lane // 2 % 4] = matrices[0, t.lane]

    report = twice[1, 32](np.arange(64, dtype=np.int16).reshape(2, 32), result=np.zeros((4, 4), np.int64))
    (finding,) = report.warnings
    assert (finding.kind, finding.element) == ("lanes store to one place", "result[0, 0]")


def test_views_with_gaps_and_arrays_that_overlap_are_checked():
    whole = np.zeros((64, 4), np.float32)

    @we.kernel(findings="report")
    def column(t, x, y):
        x[t.threadIdx.x] = 1
        y[np.maximum(63 - t.threadIdx.x, 0)] = 2

    assert column[1, 64](whole[:, 1], whole[:, 2]).findings == ()
    assert "race" in {x.kind for x in column[1, 64](whole[:, 1], whole[:, 1]).errors}
    assert whole[:, 1].tolist() == [2] * 32 + [1] * 32 and not whole[:, 0].any()


def test_what_a_kernel_writes_to_an_empty_array_is_written_for_the_next_launch():
    out = we.ptx.empty(64, np.int32)

    @we.kernel
    def fill(t, out):
        out[t.threadIdx.x] = -1

    @we.kernel
    def read(t, x, out):
        out[t.threadIdx.x] = x[t.threadIdx.x]

    fill[1, 64](out)
    assert read[1, 64](out, np.zeros(64, np.int32)).findings == ()


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float16, np.float64, np.complex64, np.complex128, "i4,f8,i4"])
def test_elements_of_any_size_are_checked(dtype):
    x = np.zeros(64, dtype)

    @we.kernel(findings="report")
    def swap(t, x):
        i = t.threadIdx.x
        v = x[63 - i]
        x[i] = v

    assert {x.kind for x in swap[1, 64](x).errors} == {"race"}


def through_a_view(s):
    s.view(np.ndarray)[...] = 0


WRITES = {
    "fill": lambda s: s.fill(-1),
    "put": lambda s: s.put(range(32), -1),
    "copyto": lambda s: np.copyto(s, -1),
    "out": lambda s: np.add(np.zeros(32, np.int32), -1, out=s),
    "slice": lambda s: s.__setitem__(slice(None), -1),
    "flat": lambda s: s.flat.__setitem__(slice(None), 0),
    "an unseen view": through_a_view,
}


@pytest.mark.parametrize("way", WRITES)
def test_shared_memory_is_written_in_whatever_way(way):
    @we.kernel(findings="report")
    def count(t, out):
        s, sums = t.shared(32, np.int32), t.shared(32, np.int32)
        WRITES[way](s)
        WRITES[way](sums)
        out[t.lane] = s[t.lane]
        np.add.at(sums, t.lane // 2, 1)

    assert count[1, 32](np.zeros(32, np.int32)).findings == ()
