# SPDX-License-Identifier: MIT
"""What a command line imports before it answers."""

import os
import subprocess
import sys
import time

import pytest

from .conftest import ROOT

F16 = "m16n8k16.f32.f16.f16.f32"
WITHOUT_NUMPY = [
    [], ["--help"], ["-V"], ["version"], ["help"], ["help", "layout"], ["gemm", "--help"], ["ptx", "run", "-h"],
    ["chips"], ["chips", "h100"], ["completion", "bash"], ["completion", "zsh"], ["completion", "fish"], ["doctor"],
    ["__complete", "fish", ""], ["__complete", "fish", "layout", "m16n8k16."], ["__complete", "fish", "finding", "r"],
    ["__complete", "zsh", "layout", F16, ""], ["__complete", "bash", "wmma-emu list --arch h", "22", "h"],
]  # fmt: skip
BLOCKED = """
import sys

class Blocked:
    def find_spec(name, *_):
        if name.partition(".")[0] in ("numpy", "ml_dtypes"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked)
from wmma_emu.cli import main
sys.exit(main(sys.argv[1:]))
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize("argv", WITHOUT_NUMPY, ids=" ".join)
def test_help_chips_and_completion_need_no_numpy(argv):
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *argv], capture_output=True, text=True, env=ENVIRONMENT, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "") and done.stdout


def test_a_wrong_command_line_needs_no_numpy_to_say_so():
    command = [sys.executable, "-c", BLOCKED, "list", "--typ", "x"]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    assert (done.returncode, done.stdout) == (2, "") and "did you mean --type?" in done.stderr


def seconds(*argv: str) -> float:
    """The processor time of the quickest of some runs of the interpreter."""
    times = []
    for _ in range(7):
        before = os.times()
        start = time.perf_counter()
        subprocess.run([sys.executable, *argv], stdout=subprocess.DEVNULL, env=ENVIRONMENT, timeout=60)
        after = os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        times.append(min(used, time.perf_counter() - start) if used else time.perf_counter() - start)
    return min(times)


@pytest.mark.slow
@pytest.mark.parametrize("argv", [x for x in WITHOUT_NUMPY if x[:1] not in (["chips"], ["doctor"])], ids=" ".join)
def test_help_and_completion_start_in_a_sixth_of_a_second(argv):
    assert seconds("-m", "wmma_emu", *argv) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("argv", [
    ["list"], ["list", "wgmma", "fp8"], ["show", F16], ["layout", F16, "A"], ["what", F16, "A", "--lane", "5"],
    ["schedule", F16],
], ids=" ".join)  # fmt: skip
def test_other_commands_cost_little_beyond_numpy(argv):
    assert seconds("-m", "wmma_emu", *argv) < seconds("-c", "import numpy, ml_dtypes") + 0.15
