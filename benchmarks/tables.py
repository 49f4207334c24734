# SPDX-License-Identifier: MIT
"""The results as tables: of text for a terminal, of Markdown for the page."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Results = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """Cells, all of them text."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def text(self) -> str:
        cells = [self.columns, *self.rows]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = ["  ".join(x.ljust(width) for x, width in zip(row, widths, strict=True)).rstrip() for row in cells]
        return "\n".join([self.title, *lines])

    def markdown(self) -> str:
        cells = [self.columns, ("---",) * len(self.columns), *self.rows]
        return "\n".join("| " + " | ".join(row) + " |" for row in cells)


def machine_line(results: Results) -> str:
    """Return the line with the machine and the date."""
    found = results["machine"]
    versions = [f"{x} {found[x]}" for x in ("numba", "llvmlite", "dask") if found.get(x)]
    return ", ".join(
        [f"{found['cores']} cores of {found['cpu']}", f"{found['memory_gib']} GiB", f"Python {found['python']}",
         f"NumPy {found['numpy']} ({found['blas']})", *versions, found["date"]]
    )  # fmt: skip


def _rate(found: float) -> str:
    return f"{found:.2e}".replace("e+0", "e").replace("e+", "e")


_COLUMNS = ("engine", "multiply-adds a second", "slowest to fastest round", "ns each", "np.matmul float32", "float64",
            "times slower than float32")  # fmt: skip


def _cells(x: dict[str, Any]) -> tuple[str, ...]:
    rate = x["mac_per_second"]
    return (
        x["engine"], _rate(rate["median"]), f"{_rate(rate['slowest'])} to {_rate(rate['fastest'])}",
        f"{1e9 / rate['median']:.3g}", _rate(x["matmul_float32"]), _rate(x["matmul_float64"]),
        f"{x['matmul_float32'] / rate['median']:.3g}",
    )  # fmt: skip


def _speed(part: str, title: str, names: tuple[str, ...], keys: tuple[str, ...]) -> Callable[[Results], Table]:
    def table(results: Results) -> Table:
        rows = [(*(str(x[key]) for key in keys), *_cells(x)) for x in results["speed"] if x["part"] == part]
        return Table(title, (*names, *_COLUMNS), rows)

    return table


def _targets(results: Results) -> Table:
    rows = []
    for x in results["targets"]:
        measured = "not measured" if x["measured"] is None else _number(x["measured"], x["unit"])
        met = {None: "", True: "yes", False: "no"}[x["met"]]
        wanted = f"{'at least' if x['at_least'] else 'at most'} {_number(x['wanted'], x['unit'])}"
        rows.append((x["what"], wanted, measured, met))
    return Table("Targets", ("figure", "target", "measured", "met"), rows)


def _number(value: float, unit: str) -> str:
    return f"{_rate(value) if value >= 1e6 else f'{value:.3g}'} {unit}".strip()


def _memory(results: Results) -> Table:
    rows = [
        (" x ".join(map(str, x["shape"])), x["engine"], _mib(x["traced"]), _mib(x["resident"]))
        for x in results["memory"]
    ]
    return Table(
        "Memory beyond A, B and D (f16, all cores)", ("M x N x K", "engine", "Python's account", "resident"), rows
    )


def _mib(found: int | None) -> str:
    return "not known here" if found is None else f"{found / 2**20:.0f} MiB"


def _startup(results: Results) -> Table:
    rows = [
        (f"`{x['what']}`", f"{x['seconds'] * 1e3:.0f} ms", f"{x['fastest'] * 1e3:.0f} to {x['slowest'] * 1e3:.0f} ms")
        for x in results["startup"]
    ]
    return Table("Start", ("what", "median", "fastest to slowest"), rows)


def _workers(results: Results) -> Table:
    rows = [
        (str(x["size"]), x["engine"], f"{x['one']:.2f} s", f"{x['two']:.2f} s", f"{x['ratio']:.2f}")
        for x in results["workers"]
    ]
    return Table("Dask workers of one thread each (f16)", ("size", "engine", "one", "two", "times faster"), rows)


def _kernels(results: Results) -> Table:
    rows = [
        (x["as"], f"{x['seconds'] * 1e3:,.3g} ms", f"{x['seconds'] / x['products'] * 1e6:.3g} us")
        for x in results["kernels"]
    ]
    return Table("A kernel, a batch of warps, a matrix (f16)", ("as", "time", "a product of a warp"), rows)


def _ptx(results: Results) -> Table:
    rows = [
        (
            x["what"], x["shape"], x["engine"], f"{x['seconds'] * 1e3:,.3g} ms",
            f"{x['fastest'] * 1e3:,.3g} to {x['slowest'] * 1e3:,.3g} ms", f"{x['products'] * 1e3:,.3g} ms",
            f"{x['matmul'] * 1e3:,.3g} ms", _rate(x["instructions"]), _rate(x["rate"]),
        )
        for x in results.get("ptx", [])
        if x["what"] != "parser"
    ]  # fmt: skip
    columns = ("Triton kernel", "first argument", "engine", "time", "fastest to slowest", "of which matrix products",
               "`np.matmul` in float32", "thread-instructions", "a second, without the products")  # fmt: skip
    return Table("Kernels from their PTX (sm_80, all cores)", columns, rows)


