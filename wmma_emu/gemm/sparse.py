# SPDX-License-Identifier: MIT
"""Whole matrices by a sparse instruction: A packed over all of K, each row of it beside the rows of B that it meets."""

from collections.abc import Callable

import numpy as np

from wmma_emu.arithmetic import DotProduct, matmul
from wmma_emu.formats.codec import Bits
from wmma_emu.instructions import Instruction
from wmma_emu.warp.sparse import compress, matmul_sparse

__all__ = ["matmul_over_k"]

_GATHERED = 1 << 22
"""Elements of B that are gathered for as many rows of A at a time."""


def matmul_over_k(
    instruction: Instruction,
    product: DotProduct,
    a: Bits,
    b: Bits,
    c: Bits,
    engine: str,
    progress: Callable[[float], None] | None = None,
) -> Bits:
    """Multiply all of A, zeros included; K is a multiple of the instruction's k, and C has the shape of D."""
    if not a.size or not c.size:
        return matmul(product, a, b, c, engine=engine)
    packed, indices = compress(instruction, a)
    d = np.empty(c.shape, product.d.storage)
    rows = max(_GATHERED // (packed.shape[-1] * c.shape[-1]), 1)
    for start in range(0, c.shape[-2], rows):
        here = np.s_[..., start : start + rows, :]
        d[here] = matmul_sparse(product, packed[here], b, c[here], indices[here], engine=engine)
        if progress is not None:
            progress(min(start + rows, c.shape[-2]) / c.shape[-2])
    return d
