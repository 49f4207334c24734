# SPDX-License-Identifier: MIT
"""Whole matrices by a sparse instruction: A packed over all of K, each row of it beside the rows of B that it meets."""

import re
from collections.abc import Callable

import numpy as np

from wmma_emu.arithmetic import DotProduct
from wmma_emu.errors import FragmentMismatchError
from wmma_emu.formats.codec import Bits
from wmma_emu.gemm.panels import Parts
from wmma_emu.instructions import Instruction
from wmma_emu.warp.sparse import Extras, compress, multiply

_GATHERED = 1 << 22
"""Elements of B that are gathered for as many rows of A at a time."""


def matmul_over_k(
    instruction: Instruction,
    product: DotProduct,
    parts: Parts,
    c: Bits,
    engine: str,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Bits:
    """Multiply all of A, zeros included; K is a multiple of the instruction's k, and C has the shape of D."""
    a = parts.a
    if not a.size or not c.size:
        return np.array(np.broadcast_to(c, c.shape))
    try:
        packed, indices = compress(instruction, a)
    except FragmentMismatchError as error:
        raise type(error)(_with_offset(str(error), parts.first or (0,) * a.ndim)) from None
    d = np.empty(c.shape, product.d.storage)
    rows = max(_GATHERED // (packed.shape[-1] * c.shape[-1]), 1)
    for start in range(0, c.shape[-2], rows):
        here = np.s_[..., start : start + rows, :]
        extras = Extras(indices[here], None if parts.scale_a is None else parts.scale_a[here], parts.scale_b)
        d[here] = multiply(product, packed[here], parts.b, c[here], extras, engine=engine, threads=threads)
        if progress is not None:
            progress(min(start + rows, c.shape[-2]) / c.shape[-2])
    return d


def _with_offset(message: str, first: tuple[int, ...]) -> str:
    """Count rows, columns and matrices from those of all of A."""
    *matrix, row, column = first

    def place(found: re.Match[str]) -> str:
        return f"row {int(found[1]) + row}, columns {int(found[2]) + column} to {int(found[3]) + column} of A"

    def which(found: re.Match[str]) -> str:
        inner = [int(x) for x in found[1].split(",") if x.strip()]
        return f"of matrix {tuple(x + y for x, y in zip(inner, matrix, strict=True))}"

    message = re.sub(r"^row (\d+), columns (\d+) to (\d+) of A", place, message)
    return re.sub(r"of matrix \(([\d, ]*)\)", which, message, count=1)
