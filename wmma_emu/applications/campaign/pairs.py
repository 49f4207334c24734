# SPDX-License-Identifier: MIT
"""Every A of a pool times every B, as one product of tall matrices: how the emulator keeps up with a GPU.

On one thread: a campaign has a process for each core.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic import DotProduct, matmul
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits
from wmma_emu.generators import Operands, Scales
from wmma_emu.instructions import Instruction
from wmma_emu.layouts import granularity_of
from wmma_emu.warp.sparse import Extras, expand, multiply

_Order = NDArray[np.intp]


def emulate_pairs(
    instruction: Instruction, product: DotProduct, operands: Operands, scales: Scales | None = None
) -> Bits:  # fmt: skip
    """Multiply every A by every B, adding the C of the B: shape (p, q, m, n), or (p, q, 4, m, n), not contiguous.

    There are ``p`` tiles of A, ``q`` of B and of C, four times as many where a warp multiplies four; block scales are
    as the instruction reads them.
    """
    together = instruction.products
    if together == 1:
        return _pairs(instruction, product, operands, scales)
    a, b, c, _ = operands  # no sparse instruction multiplies several
    parts = (Operands(a[i::together], b[i::together], c[i::together], None) for i in range(together))
    return np.stack([_pairs(instruction, product, part, None) for part in parts], axis=2)


def _pairs(instruction: Instruction, product: DotProduct, operands: Operands, scales: Scales | None) -> Bits:
    a, b, c, indices = operands
    (p, m, terms), (q, k, n) = a.shape, b.shape
    rows = a.reshape(p * m, terms)
    columns = np.ascontiguousarray(b.transpose(1, 0, 2)).reshape(k, q * n)
    sums = np.broadcast_to(c.transpose(1, 0, 2).reshape(m, q * n), (p, m, q * n)).reshape(p * m, q * n)
    of_rows, of_columns = _scales(scales)
    if indices is None:
        d = matmul(product, rows, columns, sums, threads=1, scale_a=of_rows, scale_b=of_columns)
    else:
        places = indices.reshape(p * m, terms)
        d = _sparse(instruction, product, rows, columns, sums, places, of_rows, of_columns)
    return d.reshape(p, m, q, n).transpose(0, 2, 1, 3)


def _scales(scales: Scales | None) -> tuple[Bits | None, Bits | None]:
    if scales is None:
        return None, None
    of_rows: Bits = scales.a.reshape(-1, scales.a.shape[-1])
    of_columns: Bits = np.ascontiguousarray(scales.b.transpose(1, 0, 2)).reshape(scales.b.shape[1], -1)
    return of_rows, of_columns


def _sparse(
    instruction: Instruction, product: DotProduct, rows: Bits, columns: Bits, sums: Bits, indices: NDArray[np.int64],
    scale_a: Bits | None, scale_b: Bits | None,
) -> Bits:  # fmt: skip
    """Put zeros where a packed A has nothing, which is many times faster than to gather B for each of its rows.

    A product that is zero has no part in an aligned sum, so it may stand in any step. But zero times infinity is
    NaN: for columns of B that have infinities or NaN, B is gathered.
    """
    order = _dense_order(instruction, product)
    if order is None or product.model.scaling == "groups":  # no engine has groups of so many terms but the reference
        return _gathered(product, rows, columns, sums, indices, scale_a, scale_b)
    model = replace(product.model, terms_per_step=2 * product.model.terms_per_step, k_order="ascending")
    dense = replace(product, model=model, k=instruction.k)
    expanded = expand(instruction, rows, indices)[:, order]
    d = matmul(dense, expanded, columns[order], sums, threads=1, scale_a=scale_a, scale_b=scale_b)
    special = _is_special(columns, product.b).any(0)
    if special.any():
        own = None if scale_b is None else scale_b[:, special]
        d[:, special] = _gathered(product, rows, columns[:, special], sums[:, special], indices, scale_a, own)
    return d


def _gathered(
    product: DotProduct, rows: Bits, columns: Bits, sums: Bits, indices: NDArray[np.int64],
    scale_a: Bits | None, scale_b: Bits | None,
) -> Bits:  # fmt: skip
    own = None if scale_a is None else scale_a[:, None]
    extras = Extras(indices[:, None], own, scale_b)
    d = multiply(product, rows[:, None], columns, sums[:, None], extras, threads=1)
    return d[:, 0]


def _dense_order(instruction: Instruction, product: DotProduct) -> _Order | None:
    """Put the k of the dense product into the order in which the steps of the packed one take them.

    None where no order does: in chains every multiply-add counts; steps may differ in length, or end within a chunk.
    """
    if product.model.arithmetic in ("integer", "popcount"):
        return np.arange(instruction.k)
    if product.model.arithmetic == "fma_chain":
        return None
    if len(product.steps) > 1 and any(len(step) != product.model.terms_per_step for step in product.steps):
        return None
    places = granularity_of(instruction)
    chunks = [list(dict.fromkeys(i // places.kept for i in step)) for step in product.steps]
    order = [chunk * places.chunk + i for step in chunks for chunk in step for i in range(places.chunk)]
    return np.array(order, np.intp) if sorted(order) == list(range(instruction.k)) else None


def _is_special(bits: Bits, fmt: Format) -> NDArray[np.bool_]:
    """Where infinities and NaN are, as the chip reads the patterns."""
    if not fmt.is_float:
        return np.zeros(bits.shape, np.bool_)
    magnitude = (bits & bits.dtype.type(fmt.mask & ~fmt.sign_mask)) >> bits.dtype.type(fmt.ignored_low_bits)
    return magnitude > (fmt.max_finite >> fmt.ignored_low_bits)
