# SPDX-License-Identifier: MIT
"""examples/profiling: the results are right, and its README shows the counters."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples/profiling"

pytestmark = pytest.mark.thorough


def test_the_ladder_prints_what_its_readme_shows():
    pytest.importorskip("nvidia", reason="NVRTC is not installed")
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"<!-- output: profile_ladder.py -->\n```text\n(.*?)```", page, re.DOTALL)
    command = [sys.executable, str(FOLDER / "profile_ladder.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown


def test_the_transpositions_have_the_conflicts_that_their_comments_say():
    pytest.importorskip("nvidia", reason="NVRTC is not installed")
    module = we.ptx.Module.from_file(FOLDER / "transpositions.cu", arch="h100")
    x = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    conflicts = {}
    for kernel in ("scattered", "conflicting", "padded", "swizzled"):
        y = np.zeros_like(x)
        total = module[kernel][(2, 2), (32, 8)](x, y, 64, profile=True).profile.total
        assert np.array_equal(y, x.T)
        conflicts[kernel] = total.bank_conflicts
    assert conflicts == {"scattered": 0, "conflicting": 31 * 128, "padded": 0, "swizzled": 0}
