# SPDX-License-Identifier: MIT
"""The kernel of docs/evidence/hinted-copies-2026-11-23.md: its results in the emulator and in an assembler."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from wmma_emu.ptx import Module

PAGE = (Path(__file__).parents[2] / "docs/evidence/hinted-copies-2026-11-23.md").read_text(encoding="utf-8")
TEXT = re.search(r"<!-- kernel: hinted_copies -->\n```text\n(.*?)```", PAGE, re.DOTALL)[1]


@pytest.mark.parametrize("stage", [0, 2])
def test_a_copy_with_a_cache_hint_copies_every_byte(stage):
    given, got = np.random.default_rng(stage).integers(0, 2**32, 256, dtype=np.uint32), np.zeros(256, np.uint32)
    Module(TEXT, "sm_90")["hinted_copies"][1, 32, 4096](given, got, np.uint32(stage))
    assert got.tobytes() == given.tobytes()


def test_an_assembler_takes_the_kernel(tmp_path):
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is not installed")
    (tmp_path / "kernel.ptx").write_text(TEXT, encoding="utf-8")
    command = [ptxas, "-arch=sm_90", str(tmp_path / "kernel.ptx"), "-o", str(tmp_path / "kernel.cubin")]
    assert subprocess.run(command, capture_output=True, text=True).stderr == ""
