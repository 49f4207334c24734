# SPDX-License-Identifier: MIT
"""Probe every distinct float model of the table, or this machine's GPU, and write down the results.

python -m tools.probe_models --json docs/evidence/probe-models-2026-11-21.json [--page docs/evidence/probe-models.md]
python -m tools.probe_models --gpu --json docs/evidence/h200-2026-11-21-probe.json
"""

import argparse
import json
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import wmma_emu as we
from wmma_emu.arithmetic import DotProduct, models_for
from wmma_emu.instructions import INSTRUCTIONS, Instruction
from wmma_emu.testing import examine


class ProbedInstruction(NamedTuple):
    """A representative of all instructions that one model describes with the same formats and k."""

    mnemonic: str
    arch: str
    lowering: str

    def bound(self) -> we.BoundInstruction:
        """Return the instruction on its chip."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", we.UnverifiedModelWarning)
            return we.instruction(self.mnemonic, arch=self.arch, lowering=self.lowering)


def distinct_rows(arch: str = "") -> list[ProbedInstruction]:
    """Return one instruction for each way of computing floats without block scales: dense and narrow ones first."""
    found: dict[tuple[object, ...], ProbedInstruction] = {}
    probed = (entry for entry in INSTRUCTIONS.values() if not entry.is_block_scaled)
    order = sorted(probed, key=lambda entry: (entry.is_sparse, entry.is_warpgroup, entry.n))
    for instruction in order:
        for chip in instruction.archs if not arch else {arch} & set(instruction.archs):
            for model in models_for(instruction, chip):
                if model.arithmetic in ("aligned_sum", "fma_chain"):
                    found.setdefault(
                        _key(instruction, model), ProbedInstruction(instruction.mnemonic, chip, model.lowering)
                    )
    return list(found.values())


def _key(instruction: Instruction, model: Any) -> tuple[object, ...]:
    product = DotProduct.of(model, instruction)
    formats = (product.a.name, product.b.name, product.c.name, product.d.name)
    return (model.parameters, *formats, product.k, product.rounding)


def probe_row(row: ProbedInstruction) -> dict[str, Any]:
    """Examine the emulator's own model of an entry, and compare with it."""
    ins = row.bound()
    return compared(row, ins, ins)


def compared(row: ProbedInstruction, ins: we.BoundInstruction, f: Callable[..., Any]) -> dict[str, Any]:
    """Examine a function, and compare what was found with the entry of the table."""
    start = time.perf_counter()
    report = examine(f, like=ins)
    seconds = time.perf_counter() - start
    found = {name: list(pair) for name, pair in report.differences(ins.model).items()}
    return {**row._asdict(), "seconds": round(seconds, 2), "differences": found, **report.to_dict()}


def on_the_gpu(entries: list[ProbedInstruction]) -> Iterator[dict[str, Any]]:
    """Examine the local GPU, instruction after instruction."""
    for entry in entries:
        ins = entry.bound()
        if ins.model.lowering != "native" and ins.model != we.instruction(entry.mnemonic, arch=entry.arch).model:
            continue  # another compiler's sequence than the local one
        yield compared(entry, ins, partial(we.gpu.multiply, ins))


def page_of(results: list[dict[str, Any]], about: str) -> str:
    """Return the results as a Markdown table."""
    lines = [
        "# The results of `probe`",
        "",
        about,
        "",
        "| instruction | chip | recovered | parameters that no input determines | s |",
        "|---|---|---|---|--:|",
    ]
    for result in results:
        name = result["mnemonic"] + (f" ({result['lowering']})" if result["lowering"] != "native" else "")
        recovered = "no: " + ", ".join(result["differences"]) if result["differences"] else "all"
        open_ = "; ".join(f"{key}: {values}" for key, values in result["unobservable"].items())
        lines.append(f"| {name} | {result['arch']} | {recovered} | {open_} | {result['seconds']:.1f} |")
    return "\n".join([*lines, ""])


def summary(results: list[dict[str, Any]]) -> str:
    """Return a summary in one sentence."""
    right = sum(not result["differences"] for result in results)
    slowest = max(result["seconds"] for result in results)
    checked = sum(result["checked"] for result in results)
    return (
        f"{right} of {len(results)} models recovered; the slowest took {slowest:.1f} s; {checked} dot products of "
        "adversarial inputs compared with the result"
    )


def main(arguments: list[str]) -> int:
    """Probe, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", action="store_true", help="probe the local GPU instead of the emulator")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    about: dict[str, Any] = {"date": datetime.now(UTC).date().isoformat(), "python": platform.python_version(),
                             "numpy": np.__version__, "wmma_emu": we.__version__}  # fmt: skip
    if options.gpu:
        device = we.gpu.device()
        about |= {
            "machine": f"{device.name}, driver {device.driver}, {device.toolkit}",
            "subject": "the GPU, through wmma_emu.gpu.multiply",
        }
        results = []
        for result in on_the_gpu(distinct_rows(device.arch)):
            results.append(result)
            print(_line(result), flush=True)
    else:
        about |= {"machine": platform.machine(), "subject": "wmma_emu's own models"}
        with ProcessPoolExecutor(options.processes) as pool:
            results = []
            for result in pool.map(probe_row, distinct_rows()):
                results.append(result)
                print(_line(result), flush=True)
    about["summary"] = summary(results)
    print(about["summary"])
    if options.json:
        options.json.write_text(_json_of(about, [_brief(x) for x in results]))
    if options.page:
        options.page.write_text(page_of(results, f"{about['subject']}, {about['date']}: {about['summary']}."))
    return int(any(result["differences"] for result in results))


def _line(result: dict[str, Any]) -> str:
    found = "as the row" if not result["differences"] else f"DIFFERS: {result['differences']} {result['problems']}"
    return f"{result['mnemonic']} {result['arch']} {result['lowering']}: {found}, {result['seconds']:.1f} s"


def _json_of(about: dict[str, Any], results: list[dict[str, Any]]) -> str:
    """Return one line for each result."""
    head = json.dumps(about, indent=1).removesuffix("\n}")
    return head + ',\n "results": [\n  ' + ",\n  ".join(map(json.dumps, results)) + "\n ]\n}\n"


def _brief(result: dict[str, Any]) -> dict[str, Any]:
    """Return the result without the evidence, which another run prints."""
    return {name: value for name, value in result.items() if name not in ("answers", "subject", "like")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
