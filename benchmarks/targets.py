# SPDX-License-Identifier: MIT
"""The targets of the engines on two cores, and whether this run met them."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Results = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """One figure: its description, its target, and how it is read from the results; None if it was not measured."""

    what: str
    wanted: float
    at_least: bool
    read: Callable[[Results], float | None]
    unit: str = ""


def _speed(part: str, fmt: str, engine: str, threads: int, **more: Any) -> Callable[[Results], float | None]:
    wanted = {"part": part, "fmt": fmt, "engine": engine, "threads": threads, "size": 1024, "arch": "sm_90", **more}

    def read(results: Results) -> float | None:
        found = [x for x in results["speed"] if all(x[key] == value for key, value in wanted.items())]
        return found[0]["mac_per_second"]["median"] if found else None

    return read


def _times_slower(results: Results) -> float | None:
    for x in results["speed"]:
        if (x["part"], x["fmt"], x["engine"], x["threads"], x["size"]) == ("threads", "f16", "native", 2, 1024):
            return x["matmul_float32"] / x["mac_per_second"]["median"]
    return None


def _growth(engine: str) -> Callable[[Results], float | None]:
    """Return the cost of a multiply-add at 4096 over the cost at 512."""

    def read(results: Results) -> float | None:
        found = {
            x["size"]: x["mac_per_second"]["median"]
            for x in results["speed"]
            if (x["part"], x["engine"]) == ("sizes", engine)
        }
        return found[512] / found[4096] if {512, 4096} <= found.keys() else None

    return read


def _memory(engine: str) -> Callable[[Results], float | None]:
    def read(results: Results) -> float | None:
        found = [
            max(x["traced"], x["resident"] or 0)
            for x in results["memory"]
            if x["engine"] == engine and max(x["shape"]) >= 4096
        ]
        return max(found) / 2**20 if found else None

    return read


def _workers(engine: str) -> Callable[[Results], float | None]:
    def read(results: Results) -> float | None:
        found = [x["ratio"] for x in results["workers"] if x["size"] >= 1024 and x["engine"] == engine]
        return found[0] if found else None

    return read


def _ptx(what: str, key: str, engine: str | None = None) -> Callable[[Results], float | None]:
    def read(results: Results) -> float | None:
        found = [x[key] for x in results.get("ptx", []) if x["what"] == what and x.get("engine") == engine]
        return found[0] if found and not results.get("quick") else None

    return read


def _first(what: str, engine: str, cache: str) -> Callable[[Results], float | None]:
    """The first launch over that with NumPy."""

    def read(results: Results) -> float | None:
        found = {(x["what"], x["engine"], x["cache"]): x["first"] for x in results.get("first_launch", [])}
        if results.get("quick") or (what, engine, cache) not in found:
            return None
        return float(found[what, engine, cache] / found[what, "numpy", "empty"])

    return read


def _checks(read: Callable[[list[dict[str, Any]]], float | None]) -> Callable[[Results], float | None]:
    def of(results: Results) -> float | None:
        found = results.get("checks", [])
        return None if results.get("quick") or not found else read(found)

    return of


def _kept(records: list[dict[str, Any]]) -> float | None:
    """The most bytes that are kept on a byte of memory."""
    found = [x["kept"] / x["touched"] for x in records if x.get("kept") is not None]
    return max(found, default=None)


def _rate(what: str, wanted: float, fmt: str, engine: str, threads: int, part: str = "formats", **more: Any) -> Target:
    return Target(f"{what}, {engine}", wanted, True, _speed(part, fmt, engine, threads, **more), "MAC/s")


TARGETS = (
    _rate("f16, 1024, one thread", 1.2e9, "f16", "numpy", 1, "threads"),
    _rate("f16, 1024, two threads", 1.8e9, "f16", "numpy", 2, "threads"),
    _rate("f16, 1024, one thread", 5e9, "f16", "native", 1, "threads"),
    _rate("f16, 1024, two threads", 1e10, "f16", "native", 2, "threads"),
    Target("f16, 1024, two threads, native: times slower than np.matmul float32", 6, False, _times_slower),
    _rate("s8, 1024, two threads", 5e9, "s8", "numpy", 2),
    _rate("e4m3, 1024, two threads", 5e9, "e4m3", "numpy", 2),
    _rate("bf16, 1024, two threads", 1.5e9, "bf16", "numpy", 2),
    _rate("s8, 1024, two threads", 2e10, "s8", "native", 2),
    _rate("e4m3, 1024, two threads", 2e10, "e4m3", "native", 2),
    _rate("bf16, 1024, two threads", 6e9, "bf16", "native", 2),
    Target("cost of a multiply-add at 4096 over the cost at 512, numpy", 1.25, False, _growth("numpy")),
    Target("cost of a multiply-add at 4096 over the cost at 512, native", 1.25, False, _growth("native")),
    Target("memory beyond the matrices, 4096 and larger, numpy", 512, False, _memory("numpy"), "MiB"),
    Target("memory beyond the matrices, 4096 and larger, native", 512, False, _memory("native"), "MiB"),
    Target("PTX: Triton matmul f16, 512, native", 1.0, False, _ptx("matmul f16", "seconds", "native"), "s"),
    Target("PTX: flash attention, 4 x 512 x 64, native", 1.5, False, _ptx("flash attention", "seconds", "native"), "s"),
    Target(
        "PTX: thread-instructions a second without the products, 512", 80e6, True, _ptx("matmul f16", "rate", "native")
    ),
    Target(
        "PTX: first launch, matmul, nothing compiled: auto over numpy",
        1.25,
        False,
        _first("matmul f16, 128 x 64 x 96", "auto", "empty"),
    ),
    Target(
        "PTX: first launch, flash attention, nothing compiled: auto over numpy",
        1.25,
        False,
        _first("flash attention, 4 x 512 x 64", "auto", "empty"),
    ),
    Target(
        "PTX: first launch, flash attention, all compiled: auto over numpy",
        1.25,
        False,
        _first("flash attention, 4 x 512 x 64", "auto", "filled"),
    ),
    Target(
        "PTX: time with all checks over time without checks, median of the kernels",
        1.5,
        False,
        _checks(lambda found: statistics.median(x["ratio"] for x in found)),
    ),
    Target(
        "PTX: time with all checks over time without checks, the worst kernel",
        2.5,
        False,
        _checks(lambda found: max(x["ratio"] for x in found)),
    ),
    Target("PTX: bytes that checks keep for each byte of accessed memory, at most", 3, False, _checks(_kept)),
    Target("PTX: instructions parsed a second", 30e3, True, _ptx("parser", "rate")),
    Target("two Dask workers over one, numpy", 1.7, True, _workers("numpy")),
    Target("two Dask workers over one, native", 1.7, True, _workers("native")),
)


def judged(results: Results) -> list[dict[str, Any]]:
    """Return every target, the measured figure, and whether it meets the target; None if it was not measured."""
    rows = []
    for target in TARGETS:
        value = target.read(results)
        met = None if value is None else (value >= target.wanted if target.at_least else value <= target.wanted)
        rows.append(
            {"what": target.what, "wanted": target.wanted, "at_least": target.at_least, "unit": target.unit,
             "measured": value, "met": met}
        )  # fmt: skip
    return rows
