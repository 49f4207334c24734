# SPDX-License-Identifier: MIT
"""The counters of a matrix product in ten steps, without a GPU: python examples/profiling/profile_ladder.py."""

import csv
from pathlib import Path

import numpy as np

import wmma_emu as we

M = N = K = 128
STEPS = {
    "step01_naive": ((32, 8), (32, 8)), "step02_coalesced": ((32, 8), (32, 8)), "step03_shared": ((32, 32), (32, 32)),
    "step04_column": ((64, 64), 512), "step05_square": ((64, 64), 256), "step06_vectors": ((64, 64), 256),
    "step07_swizzled": ((64, 64), 256), "step08_wmma": ((32, 32), 128), "step09_wmma_shared": ((64, 64), 128),
    "step10_buffered": ((64, 64), 128),
}  # fmt: skip
"""The columns and rows of D that a block of each step computes, and its threads; the first step's rows come first."""


def profiles():
    """Yield the name and the profile of each step, after a check of its results."""
    module = we.ptx.Module.from_file(Path(__file__).with_name("matmul_ladder.cu"), arch="h100")
    rng = np.random.default_rng(29)
    a, b = (rng.integers(-4, 5, x).astype(np.float32) for x in ((M, K), (K, N)))
    for step, ((width, height), block) in STEPS.items():
        dtype = np.float16 if step >= "step08" else np.float32
        grid = (M // width, N // height) if step == "step01_naive" else (N // width, M // height)
        d = np.zeros((M, N), np.float32)
        report = module[step][grid, block](a.astype(dtype), b.astype(dtype), d, M, N, K, profile=True)
        if not np.array_equal(d, a @ b):
            raise SystemExit(f"{step} computes another product")
        yield step, report.profile.total


def measured():
    """Return what Nsight Compute counted on an H200 in each step, and the time that the step took."""
    with open(Path(__file__).with_name("ladder_on_h200.csv"), newline="", encoding="utf-8") as file:
        return {row["step"]: row for row in csv.DictReader(file)}


_HEADS = (
    ("step", 18), ("instructions", 12), ("H200", 7), ("sectors", 8), ("H200", 7), ("each", 5), ("wavefronts", 10),
    ("H200", 7), ("conflicts", 9), ("H200", 5), ("op/byte", 7),
    ("µs", 6),
)  # fmt: skip

if __name__ == "__main__":
    on_gpu = measured()
    print(*(f"{head:{'<' if head == 'step' else '>'}{width}}" for head, width in _HEADS))
    for step, total in profiles():
        gpu = on_gpu[step]
        row = (
            step, total.executions, gpu["instructions"], total.global_sectors, gpu["sectors"],
            f"{total.sectors_per_request:.1f}", total.shared_wavefronts, gpu["wavefronts"], total.bank_conflicts,
            gpu["conflicts"], f"{total.intensity:.2f}", gpu["microseconds_of_2048"],
        )  # fmt: skip
        print(*(f"{x:{'<' if head == 'step' else '>'}{width}}" for x, (head, width) in zip(row, _HEADS, strict=True)))
