# SPDX-License-Identifier: MIT
"""The recording: every run of the networks, the search for each distinct product, and one file of JSON."""

import contextlib
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from tools.model_products.capture import Captured, CaptureMode
from tools.model_products.explain import explained
from tools.model_products.kernels import kernels_of
from tools.model_products.runs import ModelRun, execute, runs
from tools.model_products.tasks import Task, tasks_of

_SECONDS_EACH = 8.0
"""The time for the wide search of one product."""


def record(path: Path, size: str, device: str, seconds: float, only: str = "") -> None:
    """Run the networks, look for the arithmetic of each product until the time is over, and write a file."""
    begin = time.monotonic()
    mode = CaptureMode()
    chosen = [run for run in runs() if only in run.name]
    for run in chosen:
        _execute(run, size, device, mode)
    found = list(mode.products.values())
    print(f"{len(found)} distinct operations after {time.monotonic() - begin:.0f} s", flush=True)
    names = _kernels(found) if device == "cuda" else {}
    rows: list[dict[str, Any]] = []
    # The products with most work first, so that the time is spent on them.
    for i in sorted(range(len(found)), key=lambda i: -found[i].work * sum(found[i].occurrences.values())):
        for task in tasks_of(found[i]):
            rows.append(_row(found[i], task, begin + seconds, names.get(i, [])))
            print(f"{time.monotonic() - begin:4.0f} s  {_line(rows[-1])}", flush=True)
        _write(path, rows, mode, device, size)
    print(f"{path}: {len(rows)} products, {time.monotonic() - begin:.0f} s")


def _execute(run: ModelRun, size: str, device: str, mode: CaptureMode) -> None:
    try:
        execute(run, size, device, mode)
    except (RuntimeError, TypeError) as error:  # another version of PyTorch may lack an operation
        print(f"{run.name}: {str(error).splitlines()[0]}", flush=True)


def _kernels(found: list[Captured]) -> dict[int, list[str]]:
    try:
        return kernels_of(found)
    except Exception as error:  # the profiler may be missing or refused
        print(f"no names of kernels: {type(error).__name__}: {error}", flush=True)
        return {}


def _row(product: Captured, task: Task, deadline: float, kernels: list[str]) -> dict[str, Any]:
    a, b = task.factors("")
    row = {
        "operation": product.name, "part": task.part, "dtype": product.dtype,
        "shape": [a.shape[-2], b.shape[-1], a.shape[-1]], "matrices": _matrices(a),
        "operands": [[list(x.shape), list(x.stride())] for x in product.tensors],
        "occurrences": dict(product.occurrences), "work": task.work, "addend": _addend(task), "kernels": kernels,
    }  # fmt: skip
    try:
        with torch.no_grad():
            row["same again"] = all(
                x is None or torch.equal(x.view(torch.int16), y.view(torch.int16))
                for x, y in zip(product.again(), product.results, strict=True)
            )
            result = explained(task, min(deadline, time.monotonic() + _SECONDS_EACH))
    except Exception as error:  # one product that fails must not end the recording
        return {**row, "error": f"{type(error).__name__}: {error}"[:400]}
    return {
        **row, "equal": result.differ == 0, "candidate": result.candidate.as_json(), "differ": result.differ,
        "plain differ": result.plain_differ, "split differ": result.split_differ, "elements": result.elements,
        "tried": result.tried, "equal on rows": [x.as_json() for x in result.equal_on_rows],
    }  # fmt: skip


def _matrices(a: Any) -> int:
    return int(a[..., 0, 0].numel())


def _addend(task: Task) -> str:
    if task.addend is None:
        return ""
    return "bias" if task.addend.dim() == 1 else "C"


def _line(row: dict[str, Any]) -> str:
    what = f"{row['operation']} {row['part']} {row['dtype']} {row['matrices']}*{'x'.join(map(str, row['shape']))}"
    if "error" in row:
        return f"{what}: {row['error']}"
    how = row["candidate"]
    verdict = "equal" if row["equal"] else f"{row['differ']} of {row['elements']} differ"
    return f"{what}: {verdict}; {how['instr'][:8]} {how['order']} {how['layout']}; {row['tried']} tried"


def _write(path: Path, rows: list[dict[str, Any]], mode: CaptureMode, device: str, size: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    facts = {"date": str(datetime.now(UTC).date()), "size": size, "fused": {k: dict(v) for k, v in mode.fused.items()}}
    path.write_text(json.dumps({**_machine(device), **facts, "products": rows}, indent=0) + "\n")


def _machine(device: str) -> dict[str, str]:
    found = {"torch": torch.__version__, "device": device}
    if device == "cuda":
        from tools.cuda_driver import versions
        from tools.record_cublas import _cublas_version

        found |= {"device": torch.cuda.get_device_name(), "cublas": _cublas_version()}
        found["cudnn"] = str(torch.backends.cudnn.version())
        with contextlib.suppress(Exception):  # the driver's functions may have other names
            found |= {key: str(value) for key, value in versions().items()}
    return found
