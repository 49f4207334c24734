# SPDX-License-Identifier: MIT
"""The names and grids of a library's kernels, from PyTorch's profiler."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch

from tools.model_products.capture import Captured


def kernels_of(products: Sequence[Captured]) -> dict[int, list[str]]:
    """Execute products again, and return the kernels of each by its index."""
    from torch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled, torch.no_grad():
        for i, product in enumerate(products):
            with record_function(f"product {i}"):
                product.again()
                torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiled.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    ranges = {x["name"]: (x["ts"], x["ts"] + x["dur"]) for x in events if x.get("cat") == "user_annotation"}
    kernels = [x for x in events if x.get("cat") == "kernel"]
    found = {}
    for i in range(len(products)):
        start, end = ranges[f"product {i}"]
        found[i] = [_described(x) for x in kernels if start <= x["ts"] <= end]
    return found


def _described(kernel: dict) -> str:
    return f"{kernel['name'][:200]} grid {'x'.join(map(str, kernel['args']['grid']))}"
