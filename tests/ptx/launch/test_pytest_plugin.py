# SPDX-License-Identifier: MIT
"""The plugin in a test run of its own: kernels pass, a race is caught, orders are compared."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ptx.texts_of_launches import ORDER, SCALE, SHIFT

ROOT = Path(__file__).parents[3]

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


def run(folder, *options):
    (folder / "test_kernels.py").write_text(TESTS, encoding="utf-8")
    plugin = ["-p", "pytest_wmma_emu"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=120)
    return done.stdout


@pytest.mark.parametrize(
    ("options", "failed"), [((), {"test_race"}), (("--ptx-schedules=3",), {"test_race", "test_order"})]
)
def test_the_fixture_catches_a_race_and_its_option_an_order(tmp_path, options, failed):
    out = run(tmp_path, *options)
    lines = [x for x in out.splitlines() if x.startswith("FAILED")]
    assert {x.split("::")[1].split(" ")[0] for x in lines} == failed
    assert "KernelFindingsError: shift: " in out and "race: line" in out
    assert "wmma_emu/ptx" not in out  # the line of the test, not of the emulator
    if "test_order" in failed:
        assert "ScheduleDependenceError: the order of the warps decides what order computes" in out


def test_the_plugin_imports_nothing_until_it_is_used():
    code = "import sys, pytest_wmma_emu; print(sorted({'numpy', 'wmma_emu'} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    assert done.stdout == "[]\n", done.stderr
