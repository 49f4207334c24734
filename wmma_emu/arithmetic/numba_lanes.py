# SPDX-License-Identifier: MIT
"""The numba engine for many small matrices: side by side, straight from the registers that hold them.

Matrices of one warp have 8 to 32 rows and columns: loops over those are too short for vector instructions. Here the
loops run over the warps. Operands are taken from wherever they stand in words, registers of lanes or rows of matrices.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.numba_kernels import multiply_lanes
from wmma_emu.arithmetic.numba_operands import codes_of, step_order
from wmma_emu.arithmetic.numba_shapes import joins_of, shape_of, unit_of
from wmma_emu.arithmetic.tiles import from_accumulator_bits, to_accumulator_bits
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits
from wmma_emu.scalar import convert

__all__ = ["Places", "multiply_matrices", "multiply_words"]


class Places(NamedTuple):
    """Where the elements of the matrices stand in words.

    Attributes
    ----------
    a, b : int32 arrays, shape (m, K, 3), (n, K, 3)
        Word, part (the lane of a register) and lowest bit of each element.
    c : int32 array, shape (n, m, 2)
        Word and part of each element of c and d, which fill a word each.
    """

    a: NDArray[np.int32]
    b: NDArray[np.int32]
    c: NDArray[np.int32]


def multiply_words(product: DotProduct, places: Places, a: NDArray[np.uint32], b: NDArray[np.uint32], c: Bits) -> Bits:
    """Compute D = A B + C for every matrix of a batch, from words.

    Parameters
    ----------
    product : DotProduct
        One of aligned sums that the numba engine has.
    places : Places
    a, b : uint32 arrays, contiguous, shape (words, matrices, parts)
    c : unsigned integer array, shape (words, matrices, parts)
        Patterns of c, an element a word.

    Returns
    -------
    unsigned integer array, of the shape of c
        Patterns of d.
    """
    accumulator = product.model.accumulator_format
    sums = from_accumulator_bits(convert(c, product.c, accumulator), product).copy()
    first, second = product.operand_formats
    left = a, places.a, _bits(product.a), codes_of(product.a, first)
    right = b, places.b, _bits(product.b), codes_of(product.b, second)
    order = step_order(product, places.a.shape[1])
    multiply_lanes(
        shape_of(product)._replace(apart=(0,)), left, right, sums, places.c, order, len(product.steps),
        joins_of(product), unit_of(product),
    )  # fmt: skip
    return convert(to_accumulator_bits(sums, product), accumulator, product.d)


def multiply_matrices(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits) -> None:
    """Compute D = A B + C for every matrix of a batch, (batch, m, K), (batch, K, n), (batch, m, n)."""
    m, k, n = a.shape[1], a.shape[2], b.shape[2]
    i, j, depth = (np.arange(x, dtype=np.int32) for x in (m, n, k))
    rows = np.stack(np.broadcast_arrays(i[:, None], depth, np.int32(0)), axis=-1)
    columns = np.stack(np.broadcast_arrays(depth, j[:, None], np.int32(0)), axis=-1)
    cells = np.stack(np.broadcast_arrays(i, j[:, None]), axis=-1)
    x, y = (np.ascontiguousarray(bits.transpose(1, 0, 2), np.uint32) for bits in (a, b))
    found = multiply_words(product, Places(rows, columns, cells), x, y, c.transpose(1, 0, 2))
    d[...] = found.transpose(1, 0, 2)


def _bits(fmt: Format) -> NDArray[np.uint32]:
    return np.array([fmt.mask, fmt.ignored_low_bits], np.uint32)
