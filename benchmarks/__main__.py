# SPDX-License-Identifier: MIT
"""Benchmarks of the speed and memory of `wmma_emu.gemm`, compared with `np.matmul` in the same run.

    python -m benchmarks                                  all parts; about twenty minutes on two cores
    python -m benchmarks --quick                          a smoke test of about ten seconds
    python -m benchmarks --only speed --json speed.json
    python -m benchmarks --from FILE.json --page docs/explanation/performance.md
    python -m benchmarks --only ptx --into FILE.json      the other parts of FILE.json are kept

Rounds of all cases are repeated, and medians reported, as machines are noisy. The cupy engine has its own benchmark,
for a machine with a GPU: tools/check_cupy_engine.py.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import checks, copies, first_launch, kernels, machines, memory, ptx, speed, startup, workers
from benchmarks.machine import installed, machine
from benchmarks.page import filled
from benchmarks.tables import TABLES, machine_line
from benchmarks.targets import judged

Results = dict[str, Any]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _speed(quick: bool) -> list[dict[str, Any]]:
    if quick:
        return speed.measure(speed.cases([64, 128], 128, 64), 1, say)
    return speed.measure(speed.cases([64, 128, 256, 512, 1024, 2048, 4096], 1024, 512), 3, say)


def _workers(quick: bool) -> list[dict[str, Any]]:
    if not installed("distributed"):
        say("  left out: distributed is not installed (the extra `distributed`)")
        return []
    sizes = {"numpy": 128} if quick else {"numpy": 2048, "native": 4096}
    return workers.measure({x: sizes[x] for x in speed.engines() if x in sizes}, 1 if quick else 3)


PARTS: dict[str, Callable[[bool], list[dict[str, Any]]]] = {
    "startup": lambda quick: startup.measure(1 if quick else 9),
    "speed": _speed,
    "kernels": lambda quick: kernels.measure(32 if quick else 256, 1 if quick else 5),
    "ptx": ptx.measure,
    "machines": machines.measure,
    "first_launch": lambda quick: first_launch.measure(*((1, first_launch.QUICK) if quick else (3, first_launch.FULL))),
    "checks": checks.measure,
    "copies": lambda quick: copies.measure(128 if quick else 512, 1 if quick else 9),
    "workers": _workers,
    "memory": lambda quick: memory.measure(memory.QUICK if quick else memory.SHAPES, speed.engines()),
}


def measured(parts: list[str], quick: bool) -> Results:
    for engine in speed.ENGINES:
        if engine not in speed.engines():
            say(f"left out: engine {engine}, whose library is not installed")
    results: Results = {"machine": machine(), "quick": quick, **{name: [] for name in PARTS}}
    for name in parts:
        say(f"measuring {name}")
        results[name] = PARTS[name](quick)
    results["targets"] = judged(results)
    return results


def merged(known: Results, found: Results, parts: list[str]) -> Results:
    """Return results with some parts measured again; the machine must be the machine of the other parts."""
    results = {**known, **{name: found[name] for name in parts}}
    results["targets"] = judged(results)
    return results


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, one round: whether it works, no figures")
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to this file")
    parser.add_argument(
        "--from", type=Path, metavar="FILE", dest="source", help="take results from it; measure nothing"
    )
    parser.add_argument("--into", type=Path, metavar="FILE", help="put the parts into the results that this file holds")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the tables into this page")
    given = parser.parse_args(arguments)
    if given.into is not None and (given.quick or given.source is not None):
        parser.error("--into takes figures that were measured: neither --quick nor --from")
    if given.page is not None and given.source is None and given.into is None and given.only:
        parser.error("--page takes all parts: it would empty the tables of the others")
    if given.source is not None:
        results = json.loads(given.source.read_text(encoding="utf-8"))
    else:
        results = measured(given.only or list(PARTS), given.quick)
    if given.into is not None:
        results = merged(json.loads(given.into.read_text(encoding="utf-8")), results, given.only or list(PARTS))
        given.into.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(machine_line(results))
    for table in (make(results) for make in TABLES.values()):
        if table.rows:
            print(f"\n{table.text()}")
    if given.json is not None:
        given.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if given.page is not None:
        given.page.write_text(filled(given.page.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
