# SPDX-License-Identifier: MIT
"""The pages for beginners: pytest's output for the first kernel equals the output on the page."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/start/test-a-kernel.md").read_text(encoding="utf-8")


def shown(marker):
    (found,) = re.findall(rf"<!-- {re.escape(marker)} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    return found


def pytest_in(folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "100"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_wmma_emu"]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=120).stdout


@pytest.mark.thorough
def test_the_first_kernel_fails_as_shown_and_passes_when_it_is_fixed(tmp_path):
    pytest.importorskip("nvidia", reason="NVRTC is not installed")
    for name in ("scale.cu", "test_scale.py"):
        (tmp_path / name).write_text(shown(f"file: {name}"), encoding="utf-8")
    assert shown("output: scale") in pytest_in(tmp_path)
    source = (tmp_path / "scale.cu").read_text(encoding="utf-8")
    assert "`<` instead of `<=`" in PAGE and source.count("<=") == 1
    (tmp_path / "scale.cu").write_text(source.replace("<=", "<"), encoding="utf-8")
    assert "1 passed" in pytest_in(tmp_path)