def _machines(results: Results) -> Table:
    rows = [
        (
            x["what"], x["how"], f"{x['seconds'] * 1e3:,.3g} ms",
            f"{x['fastest'] * 1e3:,.3g} to {x['slowest'] * 1e3:,.3g} ms",
            "" if x["ratio"] is None else f"{x['ratio']:.3g}", _when(x),
        )
        for x in results.get("machines", [])
    ]  # fmt: skip
    columns = ("kernel", "on", "time of the processor", "fastest to slowest", "times the native machine's", "measured")
    return Table("A launch on each machine", columns, rows)


def _checks(results: Results) -> Table:
    rows = [
        (
            x["what"], f"{x['seconds'] * 1e3:,.3g} ms", f"{x['checked'] * 1e3:,.3g} ms", f"{x['ratio']:.2f}",
            f"{x['least']:.2f} to {x['most']:.2f}", _shadow(x), _when(x),
        )
        for x in results.get("checks", [])
    ]  # fmt: skip
    columns = ("kernel", "without checks", "with all", "median of ratios", "least to most",
               "bytes kept on a byte of memory", "measured")  # fmt: skip
    return Table("What the checks of a launch cost", columns, rows)


def _copies(results: Results) -> Table:
    rows = [
        (
            str(x["size"]), f"{x['maps'] * 1e3:,.3g} ms", f"{x['pointers'] * 1e3:,.3g} ms", f"{x['ratio']:.2f}",
            f"{x['least']:.2f} to {x['most']:.2f}", _when(x),
        )
        for x in results.get("copies", [])
    ]  # fmt: skip
    columns = ("size", "tensor maps", "`cp.async`", "median of ratios", "least to most", "measured")
    return Table("A product in f16 with tensor maps, and with cp.async (Triton, sm_90)", columns, rows)


def _when(record: dict[str, Any]) -> str:
    """Return the date of a measurement, and the load of the machine."""
    return record["date"] if record["load"] is None else f"{record['date']}, load {record['load']:.1f}"


def _shadow(record: dict[str, Any]) -> str:
    """Return the bytes kept for each accessed byte, if the launch was measured for it."""
    return f"{record['kept'] / record['touched']:.2g}" if record.get("kept") is not None else ""


def _first_launch(results: Results) -> Table:
    rows = []
    for x in results.get("first_launch", []):
        cache = {"numpy": ""}.get(x["engine"], x["cache"])
        [numpy] = [y for y in results["first_launch"] if (y["what"], y["engine"]) == (x["what"], "numpy")]
        rows.append(
            (
                x["what"], x["engine"], cache, f"{x['first']:.2f} s", f"{x['first'] / numpy['first']:.2f}",
                f"{x['slowest']:.2f} s", f"{x['second']:.2f} s", f"{x['second'] / numpy['second']:.2f}",
                _when(x),
            )
        )  # fmt: skip
    columns = ("Triton kernel", "engine", "compiled code on disk", "first launch", "over numpy's", "slowest",
               "second launch", "over numpy's", "measured")  # fmt: skip
    return Table("The first launch of a process, and the second", columns, rows)


GPU = Path(__file__).parents[1] / "docs/evidence/h200-2026-11-28-cupy-engine.json"
"""The output of tools/check_cupy_engine.py, from a machine with a GPU."""


def _gpu(results: Results) -> Table:
    """The cupy engine's, which are not of this run."""
    found = json.loads(GPU.read_text(encoding="utf-8"))
    rows = [
        (
            name, str(x["size"]), _rate(x["macs_per_second"]),
            f"{x['cublas_is_faster_by']:.0f} times" if "cublas_is_faster_by" in x else "",
        )
        for name, x in found["speed"].items()
    ]  # fmt: skip
    machine = found["machine"]
    title = f"The cupy engine ({machine['gpu']}, {machine['date']}, CuPy {machine['cupy']})"
    return Table(title, ("model", "size", "multiply-adds a second", "cuBLAS is faster by"), rows)


TABLES: dict[str, Callable[[Results], Table]] = {
    "targets": _targets,
    "sizes": _speed("sizes", "Sizes (f16, sm_90, all cores)", ("size",), ("size",)),
    "threads": _speed("threads", "Threads (f16, sm_90)", ("size", "threads"), ("size", "threads")),
    "formats": _speed("formats", "Formats (sm_90, two threads)", ("format", "size"), ("fmt", "size")),
    "chips": _speed("chips", "Chips (two threads)", ("format", "chip", "size"), ("fmt", "arch", "size")),
    "data": _speed("data", "What the matrices hold (sm_90, two threads)", ("format", "matrices", "size"),
                   ("fmt", "data", "size")),
    "memory": _memory,
    "startup": _startup,
    "workers": _workers,
    "kernels": _kernels,
    "ptx": _ptx,
    "machines": _machines,
    "first_launch": _first_launch,
    "checks": _checks,
    "copies": _copies,
    "gpu": _gpu,
}  # fmt: skip
"""The tables by their names in the comments of a page."""
