# SPDX-License-Identifier: MIT
"""Chains of fused multiply-adds in compiled code, in float32 and float64, each rounded to nearest.

The processor's own fused multiply-add is IEEE 754's, as the GPU's is. What they make of NaN differs: results that are
NaN are left to the caller. Lengths of tuples are known when numba compiles, as in `wmma_emu.arithmetic.numba_kernels`.
"""

from typing import Any

from llvmlite import ir
from numba import njit
from numba.extending import intrinsic


@intrinsic
def _fma(typing: Any, x: Any, y: Any, z: Any) -> Any:
    """``x * y + z``, rounded once."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return x(x, y, z), generate


@njit(nogil=True, cache=True, error_model="numpy")
def multiply_chains(part, a, b, c, added):
    """Walk over k for each element of c, which takes the result.

    Shapes are (m, K), (K, n), (m, n). ``part`` is as long as products follow one another in registers: of a short
    chain, its own length. If ``added``, chains of that length start from +0 and are then added to c, rounded; else
    there is one chain, from c.
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
