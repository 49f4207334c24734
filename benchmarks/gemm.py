# SPDX-License-Identifier: MIT
"""How fast `wmma_emu.gemm` is, in multiply-adds a second, beside `np.matmul` in float32 in the same run.

    python benchmarks/gemm.py [--sizes 256 512 1024 2048] [--repeats 3] [--memory 4096] [--json out.json]

Machines are noisy: the cases of one round run after one another, rounds are repeated, medians are reported.
"""

import argparse
import json
import os
import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable

import ml_dtypes
import numpy as np

import wmma_emu as we

DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn, "s8": np.int8}


def operands(size: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Two seeded Gaussian matrices."""
    rng = np.random.default_rng(size)
    scale = 40 if name == "s8" else 1
    a, b = (rng.standard_normal((size, size), np.float32) * scale for _ in range(2))
    return a.astype(DTYPES[name]), b.astype(DTYPES[name])


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(sizes: list[int], formats: list[str], arch: str, repeats: int) -> list[dict[str, object]]:
    """Time every size and format, ours and NumPy's, in rounds."""
    times: dict[tuple[int, str], list[tuple[float, float]]] = {(s, f): [] for s in sizes for f in formats}
    for name in formats:
        we.gemm(*operands(64, name), arch=arch)  # tables that are built once
    for _ in range(repeats):
        for (size, name), runs in times.items():
            A, B = operands(size, name)
            A32, B32 = A.astype(np.float32), B.astype(np.float32)
            runs.append((seconds(lambda a=A, b=B: we.gemm(a, b, arch=arch)), seconds(lambda a=A32, b=B32: a @ b)))
    cases = []
    for (size, name), runs in times.items():
        ours, theirs = zip(*runs, strict=True)
        mac = size**3
        cases.append(
            {
                "format": name,
                "arch": arch,
                "size": size,
                "mac_per_second": mac / statistics.median(ours),
                "slowest_to_fastest": [mac / max(ours), mac / min(ours)],
                "matmul_float32_mac_per_second": mac / statistics.median(theirs),
                "times_slower_than_matmul": statistics.median(x / y for x, y in runs),
                "ns_per_mac": statistics.median(ours) / mac * 1e9,
            }
        )
    return cases


def peak_memory(size: int, arch: str) -> int:
    """Bytes that one f16 product takes at its peak beyond A, B and D."""
    A, B = operands(size, "f16")
    tracemalloc.start()
    D = we.gemm(A, B, arch=arch)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - D.nbytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[256, 512, 1024, 2048])
    parser.add_argument("--formats", nargs="+", default=["f16", "bf16"], choices=DTYPES)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", type=int, metavar="SIZE", help="also report the peak memory at this size")
    parser.add_argument("--json", help="write the figures to this file")
    args = parser.parse_args()
    report: dict[str, object] = {
        "date": time.strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cases": measure(args.sizes, args.formats, args.arch, args.repeats),
    }
    print(", ".join(f"{key} {value}" for key, value in report.items() if key != "cases"))
    print("format  arch     size     MAC/s  ns/MAC   np.matmul float32   times slower")
    for case in report["cases"]:
        print(
            "{format:7} {arch:7} {size:5}  {mac_per_second:8.3g}  {ns_per_mac:6.3f}  "
            "{matmul_float32_mac_per_second:12.3g} MAC/s  {times_slower_than_matmul:10.1f}".format(**case)
        )
    if args.memory:
        report["peak_bytes"] = peak_memory(args.memory, args.arch)
        print(f"peak memory beyond the matrices at {args.memory}: {report['peak_bytes'] / 2**20:.0f} MiB")
    if args.json:
        with open(args.json, "w") as out:
            json.dump(report, out, indent=1)


if __name__ == "__main__":
    main()
