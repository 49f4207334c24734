# SPDX-License-Identifier: MIT
"""Rules of ``findings=``: which findings fail, warn or are only in the report, and which rules are invalid."""

import pickle
import warnings

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import SHIFT
from wmma_emu.errors import KernelFindingsError, KernelFindingsWarning, OptionError
from wmma_emu.ptx.launch.actions import Actions
from wmma_emu.ptx.launch.options import LaunchOptions

RACE = SHIFT.replace("BARRIER", "")
IN_A_WARP = RACE.replace("xor.b32 %r5, %r4, 128", "xor.b32 %r5, %r4, 4")


class Found:
    def __init__(self, kind, severity):
        self.kind, self.severity = kind, severity


ERROR, WARNING = Found("race", "error"), Found("race within a warp", "warning")
NOTE = Found("race of equal bytes", "note")


@pytest.mark.parametrize(("given", "expected"), [
    ("raise", "error warn off"), ("warn", "warn warn off"), ("report", "off off off"),
    ([], "error warn off"), (["error"], "error error off"), (["warn"], "warn warn off"), (["off"], "off off off"),
    (["warn:note", "off"], "off off off"), (["error:note"], "error warn error"),
    (["warn:race"], "warn warn off"), (["off", "error:race"], "error off off"), (["error:race", "off"], "off off off"),
    (["error:warning", "off:race within a warp"], "error off off"), ([" warn : error "], "warn warn off"),
    ({"race": "off", "note": "warn"}, "off warn warn"), ({"error": "off", "race": "warn"}, "warn warn off"),
])  # fmt: skip
def test_the_last_rule_that_applies_to_a_finding_decides(given, expected):
    actions = Actions(LaunchOptions(findings=given).findings)
    assert " ".join(actions.of(x) for x in (ERROR, WARNING, NOTE)) == expected


@pytest.mark.parametrize(("given", "said"), [
    (["warm:race"],
     "'warm:race' is not a valid rule: unknown action 'warm'; did you mean 'warn'? Actions are error, warn, off"),
    (["warn:rase"],
     "unknown kind or severity 'rase'; did you mean 'race'? Severities and kinds are error, warning, note, out of"),
    (["warn:"], "unknown kind or severity ''; severities and kinds are error, warning, note"),
    ({"race": "ignore"}, "'race': 'ignore' is not a valid rule: unknown action 'ignore'; actions are error, warn, off"),
    ([7], "7 is not a valid rule: unknown action 7; actions are error, warn, off"),
    ("warn:race", "findings='warn:race' is not 'warn', 'raise' or 'report', nor rules, such as ['warn:race'"),
    (7, "nor rules, such as ['warn:race', 'off:deadlock'] or {'race': 'warn'}"),
])  # fmt: skip
def test_an_invalid_rule_is_rejected_with_the_nearest_name(given, said):
    with pytest.raises(OptionError) as caught:
        LaunchOptions(findings=given)
    assert said in str(caught.value)


def launch(text, findings, block=128):
    x, y = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    return we.ptx.Module(text)["shift"][1, block](x, y, findings=findings), y


def test_an_error_that_only_warns_lets_the_arrays_be_updated():
    with pytest.warns(KernelFindingsWarning, match="shift: 1 error") as caught:
        report, y = launch(RACE, ["warn:race"])
    assert y.any() and len(report.errors) == 1
    assert caught[0].message.findings == (report.errors[0].title,) and caught[0].filename == __file__


def test_a_warning_that_is_an_error_leaves_the_arrays_alone():
    x, y = np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32)
    with pytest.raises(KernelFindingsError, match="shift: 1 warning") as caught:
        we.ptx.Module(IN_A_WARP)["shift"][1, 32](x, y, findings={"race within a warp": "error"})
    assert not y.any() and [x.kind for x in caught.value.findings] == ["race within a warp"]


def test_findings_that_are_off_stay_in_the_report():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report, y = launch(RACE, ["off:race"])
    assert [x.kind for x in report.findings] == ["race"] and y.any()


def test_a_function_for_rules_is_called_at_each_launch():
    given = [["off"], "raise"]
    module = we.ptx.Module(RACE, findings=lambda: given.pop(0))
    arrays = np.zeros(128, np.uint32), np.zeros(128, np.uint32)
    assert module["shift"][1, 128](*arrays).errors
    with pytest.raises(KernelFindingsError):
        module["shift"][1, 128](*arrays)


def test_an_error_is_formatted_for_any_width_and_can_be_pickled():
    with pytest.raises(KernelFindingsError) as caught:
        launch(RACE, "raise")
    error = caught.value
    assert error.to_text(100) == str(error) and max(map(len, error.to_text(60).splitlines())) <= 60
    warning = pickle.loads(pickle.dumps(KernelFindingsWarning("text", ["a race"])))
    assert (str(warning), warning.findings) == ("text", ("a race",))


def test_a_watch_function_receives_each_launch_before_it_fails():
    seen = []
    with pytest.raises(KernelFindingsError) as caught:
        we.ptx.Module(RACE, findings="raise", watch=seen.append)["shift"][1, 128](
            np.zeros(128, np.uint32), np.zeros(128, np.uint32)
        )
    (launched,) = seen
    assert launched.report is caught.value.report and launched.failing == caught.value.findings
    assert launched.warned == () and tuple(launched.launch.block) == (128, 1, 1)


def test_a_launch_is_observed_with_the_memory_before_it_and_after_it():
    seen = []

    def observe(launching):
        _, taken = (x.value for x in launching.arguments)
        before = taken.copy()
        return lambda report: seen.append((launching.launch.grid.x, before.tolist(), taken.tolist(), report.kernel))

    x, y = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    we.ptx.Module(RACE, findings="report", observe=observe)["shift"][1, 128](x, y)
    ((grid, before, after, kernel),) = seen
    assert (grid, before, kernel) == (1, [0] * 128, "shift") and after == y.tolist() != before


def test_a_launch_that_fails_is_observed_before_it_only():
    seen = []
    module = we.ptx.Module(RACE, findings="raise", observe=lambda launching: seen.append("before") or seen.append)
    with pytest.raises(KernelFindingsError):
        module["shift"][1, 128](np.zeros(128, np.uint32), np.zeros(128, np.uint32))
    assert seen == ["before"]
