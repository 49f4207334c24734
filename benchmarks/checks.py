# SPDX-License-Identifier: MIT
"""The cost of a launch's checks: the ratio of its times with all checks and without, and bytes kept per byte.

Launches with and without alternate; each round gives a ratio. Time is the process's time on all cores, so that
other processes affect it less. Memory is the peak resident size of two processes that differ in the checks alone. Run
as a module, this file makes one launch, for those processes.
"""

import datetime
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.machine import installed
from benchmarks.memory_kernels import MEMORY_KERNELS
from examples.ptx.cases import CASES, SLOW
from examples.ptx.texts import compiled
from wmma_emu.ptx.launch.module import Module

ROOT = Path(__file__).parents[1]
_SHORTEST = 0.02
"""Seconds of one measurement: what is faster is repeated within it."""

_QUICK = ("warp_softmax", "triton_f16")
_SOME_BLOCKS = 8
_LARGE = 1 << 22
"""The least bytes that a launch must access for resident memory to exceed noise."""

Launch = Callable[[], object]


def measure(quick: bool) -> list[dict[str, Any]]:
    """The ratios of every example and of the kernels of `MEMORY_KERNELS`; of the latter also the bytes."""
    names = [x for x in CASES if not quick or x in _QUICK]
    records = [_times(name, *_example(name), 1 if quick else 9 if name not in SLOW else 3) for name in names]
    for name, kernel in MEMORY_KERNELS.items():
        blocks = min(kernel.blocks, _SOME_BLOCKS) if quick else kernel.blocks
        record = _times(name, *_memory_kernel(name, blocks), 1 if quick else 7)
        touched = kernel.touched(blocks)
        if not quick and touched >= _LARGE:
            most = [_in_a_process(name, blocks, checks) for checks in ("all", "none")]
            record |= {"touched": touched, "kept": None if None in most else max(most[0] - most[1], 0)}
        records.append(record)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return [{**x, "date": datetime.date.today().isoformat(), "load": load} for x in records]


def _times(what: str, checked: Launch, bare: Launch, rounds: int) -> dict[str, Any]:
    """Seconds with and without checks, in turn; which comes first changes."""
    first = max(_seconds(checked, 1), _seconds(bare, 1))
    repeats = 1 if first > _SHORTEST else max(1, round(_SHORTEST / min(_seconds(checked, 1), first)))
    found: dict[Launch, list[float]] = {checked: [], bare: []}
    gc.collect()
    for turn in range(rounds):
        for launch in (checked, bare) if turn % 2 else (bare, checked):
            found[launch].append(_seconds(launch, repeats))
    ratios = [x / y for x, y in zip(found[checked], found[bare], strict=True)]
    return {
        "what": what, "seconds": statistics.median(found[bare]), "checked": statistics.median(found[checked]),
        "ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios), "rounds": rounds,
    }  # fmt: skip


def _seconds(launch: Launch, times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        launch()
    return (time.process_time() - start) / times


def _engine() -> str:
    """The fastest engine, for whose products the relative cost of checks is highest."""
    return "native" if installed("llvmlite") else "numpy"


def _example(name: str) -> tuple[Launch, Launch]:
    case = CASES[name]
    module = Module(compiled(case.text), engine=_engine(), findings="raise", machine="numpy")
    launch = module[case.kernel][case.grid, case.block, case.shared]
    arguments = case.draw(1)
    return lambda: launch(*arguments), lambda: launch(*arguments, checks=())


def _memory_kernel(name: str, blocks: int) -> tuple[Launch, Launch]:
    kernel = MEMORY_KERNELS[name]
    launch = Module(kernel.text, findings="raise", machine="numpy")["k"][blocks, kernel.threads]
    arguments = kernel.arguments(blocks)
    return lambda: launch(*arguments), lambda: launch(*arguments, checks=())


def _in_a_process(name: str, blocks: int, checks: str) -> int | None:
    """Bytes that one launch makes resident at the most; None where the system does not say."""
    command = [sys.executable, "-m", "benchmarks.checks", name, str(blocks), checks]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    found = json.loads(done.stdout)
    return None if found is None else int(found)


def _most_resident() -> int | None:
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")]
    return found[0] if found else None


if __name__ == "__main__":
    checked, bare = _memory_kernel(sys.argv[1], int(sys.argv[2]))
    (checked if sys.argv[3] == "all" else bare)()
    print(json.dumps(_most_resident()))
