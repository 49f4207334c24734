# SPDX-License-Identifier: MIT
"""How long the first launch in a fresh process takes, with nothing compiled and with all compiled, and the second.

Each is a separate process, with a folder for compiled code that is empty, or filled by earlier processes.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import installed

ROOT = Path(__file__).parents[1]

FULL = {
    "matmul f16, 128 x 64 x 96": "triton_f16",
    "flash attention, 4 x 512 x 64": "triton_flash_attention_512",
}
QUICK = {"matmul f16, 128 x 64 x 96": "triton_f16"}

RUNS = (("auto", "empty"), ("auto", "filled"), ("numpy", "empty"), ("native", "empty"), ("native", "filled"))
"""Engines, and the folder of compiled code."""

_CODE = """
import json, sys, time
from examples.ptx.cases import CASES
from examples.ptx.texts import compiled
from wmma_emu.ptx.launch.module import Module
case, engine = CASES[sys.argv[1]], sys.argv[2]
text, arguments = compiled(case.text), case.draw(1)
start = time.perf_counter()
launch = Module(text, engine=engine, findings="raise", machine="numpy")[case.kernel][case.grid, case.block, case.shared]
seconds = []
for _ in range(int(sys.argv[3])):
    launch(*arguments)
    seconds.append(time.perf_counter() - start)
    start = time.perf_counter()
print(json.dumps(seconds))
"""
"""Prints the seconds of the first launch, text to results, and of the following ones."""


def measure(rounds: int, cases: dict[str, str]) -> list[dict[str, Any]]:
    """Seconds of each case, in rounds; the folder that is filled is filled by the case itself."""
    runs = [x for x in RUNS if x[0] != "native" or installed("llvmlite")]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    found: dict[tuple[str, str, str], list[list[float]]] = {(x, *run): [] for x in cases for run in runs}
    with tempfile.TemporaryDirectory(prefix="wmma_emu-benchmark-") as filled:
        for name in cases.values():
            launched(name, "native" if installed("llvmlite") else "numpy", filled)
        for _ in range(rounds):
            for what, engine, folder in found:
                found[what, engine, folder].append(_launched(cases[what], engine, filled if folder == "filled" else ""))
    return [
        {
            "what": what, "engine": engine, "cache": folder, "rounds": rounds,
            "first": statistics.median(x[0] for x in times), "slowest": max(x[0] for x in times),
            "second": statistics.median(x[1] for x in times),
            "date": time.strftime("%Y-%m-%d"), "load": load,
        }
        for (what, engine, folder), times in found.items()
    ]  # fmt: skip


def _launched(name: str, engine: str, folder: str) -> list[float]:
    if folder:
        return launched(name, engine, folder)
    with tempfile.TemporaryDirectory(prefix="wmma_emu-benchmark-") as empty:
        return launched(name, engine, empty)


def launched(name: str, engine: str, folder: str, times: int = 2) -> list[float]:
    """Return the seconds of some launches in a fresh process, whose compiled code is kept in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", _CODE, name, engine, str(times)],
        env={**os.environ, "WMMA_EMU_CACHE": folder}, cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    seconds: list[float] = json.loads(done.stdout)
    return seconds
