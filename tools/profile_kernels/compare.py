# SPDX-License-Identifier: MIT
"""The counters of the emulator compared with those of Nsight Compute."""

import json
import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tools.profile_kernels.evidence_page import Compared, write_page
from tools.profile_kernels.launches import Launched, all_launches, sizes_of, text_of
from tools.profile_kernels.metrics import METRICS
from tools.profile_kernels.reasons import reason_for
from tools.profile_kernels.vectors import write_vectors
from wmma_emu.ptx import KernelProfile, Module

_SHOWN = 8


def compare(measured: Path, parts: list[str], page: Path | None, vectors: Path | None) -> int:
    """Count each launch, print for each metric how many launches agree, and write the page and the vectors."""
    if vectors is not None:
        write_vectors(measured, vectors)
    rows = list(_compared(measured, parts))
    for part, mine in _by(rows, lambda x: x.part).items():
        print(f"{part}: {len({x.launch for x in mine})} launches of {len({x.kernel for x in mine})} kernels")
        for metric, of_metric in _by(mine, lambda x: x.metric).items():
            wrong = [x for x in of_metric if x.measured != x.counted]
            print(f"  {metric}: {len(of_metric) - len(wrong)} of {len(of_metric)} equal")
            for x in wrong[:_SHOWN]:
                reason = reason_for(x.launch, x.metric)
                print(f"    {x.launch}: measured {x.measured}, counted {x.counted}; {reason or 'NO REASON'}")
    if page is not None:
        write_page(page, rows, json.loads((measured / "machine.json").read_text()))
    return 0


_Key = Callable[[Compared], str]


def _by(rows: list[Compared], key: _Key) -> dict[str, list[Compared]]:
    """Group rows, without groups in which everything is 0."""
    found: dict[str, list[Compared]] = {}
    for x in rows:
        found.setdefault(key(x), []).append(x)
    return {name: mine for name, mine in found.items() if any(x.measured or x.counted for x in mine)}


def _compared(measured: Path, parts: list[str]) -> Iterator[Compared]:
    launches: dict[str, list[Launched]] = {}
    for launch in all_launches():
        launches.setdefault(launch.part, []).append(launch)
    for part, mine in launches.items():
        file = measured / f"{part}.json"
        if not file.exists() or (parts and part not in parts):
            continue
        found = json.loads(file.read_text())
        measured_rows = dict(zip(found["names"], found["rows"], strict=True))
        for launch in mine:
            name = launch.name
            if name not in measured_rows:
                print(f"{part}: {name} was not measured")
                continue
            counted = profile_of(launch)
            sums = dict(zip(found["metrics"], measured_rows[name], strict=True))
            for metric in METRICS:
                values_of = [sums.get(x) for x in metric.names]
                own = metric.of_profile(counted)
                if None in values_of or own is None or (metric.parts and part not in metric.parts):
                    continue
                total = int(sum(x for x in values_of if x is not None))
                yield Compared(part, name, launch.kernel, metric.title, total, own)


@cache
def _module(name: str) -> Module:
    return Module(text_of(name), arch="h200", findings="report", checks=(), name=f"{name}.ptx")


def profile_of(launch: Launched) -> KernelProfile:
    """Count a launch in the emulator."""
    grid, block = sizes_of(launch)
    arguments: list[Any] = [x.copy() if isinstance(x, np.ndarray) else x for x in launch.arguments]
    report = _module(launch.module)[launch.kernel][grid, block, launch.shared](*arguments, profile=True)
    if report.profile is None or not math.prod(grid):
        raise SystemExit(f"{launch.name} was not counted")
    return report.profile.kernels[0]
