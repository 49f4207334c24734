# SPDX-License-Identifier: MIT
"""The thread-instructions that one core executes in a second on the native machine, all checks on: prints a table.

    python -m benchmarks.machine_rates

Each rate is the median of five launches, in seconds of the processor. It needs Linux.
"""

import os
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import wmma_emu as we
from benchmarks.machine_kernels import PTX

_ROUNDS = 5

_LOOP = """.version 8.0
.target sm_80
.address_size 64
.visible .entry loop(.param .u32 n, .param .u64 y) {
  .reg .b32 %r<12>; .reg .b64 %d<3>; .reg .f32 %f<3>; .reg .pred %p<2>;
  ld.param.u32 %r1, [n]; ld.param.u64 %d1, [y];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;
  mul.wide.u32 %d2, %r5, 4; add.s64 %d1, %d1, %d2; mov.u32 %r6, 0; mov.f32 %f1, 0f3F800000; mov.u32 %r7, %r5;
  L: mad.lo.u32 %r7, %r7, 1664525, 1013904223; xor.b32 %r8, %r7, %r6; shr.u32 %r9, %r8, 3; and.b32 %r9, %r9, 255;
  fma.rn.f32 %f1, %f1, 0f3F7FFFFF, 0f3A83126F; max.f32 %f2, %f1, 0f00000000; add.u32 %r10, %r9, %r8;
  min.u32 %r7, %r7, %r10; add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, %r1; @%p1 bra L;
  st.global.u32 [%d1], %r7; ret;
}"""


def launches() -> dict[str, Callable[[], Any]]:
    """Return launches of scalar kernels."""
    loop = we.ptx.Module(_LOOP, arch="sm_90", machine="native")["loop"]
    module = we.ptx.Module(PTX, arch="sm_90", machine="native")
    start = np.random.default_rng(1).integers(1, 100_000, 32_768).astype(np.uint32)
    same, count = np.full_like(start, 77_031), np.zeros_like(start)
    n = 10_000_000
    x, y = np.ones(n, np.float32), np.zeros(n, np.float32)
    return {
        "a loop of integers and floats, the lanes of a warp together": lambda: loop[128, 256](200, count),
        "Collatz, equal trip counts": lambda: module["collatz"][128, 256](same, count),
        "Collatz, random trip counts": lambda: module["collatz"][128, 256](start, count),
        "saxpy, 1e7 elements": lambda: module["saxpy"][-(-n // 256), 256](n, 2.5, x, y),
    }


def rate(launch: Callable[[], Any]) -> float:
    """Return the median rate of some launches, after one that is not measured."""
    launch()
    found = []
    for _ in range(_ROUNDS):
        begin = time.process_time()
        report = launch()
        found.append(report.instructions / (time.process_time() - begin))
    return statistics.median(found)


def main() -> None:
    """Print the table."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    warnings.simplefilter("ignore")
    for name, launch in launches().items():
        print(f"{name:<60} {rate(launch):8.2e} a second")


if __name__ == "__main__":
    main()
