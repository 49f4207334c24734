# SPDX-License-Identifier: MIT
"""How much memory one product takes beyond A, B and D: by Python's account, and by the system's.

Run as a module it measures one product, so that every product has a separate process.
"""

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np

import wmma_emu as we

SHAPES = [(1024, 1024, 1024), (4096, 4096, 4096), (16384, 16384, 256), (1024, 1024, 65536)]
"""M, N and K: the last two are as much work as the second, with all of it in D and in A and B."""

QUICK = [(512, 512, 512)]


def measure(shapes: list[tuple[int, int, int]], engines: tuple[str, ...]) -> list[dict[str, object]]:
    """Bytes at the peak, of each shape and engine."""
    return [_in_a_process(shape, engine) for shape in shapes for engine in engines]


def _in_a_process(shape: tuple[int, int, int], engine: str) -> dict[str, object]:
    command = [sys.executable, "-m", "benchmarks.memory", engine, *map(str, shape)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parents[1])
    return {"shape": list(shape), "engine": engine, **json.loads(done.stdout)}


def _peak(engine: str, m: int, n: int, k: int) -> dict[str, object]:
    """One f16 product on all cores."""
    rng = np.random.default_rng(0)
    A, B = _matrix(rng, m, k), _matrix(rng, k, n)
    we.gemm(A[:256, :64], B[:64, :256], engine=engine)  # what is loaded or compiled once
    # Python's account slows engines down and takes memory itself, so that the system's is not taken meanwhile.
    before = _reset_high_water()
    D = we.gemm(A, B, engine=engine)
    resident = _status("VmHWM") - before - D.nbytes if before is not None else None
    bits = D.view(np.uint32)
    checked = int(np.bitwise_xor.reduce(bits[:: max(m // 64, 1)], axis=None))
    del D, bits
    tracemalloc.start()
    D = we.gemm(A, B, engine=engine)
    traced = tracemalloc.get_traced_memory()[1] - D.nbytes
    same = checked == int(np.bitwise_xor.reduce(D.view(np.uint32)[:: max(m // 64, 1)], axis=None))
    return {"traced": traced, "resident": resident, "same": same}


def _matrix(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Row by row, so that no larger one is there before it."""
    matrix = np.empty((rows, columns), np.float16)
    for row in matrix:
        row[:] = rng.standard_normal(columns, np.float32)
    return matrix


def _reset_high_water() -> int | None:
    """Bytes resident now, from which on the system notes the most; None where it cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return None


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    print(json.dumps(_peak(sys.argv[1], *map(int, sys.argv[2:]))))
