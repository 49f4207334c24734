# SPDX-License-Identifier: MIT
"""The page on property tests: its test fails as it shows with each mistake, and passes without them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ml_dtypes import float8_e4m3fn

from wmma_emu.testing import assert_bits_equal, strategies

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/property-test-a-quantised-gemm.md").read_text(encoding="utf-8")


def shown(marker):
    (found,) = re.findall(rf"<!-- {re.escape(marker)} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    return found


def mended(source, marker):
    before, after = shown(marker).splitlines()
    assert before[0] == "-" and after[0] == "+" and source.count(before[1:]) == 1
    return source.replace(before[1:], after[1:])


def pytest_in(folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "test_fp8_linear.py"]
    command += ["-p", "_hypothesis_pytestplugin", "--hypothesis-seed=0"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=300)
    return done.stdout


@pytest.fixture
def folder(tmp_path):
    for name in ("fp8_linear.py", "test_fp8_linear.py"):
        (tmp_path / name).write_text(shown(f"file: {name}"), encoding="utf-8")
    return tmp_path


def failure(out):
    """What pytest shows of the failure, without its margin."""
    return "\n".join(line[1:].removeprefix("       ") for line in out.splitlines() if line.startswith("E"))


@pytest.mark.property
@pytest.mark.slow
def test_the_test_of_the_page_finds_both_mistakes_and_passes_without_them(folder):
    source = shown("file: fp8_linear.py")
    out = pytest_in(folder)
    assert "1 failed" in out
    found = failure(out)
    # What is missing is a whole product: the result is zero, and far from the expected one.
    assert re.search(r"^\s*\[\d+, \d+\]\s+0x00000000  0\.0 ", found, re.MULTILINE)
    assert "tiles=[<mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32: " in found and "x_scales=array(" in found

    source = mended(source, "fix: the tail")
    (folder / "fp8_linear.py").write_text(source, encoding="utf-8")
    out = pytest_in(folder)
    assert "1 failed" in out
    assert re.search(r"^ulps: .*1", failure(out), re.MULTILINE)
    for line in ("index", "ulps: 1: 1", "x_scales=array([1.5014954"):
        assert line in shown("output: the tail fixed")

    source = mended(source, "fix: the scales")
    (folder / "fp8_linear.py").write_text(source, encoding="utf-8")
    assert shown("output: both fixed").strip() in pytest_in(folder)


def test_the_failures_that_the_page_shows_follow_from_its_numbers():
    """The shrunk examples of the page, put in by hand, give the messages of the page."""
    for marker, mend, a, scales in (
        ("output: as written", "", 0.125, (1, 1)),
        ("output: the tail fixed", "fix: the tail", 0.1875, (1.5014954, 1.7070312)),
    ):
        source = shown("file: fp8_linear.py")
        names = {}
        exec(mended(source, mend) if mend else source, names)
        x, w = np.zeros((16, 64), float8_e4m3fn), np.zeros((64, 8), float8_e4m3fn)
        x[0, 32], w[32, 0] = a, -4
        x_scale, w_scale = (np.float32([scale, 0]) for scale in scales)
        expected = np.zeros((16, 8), np.float32)
        expected[0, 0] = np.float32(a * -4) * x_scale[0] * w_scale[0]
        with pytest.raises(AssertionError) as caught:
            assert_bits_equal(names["linear"](x, w, x_scale, w_scale), expected)
        message, _, _ = shown(marker).removeprefix("AssertionError: ").partition("\nFailing test case")
        assert str(caught.value) == message


def test_the_page_names_every_strategy():
    section = PAGE.partition("## Strategies")[2]
    for name in strategies.__all__:
        if name[0].islower():
            assert f"`{name}(" in section
