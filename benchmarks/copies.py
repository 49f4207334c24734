# SPDX-License-Identifier: MIT
"""How long one product takes whose tiles are copied by tensor maps, and by `cp.async`: Triton compiles both."""

import datetime
import os
import statistics
import time
from typing import Any

import numpy as np

import wmma_emu as we
from benchmarks.machine import installed

_TILE, _DEPTH = 128, 64

try:
    import triton
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError:
    pass
else:

    @triton.jit
    def with_tensor_maps(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
        m = tl.program_id(0) * BM
        n = tl.program_id(1) * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
        c.store([m, n], acc.to(tl.float16))

    @triton.jit
    def with_pointers(a, b, c, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
        m = tl.program_id(0) * BM + tl.arange(0, BM)
        n = tl.program_id(1) * BN + tl.arange(0, BN)
        k = tl.arange(0, BK)
        pa = a + m[:, None] * sa + k[None, :]
        pb = b + n[None, :] * sb + k[:, None]
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for _ in range(0, K, BK):
            acc = tl.dot(tl.load(pa), tl.load(pb), acc)
            pa += BK
            pb += BK
        tl.store(c + m[:, None] * sc + n[None, :], acc.to(tl.float16))


def measure(size: int, rounds: int) -> list[dict[str, Any]]:
    """Return the CPU seconds of both kernels, in turn, with all checks; raises if their bits differ."""
    if not installed("triton"):
        return []
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, size)).astype(np.float16) for _ in range(2))
    c, d = np.zeros((size, size), np.float16), np.zeros((size, size), np.float16)
    grid, tiles, options = (size // _TILE,) * 2, (_TILE, _TILE, _DEPTH), {"num_warps": 4, "num_stages": 3}

    def descriptor(x: Any, rows: int, columns: int) -> Any:
        return TensorDescriptor(we.ptx.TritonTensor(x), [*x.shape], [size, 1], [rows, columns])

    def by_maps() -> None:
        inputs = (descriptor(x, _TILE, _DEPTH) for x in (a, b))
        with_tensor_maps[grid](*inputs, descriptor(c, _TILE, _TILE), size, *tiles, **options)

    def by_pointers() -> None:
        with_pointers[grid](a, b, d, size, size, size, size, *tiles, **options)

    times: list[list[float]] = [[], []]
    with we.emulate("h100", findings="raise"):
        by_maps(), by_pointers()
        for _ in range(rounds):
            for found, call in zip(times, (by_maps, by_pointers), strict=True):
                begun = time.process_time()
                call()
                found.append(time.process_time() - begun)
    if not np.array_equal(c.view(np.uint16), d.view(np.uint16)):
        raise RuntimeError("the kernels differ in bits")
    ratios = [x / y for x, y in zip(*times, strict=True)]
    return [
        {
            "size": size, "maps": statistics.median(times[0]), "pointers": statistics.median(times[1]),
            "ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios),
            "date": datetime.date.today().isoformat(), "load": os.getloadavg()[0],
        }
    ]  # fmt: skip
