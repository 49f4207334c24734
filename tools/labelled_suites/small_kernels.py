# SPDX-License-Identifier: MIT
"""Seven small kernels that were run under compute-sanitizer, and the emulator's findings."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import wmma_emu as we

__all__ = ["SMALL_KERNELS", "SmallKernel", "found", "table"]


class SmallKernel(NamedTuple):
    """A kernel of one block, and what the tools and the chip said."""

    says: str
    source: str
    threads: int
    racecheck: str
    synccheck: str
    chip: str
    why: str


_MASK = "the mask leaves out lanes that give it: PTX leaves open what happens then"
_BEHIND = "one warp may read before another has written"

SMALL_KERNELS = (
    SmallKernel(
        "`volatile` shared memory, written and read across warps, without a barrier",
        "volatile __shared__ int s[256]; int t = threadIdx.x; s[t] = t; o[t] = s[255 - t];",
        256, "error, 1,024 hazards", "", "runs", f"the same: {_BEHIND}; `volatile` orders nothing",
    ),
    SmallKernel(
        "the same, not volatile, beside volatile accesses to other words of global memory",
        "__shared__ int s[256]; int t = threadIdx.x; volatile int* g = o + 256;"
        "g[t] = t; s[t] = t; int x = g[t]; o[t] = s[255 - t] + x;",
        256, "error, 1,024 hazards", "", "runs", f"the same: {_BEHIND}",
    ),
    SmallKernel(
        "`__syncwarp(0x0000ffff)` by all 32 lanes", "__syncwarp(0x0000ffff); o[threadIdx.x] = 1;",
        32, "", "error: invalid arguments", "runs", f"the same: {_MASK}",
    ),
    SmallKernel(
        "half of a warp `__syncwarp(0xffff)`, the other half `__syncwarp(0xff0000ff)`",
        "if (threadIdx.x < 16) __syncwarp(0xffff); else __syncwarp(0xff0000ff); o[threadIdx.x] = 1;",
        32, "", "error: invalid arguments", "illegal instruction", f"the same: {_MASK}",
    ),
    SmallKernel(
        "one warp: written and read across lanes, without `__syncwarp()`",
        "__shared__ int s[32]; int t = threadIdx.x; s[t] = t; o[t] = s[31 - t];",
        32, "warning, 128 hazards", "", "runs",
        "the same: PTX orders nothing here, and lanes that go the same way go in step on every chip so far",
    ),
    SmallKernel(
        "one warp: all lanes store different values to one shared word",
        "__shared__ int s; s = threadIdx.x; __syncwarp(); o[threadIdx.x] = s;",
        32, "error, 124 hazards", "", "runs",
        "a warning where racecheck has an error: one of the stores stays, and compilers make right programs store so "
        "(all lanes hold copies of a sum, differently rounded), which an error would fail",
    ),
    SmallKernel(
        "two warps store the same value to one shared word",
        "__shared__ int s; if (threadIdx.x % 32 == 0) s = o[0]; __syncthreads(); o[threadIdx.x] = s;",
        64, "nothing", "", "runs", "the same, but for a note: the bytes are the same whichever store is the last",
    ),
)  # fmt: skip


def found(kernel: SmallKernel) -> set[tuple[str, str]]:
    """Return the severities and kinds of the emulator's findings for a kernel."""
    source = f'extern "C" __global__ void k(int* o) {{ {kernel.source} }}'
    module = we.ptx.Module.from_cuda(source, arch="sm_90")
    report = module["k"][1, kernel.threads](np.zeros(512, np.int32), findings="report")
    return {(x.severity, x.kind) for x in report.findings}


def table() -> Iterator[str]:
    yield "| kernel | racecheck | synccheck | the H200 | the emulator | why |\n|---|---|---|---|---|---|"
    for kernel in SMALL_KERNELS:
        said = ", ".join(f"{severity}: {kind}" for severity, kind in sorted(found(kernel))) or "nothing"
        tools = " | ".join(x or "not noted" for x in (kernel.racecheck, kernel.synccheck, kernel.chip))
        yield f"| {kernel.says} | {tools} | {said} | {kernel.why} |"
