# SPDX-License-Identifier: MIT
"""The page on testing kernels: its tests pass, and its race is caught with the words that it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/test-a-kernel-without-a-gpu.md").read_text(encoding="utf-8")
BARRIER = "        __syncthreads();\n"


def shown(marker):
    (found,) = re.findall(rf"<!-- {re.escape(marker)} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("triton")
    pytest.importorskip("nvidia", reason="NVRTC is not installed")
    folder = tmp_path_factory.mktemp("kernels")
    for name in ("row_sum.cu", "product.py", "test_kernels.py", "launch.py"):
        (folder / name).write_text(shown(f"file: {name}"), encoding="utf-8")
    return folder


def pytest_in(folder, *options, columns=80):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRITON_CACHE_DIR": str(folder / "cache")}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": str(columns)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_wmma_emu", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=120)
    return done.stdout


@pytest.mark.thorough
def test_its_tests_pass_in_three_orders_of_the_warps(folder):
    out = pytest_in(folder, "--ptx-schedules=3")
    assert re.sub(r" in [\d.]+s", "", out) == shown("output: three orders")


@pytest.mark.thorough
def test_its_race_is_caught_with_the_words_that_it_shows(folder):
    source = (folder / "row_sum.cu").read_text(encoding="utf-8")
    assert source.count(BARRIER) == 1
    (folder / "row_sum.cu").write_text(source.replace(BARRIER, ""), encoding="utf-8")
    try:
        out = pytest_in(folder, "-k", "row_sum and 128", columns=100)
    finally:
        (folder / "row_sum.cu").write_text(source, encoding="utf-8")
    lines = iter(out.splitlines())
    expected = shown("output: without the barrier").splitlines()
    assert [x for x in expected if not any(y.startswith(x) for y in lines)] == []  # each begins a line, in this order
    assert "1 failed" in out and "no barrier is between the two" in " ".join(x.strip("E ") for x in out.splitlines())


@pytest.mark.thorough
def test_its_launch_of_a_triton_kernel_runs(folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRITON_CACHE_DIR": str(folder / "cache")}
    subprocess.run([sys.executable, "launch.py"], cwd=folder, env=environment, timeout=120, check=True)
