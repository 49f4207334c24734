# SPDX-License-Identifier: MIT
"""Chains of fused multiply-adds in compiled code, in float32 and float64, each rounded to nearest.

The processor's fused multiply-add follows IEEE 754, like the GPU's. Their NaN results differ, so the caller handles
results that are NaN. Lengths of tuples are known to numba at compile time, as in `wmma_emu.arithmetic.numba_kernels`.
"""

from typing import Any

from llvmlite import ir
from numba import njit
from numba.extending import intrinsic


@intrinsic
def _fma(typing: Any, x: Any, y: Any, z: Any) -> Any:
    """Compute ``x * y + z``, rounded once."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return x(x, y, z), generate


@njit(nogil=True, cache=True, error_model="numpy")
def multiply_chains(part, a, b, c, added):
    """Accumulate over k for each element of c, which receives the result.

    Shapes are (m, K), (K, n), (m, n). The length of ``part`` is the number of products that are processed in
    registers: for a short chain, its length. If ``added``, chains of that length start from +0 and are then added to c
    with rounding; otherwise there is one chain that starts from c.
    """
    whole = a.shape[1] - a.shape[1] % len(part)
    for i in range(a.shape[0]):
        for start in range(0, whole, len(part)):
            for j in range(c.shape[1]):
                running = c.dtype.type(0) if added else c[i, j]
                for k in range(len(part)):
                    running = _fma(a[i, start + k], b[start + k, j], running)
                c[i, j] = c[i, j] + running if added else running
        for k in range(whole, a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] = _fma(a[i, k], b[k, j], c[i, j])
