# SPDX-License-Identifier: MIT
"""The plugin in a separate test run: kernels pass, a race is caught, orders are compared."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ptx.launch.asynchronous_kernels import CASES
from tests.ptx.texts_of_kernels import text_of
from tests.ptx.texts_of_launches import ORDER, SCALE, SHIFT

ROOT = Path(__file__).parents[3]

TWO_BARRIERS = text_of("setp.ge.u32 %p1, %r0, 32;\n@%p1 bra HIGH;\nbar.sync 0;\nret;\nHIGH: bar.sync 0;", 0, "")

TESTS = f'''
import numpy as np

SCALE = """{SCALE}"""
RACE = """{SHIFT.replace("BARRIER", "")}"""
ORDER = """{ORDER}"""


def test_scale(emulated_gpu):
    x = np.ones(8, np.float32)
    emulated_gpu.ptx(SCALE, "sm_80")["scale"][1, 8](x, 2.0, 8)
    assert x.tolist() == [2] * 8


def test_race(emulated_gpu):
    emulated_gpu.ptx(RACE)["shift"][1, 128](np.zeros(128, np.uint32), np.zeros(128, np.uint32))


def test_order(emulated_gpu):
    emulated_gpu.ptx(ORDER)["order"][64, 1](np.zeros(1, np.uint32), np.zeros(64, np.uint32))
'''

SEVERITIES = f'''
import numpy as np
import pytest

RACE = """{SHIFT.replace("BARRIER", "")}"""
NOTE = """{TWO_BARRIERS}"""


def arrays():
    return np.zeros(128, np.uint32), np.zeros(128, np.uint32)


@pytest.fixture(scope="module")
def shift(emulated_gpu):
    return emulated_gpu.ptx(RACE)["shift"][1, 128]


@pytest.mark.wmma_emu_silence("race", LINE, "any of the values will do")
def test_silenced_by_a_marker(shift):
    assert shift(*arrays()).silenced


@pytest.mark.wmma_emu_silence("race", LINE, "any of the values will do")
def test_stale_marker():
    pass


@pytest.mark.wmma_emu_silence("race", LINE)
def test_marker_without_a_reason(shift):
    shift(*arrays())


def test_silenced_by_the_fixture(shift, emulated_gpu):
    with emulated_gpu.silence("race", LINE, "any of the values will do"):
        assert shift(*arrays()).silenced


def test_not_silenced(shift):
    shift(*arrays())


def test_note(emulated_gpu):
    assert emulated_gpu.ptx(NOTE)["k"][1, 64]().notes


def test_warning(emulated_gpu, monkeypatch):
    from wmma_emu.ptx import findings

    several = "barriers at several instructions"
    monkeypatch.setitem(findings.KINDS, several, findings.KINDS[several]._replace(severity="warning"))
    assert emulated_gpu.ptx(NOTE)["k"][1, 64]().warnings
'''


def run(folder, *options, tests=TESTS):
    (folder / "test_kernels.py").write_text(tests, encoding="utf-8")
    plugin = ["-p", "pytest_wmma_emu"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=120)
    return done.stdout


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize(
    ("options", "failed"), [((), {"test_race"}), (("--ptx-schedules=3",), {"test_race", "test_order"})]
)
def test_the_fixture_catches_a_race_and_its_option_an_order(tmp_path, options, failed):
    out = run(tmp_path, *options)
    lines = [x for x in out.splitlines() if x.startswith("FAILED")]
    assert {x.split("::")[1].split(" ")[0] for x in lines} == failed
    assert "KernelFindingsError: shift: " in out and "error: race on tile at line " in out
    assert "wmma_emu/ptx" not in out  # the line of the test, not of the emulator
    if "test_order" in failed:
        assert "ScheduleDependenceError: the order of the warps decides what order computes" in out
        assert any("::test_order - ScheduleDependenceError: the order" in x for x in lines)


def test_errors_fail_warnings_are_shown_notes_are_hidden_and_silences_are_kept_account_of(tmp_path):
    line = 1 + next(i for i, x in enumerate(SHIFT.replace("BARRIER", "").splitlines()) if "ld.shared" in x)
    out = run(tmp_path, tests=SEVERITIES.replace("LINE", str(line)))
    failed = {x.split("::")[1].split(" ")[0] for x in out.splitlines() if x.startswith("FAILED")}
    assert failed == {"test_marker_without_a_reason", "test_not_silenced"}, out
    given = f"@pytest.mark.wmma_emu_silence('race', {line}) is not wmma_emu_silence(kind, line, reason): "
    assert "5 passed" in out and given + "missing 1 required positional argument: 'reason'" in out
    assert "During handling of" not in out
    assert "barriers at several instructions at line 17: test_kernels.py::test_warning\n" in out
    assert "KernelFindingsWarning" not in out and "1 warning, 1 kernel warning in" in out
    stale = f"this marker silenced nothing: wmma_emu_silence of race at line {line}: any of the values will do"
    assert out.count("this marker silenced nothing") == 1 and stale in out


def test_the_plugin_imports_nothing_until_it_is_used():
    code = "import sys, pytest_wmma_emu; print(sorted({'numpy', 'wmma_emu'} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    assert done.stdout == "[]\n", done.stderr


LATE = f'''
import numpy as np

TEXT = """{CASES["a reduction's result is read after its source was read"].faulty}"""


def test_late(emulated_gpu):
    x, out = np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32)
    emulated_gpu.ptx(TEXT, "sm_90a")["k"][1, 32](x, out, checks=())
'''


@pytest.mark.parametrize(("option", "passes"), [("eager", True), ("both", False)])
def test_the_option_of_the_plugin_runs_both_ways(tmp_path, option, passes):
    out = run(tmp_path, f"--ptx-asynchrony={option}", tests=LATE)
    assert ("1 passed" in out) == passes
    assert ("AsynchronyDependenceError: the time of asynchronous operations decides what k computes" in out) != passes
