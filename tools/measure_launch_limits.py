# SPDX-License-Identifier: MIT
"""Measure how exactly launches keep ``max_seconds`` and ``max_bytes``, over hostile kernels.

Run ``python -m tools.measure_launch_limits --page docs/evidence/launch-limits-2026-11-27.md`` for the page, or with
``--only NAME`` and ``--seconds 1`` for some rows. Each kernel is launched in a new process.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from tools.launch_limit_kernels import KERNELS
from wmma_emu.errors import LaunchLimitError

SECONDS = (1, 2, 5, 10)
GIGABYTES = (0.25, 0.5, 1.0, 2.0)
_PAGE = 4096
_MOST_LETTERS = 150
_LONGEST = 5
"""The time limit in seconds while memory is measured."""


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


class Peak(threading.Thread):
    """Samples the resident memory every few milliseconds, until it is stopped."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.first = self.largest = resident()
        self._stop = threading.Event()

    def run(self) -> None:
        """Sample."""
        while not self._stop.wait(0.005):
            self.largest = max(self.largest, resident())

    def stop(self) -> int:
        """Return by how many bytes the memory grew at most."""
        self._stop.set()
        return max(self.largest, resident()) - self.first


def measure(name: str, is_time: bool, limits: list[float]) -> list[dict[str, object]]:
    """Launch a kernel under one limit after the other, and return how each launch ended.

    The limits are seconds if ``is_time``, and gigabytes otherwise.
    """
    launch, arrays = KERNELS[name].prepare()
    if not is_time:
        _measured(launch, arrays, True, 1)  # what is imported and compiled once stays, and is not memory of a launch
    return [_measured(launch, arrays, is_time, limit) for limit in limits]


def _measured(launch: Any, arrays: list[Any], is_time: bool, limit: float) -> dict[str, object]:
    options = {"max_seconds": limit} if is_time else {"max_seconds": _LONGEST, "max_bytes": int(limit * 2**30)}
    peak = Peak()
    peak.start()
    begin = time.perf_counter()
    try:
        launch(*arrays, findings="report", max_steps=10**12, **options)
        ended, message = "completed", ""
    except LaunchLimitError as error:
        ended, message = "limit", str(error)
    wall = time.perf_counter() - begin
    return {"wall": wall, "bytes": peak.stop(), "ended": ended, "message": message}


def in_process(name: str, is_time: bool, limits: tuple[float, ...]) -> list[dict[str, object]]:
    """Run `measure` in a new process."""
    given = json.dumps([name, is_time, limits])
    done = subprocess.run(
        [sys.executable, "-m", "tools.measure_launch_limits", "--one", given],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: list[dict[str, object]] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(names: list[str], is_time: bool, limits: tuple[float, ...]) -> list[str]:
    """Return the lines of a table: a row for each kernel, a column for each limit."""
    head = " | ".join(f"{x:g} {'s' if is_time else 'GiB'}" for x in limits)
    lines = [f"| launch | {head} | the last error |", "|---|" + "---|" * (len(limits) + 1)]
    for name in names:
        print(name, file=sys.stderr, flush=True)
        found = in_process(name, is_time, limits)
        cells = [_ratio(x, is_time, limit) for x, limit in zip(found, limits, strict=True)]
        said = next((str(x["message"]) for x in reversed(found) if x["message"]), "")
        said = said.replace("|", "/")[:_MOST_LETTERS]
        lines.append(f"| {KERNELS[name].title} | {' | '.join(cells)} | {said} |")
    return lines


def _ratio(found: dict[str, object], is_time: bool, limit: float) -> str:
    value = float(str(found["wall"])) / limit if is_time else float(str(found["bytes"])) / (limit * 2**30)
    return f"{value:.2f}{' (ended)' if found['ended'] == 'completed' else ''}"


def main() -> None:
    """Measure, and write the tables or a page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--one")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--seconds", nargs="*", type=float, default=list(SECONDS))
    parser.add_argument("--gigabytes", nargs="*", type=float, default=list(GIGABYTES))
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(*json.loads(given.one))))
        return
    names = given.only or list(KERNELS)
    by_time = table(names, True, tuple(given.seconds)) if given.seconds else []
    by_memory = table(names, False, tuple(given.gigabytes)) if given.gigabytes else []
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, NumPy {np.__version__}, {platform.system()}"
    text = "\n".join([machine, "", *by_time, "", *by_memory, ""])
    if given.page:
        given.page.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
