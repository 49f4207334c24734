# SPDX-License-Identifier: MIT
"""The kernels of the comparison of machines, run by one machine or by another emulator: a program that prints seconds.

    python benchmarks/machine_kernels.py HOW ROUNDS [quick]

HOW is "native" or "numpy"; "old" for a version of wmma_emu before there were two machines, with numba; "triton" for
Triton's interpreter, "numba" for numba's simulator. Prints JSON: the seconds of the processor of each round, by kernel.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

SAXPY, BRANCHES = "saxpy, 1e7 elements", "Collatz, 32,768 threads with random trip counts"
ONE_BLOCK, BLOCKS = "matmul f16, 64 x 64 x 64, one block", "matmul f16, 512 x 512 x 512, 64 blocks"
ATTENTION = "flash attention f16, 4 x 512 x 64"
KERNELS = (ONE_BLOCK, BLOCKS, ATTENTION, SAXPY, BRANCHES)

_SIZES = {ONE_BLOCK: 64, BLOCKS: 512}

_SIMULATED = 1 << 12
"""The threads of saxpy in numba's simulator, whose seconds are scaled to 1e7."""

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y) {
  .reg .b32 %r<6>; .reg .b64 %d<6>; .reg .f32 %f<5>; .reg .pred %p<2>;
  ld.param.u32 %r1, [n]; ld.param.f32 %f1, [a]; ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1; @%p1 bra DONE;
  cvta.to.global.u64 %d3, %d1; cvta.to.global.u64 %d4, %d2; mul.wide.u32 %d5, %r5, 4;
  add.s64 %d3, %d3, %d5; add.s64 %d4, %d4, %d5;
  ld.global.f32 %f2, [%d3]; ld.global.f32 %f3, [%d4]; fma.rn.f32 %f4, %f1, %f2, %f3; st.global.f32 [%d4], %f4;
  DONE: ret;
}
.visible .entry collatz(.param .u64 x, .param .u64 y) {
  .reg .b32 %r<9>; .reg .b64 %d<5>; .reg .pred %p<3>;
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;
  mul.wide.u32 %d3, %r5, 4; add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3;
  ld.global.u32 %r6, [%d1]; mov.u32 %r7, 0;
  LOOP: setp.le.u32 %p1, %r6, 1; @%p1 bra DONE;
  and.b32 %r8, %r6, 1; setp.eq.u32 %p2, %r8, 0; @%p2 bra EVEN;
  mad.lo.u32 %r6, %r6, 3, 1; bra NEXT;
  EVEN: shr.u32 %r6, %r6, 1;
  NEXT: add.u32 %r7, %r7, 1; bra LOOP;
  DONE: st.global.u32 [%d2], %r7; ret;
}"""


def emulated(how: str, quick: bool) -> dict[str, Callable[[], Any]]:
    """Return the launches of each kernel in wmma_emu."""
    import wmma_emu as we
    from examples.ptx.cases import CASES
    from examples.ptx.texts import compiled

    options: dict[str, Any] = {"engine": "numba"} if how == "old" else {"machine": how}
    own = we.ptx.Module(PTX, arch="sm_90", findings="raise", **options)
    rng = np.random.default_rng(1)
    n = 100_000 if quick else 10_000_000
    x, y = rng.standard_normal(n).astype(np.float32), np.zeros(n, np.float32)
    start, count = rng.integers(1, 100_000, 32_768).astype(np.uint32), np.zeros(32_768, np.uint32)
    found: dict[str, Callable[[], Any]] = {
        SAXPY: lambda: own["saxpy"][-(-n // 256), 256](n, 2.5, x, y),
        BRANCHES: lambda: own["collatz"][128, 256](start, count),
    }
    case = CASES["triton_f16_512"]
    matmul = we.ptx.Module(compiled(case.text), arch="sm_90", findings="raise", **options)[case.kernel]
    for name, size in list(_SIZES.items())[: 1 if quick else 2]:
        a, b = (rng.standard_normal((size, size)).astype(np.float16) for _ in range(2))
        given = a, b, np.zeros((size, size), np.float16), *[size] * 6, 0, 0
        found[name] = lambda given=given, size=size: matmul[(size // 64, size // 64), case.block, case.shared](*given)
    case2 = CASES["triton_flash_attention" if quick else "triton_flash_attention_512"]
    module = we.ptx.Module(compiled(case2.text), arch="sm_90", findings="raise", **options)
    drawn = case2.draw(1)
    found[ATTENTION] = lambda: module[case2.kernel][case2.grid, case2.block, case2.shared](*drawn)
    return found


def interpreted(quick: bool) -> dict[str, Callable[[], Any]]:
    """Return the launches in Triton's interpreter."""
    os.environ["TRITON_INTERPRET"] = "1"
    import torch
    import triton

    from examples.ptx.triton_flash_attention import flash_attention
    from examples.ptx.triton_matmul import matmul

    del triton
    found: dict[str, Callable[[], Any]] = {}
    for name, size in list(_SIZES.items())[: 1 if quick else 2]:
        a, b, d = (torch.randn(size, size).to(torch.float16) for _ in range(3))
        grid = size // 64, size // 64
        found[name] = lambda given=(a, b, d, *[size] * 6), grid=grid: matmul[grid](
            *given, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, RAGGED=False, PRECISION="tf32", SUM=_float32()
        )
    heads, T = (2, 128) if quick else (4, 512)
    q, k, v, out = (torch.randn(heads, T, 64).to(torch.float16) for _ in range(4))
    found[ATTENTION] = lambda: flash_attention[(T // 64, heads)](
        q, k, v, out, torch.zeros(heads, T), 0.18, T, HEAD=64, BLOCK_M=64, BLOCK_N=32
    )
    return found


def _float32() -> Any:
    import triton.language as tl

    return tl.float32


def simulated() -> dict[str, Callable[[], Any]]:
    """Return the launch of saxpy in numba's simulator, for a part of the elements."""
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    global cuda  # the simulator replaces a global name in each thread
    from numba import cuda

    @cuda.jit
    def saxpy(a: Any, x: Any, y: Any) -> None:
        i = cuda.grid(1)
        if i < x.size:
            y[i] = a * x[i] + y[i]

    x, y = np.ones(_SIMULATED, np.float32), np.zeros(_SIMULATED, np.float32)
    return {SAXPY: lambda: saxpy[-(-_SIMULATED // 256), 256](2.5, x, y)}


def main() -> None:
    """Measure, and print the results."""
    how, rounds, quick = sys.argv[1], int(sys.argv[2]), len(sys.argv) > 3
    warnings.simplefilter("ignore")
    runs = {"triton": lambda: interpreted(quick), "numba": simulated}.get(how, lambda: emulated(how, quick))()
    found: dict[str, list[float]] = {}
    for name, run in runs.items():
        run()  # compiles
        run()
        found[name] = [_seconds(run) * (1e7 / _SIMULATED if how == "numba" else 1) for _ in range(rounds)]
    print(json.dumps(found))


def _seconds(run: Callable[[], Any]) -> float:
    """Return the processor's seconds of a run, all threads together; of short runs, the mean of several."""
    begin = time.process_time()
    run()
    spent = time.process_time() - begin
    count = max(1, int(0.05 / max(spent, 1e-6)))
    begin = time.process_time()
    for _ in range(count):
        run()
    return (time.process_time() - begin) / count


if __name__ == "__main__":
    main()
