# SPDX-License-Identifier: MIT
"""The reference engine: the specification, element by element."""

import numpy as np

from wmma_emu.arithmetic import reference
from wmma_emu.arithmetic.blocks import Progress
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.scaled_codes import split_codes
from wmma_emu.formats.codec import Bits


def multiply_block(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None = None) -> None:
    """Compute every element with `wmma_emu.arithmetic.reference.dot`, instruction by instruction over K."""
    block = product.scale_block
    (a, scale_a), (b, scale_b) = (split_codes(x) if block else (x, x) for x in (a, b))
    for done, (index, i, j) in enumerate(np.ndindex(d.shape)):
        row, column = a[index, i].tolist(), b[index, :, j].tolist()
        running = int(c[index, i, j])
        for k in range(0, len(row), product.k):
            here = slice(k, k + product.k)
            scales = [(), ()]
            if block:
                scales = [scale_a[index, i, here][::block].tolist(), scale_b[index, here, j][::block].tolist()]
            running = reference.dot(product, row[here], column[here], running, reference.UNIT, *scales)
        d[index, i, j] = running
        if progress is not None and done % 1024 == 0:
            progress(done / d.size)
