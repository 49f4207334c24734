# SPDX-License-Identifier: MIT
"""The kernels of the comparison of machines on the native machine, with some of the cores: prints a table.

    python -m benchmarks.machine_threads 1 2 4 8 16

Each number of cores is a separate process, which may run on that many cores only. Prints the median seconds of the
clock of five launches, and how many times faster they are than with the first number of cores. It needs Linux.
"""

import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

_LONG, _THREADS = "Collatz, 1,048,576 threads", 1 << 20
_ROUNDS = 5


def launches() -> dict[str, Callable[[], Any]]:
    """Return the launches of each kernel, and a longer one of the kernel with branches."""
    import wmma_emu as we
    from benchmarks.machine_kernels import PTX, emulated

    kernel = we.ptx.Module(PTX, arch="sm_90", machine="native")["collatz"]
    start = np.random.default_rng(1).integers(1, 1 << 20, _THREADS, dtype=np.uint32)
    count = np.zeros_like(start)
    return {**emulated("native", False), _LONG: lambda: kernel[_THREADS // 128, 128](start, count)}


def measure() -> dict[str, float]:
    """Return the median seconds of each launch, after one that is not measured."""
    found = {}
    for name, launch in launches().items():
        launch()
        seconds = []
        for _ in range(_ROUNDS):
            begin = time.perf_counter()
            launch()
            seconds.append(time.perf_counter() - begin)
        found[name] = statistics.median(seconds)
    return found


def main() -> None:
    """Print the table, or the seconds of one process as JSON."""
    if sys.argv[1] == "measure":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[2])])
        warnings.simplefilter("ignore")
        print(json.dumps(measure()))
        return
    first: dict[str, float] = {}
    for cores in sys.argv[1:]:
        done = subprocess.run(
            [sys.executable, "-m", __spec__.name, "measure", cores], capture_output=True, text=True, check=True
        )
        found = json.loads(done.stdout)
        first = first or found
        for name, seconds in found.items():
            print(f"{cores:>3} cores  {name:<50} {1e3 * seconds:9.2f} ms  {first[name] / seconds:5.2f} times as fast")


if __name__ == "__main__":
    main()
