# SPDX-License-Identifier: MIT
"""How fast `wmma_emu.gemm` is, in multiply-adds a second, beside `np.matmul` in float32 in the same run.

    python benchmarks/gemm.py [--sizes 256 512 1024 2048] [--repeats 3] [--json out.json]

Runs are interleaved and medians reported, because machines are noisy.
"""

import argparse
import json
import platform
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable

import ml_dtypes
import numpy as np

import wmma_emu as we


def operands(size: int, dtype: np.dtype, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((size, size)).astype(np.float32).astype(dtype) for _ in range(2))


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(sizes: list[int], formats: list[str], arch: str, repeats: int) -> list[dict[str, object]]:
    dtypes = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn,
              "s8": np.int8}  # fmt: skip
    cases = []
    for size in sizes:
        for name in formats:
            A, B = operands(size, np.dtype(dtypes[name]))
            A32, B32 = A.astype(np.float32), B.astype(np.float32)
            we.gemm(A[:64, :64], B[:64, :64], arch=arch)  # tables that are built once
            ours, theirs = [], []
            for _ in range(repeats):
                ours.append(seconds(lambda A=A, B=B: we.gemm(A, B, arch=arch)))
                theirs.append(seconds(lambda A=A32, B=B32: A @ B))
            mine, other = statistics.median(ours), statistics.median(theirs)
            cases.append({
                "format": name, "arch": arch, "size": size, "seconds": mine, "spread": [min(ours), max(ours)],
                "mac_per_second": size**3 / mine, "matmul_mac_per_second": size**3 / other,
                "ns_per_mac": mine / size**3 * 1e9,
            })  # fmt: skip
            print(f"{name:5} {arch:7} {size:5}  {size**3 / mine:10.3g} MAC/s  np.matmul float32 {size**3 / other:10.3g} MAC/s"
                  f"  ratio {mine / other:7.1f}", flush=True)  # fmt: skip
    return cases


def peak_memory(size: int, arch: str) -> int:
    """Bytes that one product takes at its peak beyond A, B and D."""
    A, B = operands(size, np.dtype(np.float16))
    tracemalloc.start()
    D = we.gemm(A, B, arch=arch)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - D.nbytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[256, 512, 1024, 2048])
    parser.add_argument("--formats", nargs="+", default=["f16", "bf16"])
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", type=int, metavar="SIZE", help="also report the peak memory at this size")
    parser.add_argument("--json", help="write the figures to this file")
    args = parser.parse_args()
    machine = {"processor": platform.processor() or platform.machine(), "python": platform.python_version(),
               "numpy": np.__version__, "date": time.strftime("%Y-%m-%d")}  # fmt: skip
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    report: dict[str, object] = {
        "machine": machine,
        "cases": measure(args.sizes, args.formats, args.arch, args.repeats),
    }
    if args.memory:
        report["peak_bytes"] = peak_memory(args.memory, args.arch)
        print(f"peak memory beyond the matrices at {args.memory}: {report['peak_bytes'] / 2**20:.0f} MiB")
    if args.json:
        with open(args.json, "w") as out:
            json.dump(report, out, indent=1)


if __name__ == "__main__":
    sys.exit(main())
