# SPDX-License-Identifier: MIT
"""The machines of wmma_emu, an earlier version and other emulators: the same kernels, each in its own process."""

import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import installed
from benchmarks.machine_kernels import KERNELS

ROOT = Path(__file__).parents[1]

OLD = "e2da21e"
"""The revision before there was a native machine and after the last work on the speed of the other one."""

NAMES = {
    "native": "native machine", "numpy": "NumPy machine", "old": f"revision {OLD}, numba",
    "triton": "Triton's interpreter", "numba": "numba's simulator",
}  # fmt: skip


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return the seconds of the processor of each kernel on each installed machine, and how many times native's."""
    needed = {"native": "llvmlite", "triton": "triton", "numba": "numba"}
    hows = [x for x in ("native", "numpy", "triton", "numba") if x not in needed or installed(needed[x])]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    found = {how: _seconds(how, quick) for how in hows}
    with tempfile.TemporaryDirectory(prefix="wmma_emu-benchmark-") as folder:
        if not quick and installed("numba") and _unpacked(Path(folder)):
            found["old"] = _seconds("old", quick, folder)
    records = []
    for kernel in KERNELS:
        native = found.get("native", {}).get(kernel)
        for how in NAMES:
            times = found.get(how, {}).get(kernel)
            if times:
                median = statistics.median(times)
                ratio = median / statistics.median(native) if native else None
                records.append(
                    {"what": kernel, "how": NAMES[how], "seconds": median, "fastest": min(times), "slowest": max(times),
                     "ratio": ratio, "load": load, "date": time.strftime("%Y-%m-%d")}
                )  # fmt: skip
    return records


def _unpacked(folder: Path) -> bool:
    """Unpack the earlier version; return False if this is not a clone that has it."""
    archive = folder / "old.tar"
    done = subprocess.run(
        ["git", "archive", "-o", str(archive), OLD, "wmma_emu"], cwd=ROOT, capture_output=True, check=False
    )
    if done.returncode:
        return False
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return True


def _seconds(how: str, quick: bool, first: str = "") -> dict[str, list[float]]:
    """Run the kernels in another process, with the package in the folder ``first``, if that is given.

    Triton's interpreter needs PyTorch: BENCHMARKS_TRITON_PYTHON may name a Python that has it.
    """
    path = os.pathsep.join(x for x in (first, str(ROOT)) if x)
    python = os.environ.get("BENCHMARKS_TRITON_PYTHON", sys.executable) if how == "triton" else sys.executable
    command = [python, str(ROOT / "benchmarks/machine_kernels.py"), how, "1" if quick else "5"]
    done = subprocess.run(
        command + ["quick"] * quick, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"  left out: {NAMES[how]}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return {}
    result: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return result
