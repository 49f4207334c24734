# SPDX-License-Identifier: MIT
"""The numba engine for many small matrices side by side, directly from registers.

Matrices of one warp have 8 to 32 rows and columns: loops over them are too short for vector instructions. The loops of
this module run over the warps. Operands are read from any position of words: registers of lanes, or rows of matrices.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.blocks import available_cores
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.numba_kernels import StepShape, multiply_lanes
from wmma_emu.arithmetic.operands import operand_codes, step_order
from wmma_emu.arithmetic.scaled_codes import ELEMENT_BITS
from wmma_emu.arithmetic.tiles import from_accumulator_bits, largest_exact_step, to_accumulator_bits
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits
from wmma_emu.scalar import convert

_WORTH_A_THREAD = 1 << 18
"""The minimum multiply-adds of a thread: a quarter of a millisecond."""

_BLOCK = 64
"""The number of matrices that compiled code processes at once."""


class Places(NamedTuple):
    """The positions of matrix elements: words and bits.

    A and B have the shapes (m, K, 3) and (n, K, 3): word, part (the lane of a register) and lowest bit of each element.
    C has the shape (n, m, 2): word and part of each element of c and d, which fill a word each.
    """

    a: NDArray[np.int32]
    b: NDArray[np.int32]
    c: NDArray[np.int32]


def shape_of(product: DotProduct) -> StepShape:
    """Return the compile-time parameters of a product, as lengths of tuples."""
    terms = len(product.steps[0])
    at_once = terms if terms <= largest_exact_step(product) else terms // 2
    return StepShape((0,) * terms, (0,) * at_once, (0,) * (product.model.accumulator == "f16"))


def joins_of(product: DotProduct) -> tuple[bool, bool]:
    """Return whether c is added last, and whether the results of steps are added."""
    return product.model.c_joins == "last_add", product.model.partial_sums == "added"


def unit_of(product: DotProduct) -> NDArray[np.int32]:
    """Return the parameters of a model for compiled code, in the order of `numba_kernels`."""
    model, out = product.model, product.model.output_format
    keep = -1 << (23 - out.fraction_bits) if model.accumulator == "f32" else -1
    numbers = model.fraction_bits, model.min_exponent, model.accumulator_format.emin, model.rounding == "RNE", keep
    return np.array(numbers, np.int32)


def lanes_of(product: DotProduct) -> StepShape:
    """Return the compile-time parameters of a product whose columns are matrices."""
    return shape_of(product)._replace(own_a=(0,))


def multiply_words(
    product: DotProduct,
    places: Places,
    a: NDArray[np.uint32],
    b: NDArray[np.uint32],
    c: Bits,
    threads: int = 1,
) -> Bits:
    """Compute D = A B + C for every matrix of a batch, from words.

    The product is an aligned sum that the numba engine supports. A, B, C and D have the shape (words, matrices, parts);
    A and B are contiguous, C and D have one element per word.
    """
    accumulator = product.model.accumulator_format
    addends = c if product.c == accumulator else convert(c, product.c, accumulator)
    sums = from_accumulator_bits(addends, product).copy()
    a_codes, b_codes = operand_codes(product)
    left = a, places.a, _bits(product, product.a), a_codes
    right = b, places.b, _bits(product, product.b), b_codes
    shape = lanes_of(product)
    numbers = step_order(product, places.a.shape[1]), len(product.steps), joins_of(product), unit_of(product)

    def multiply(part: range) -> None:
        multiply_lanes(shape, part.start, part.stop, left, right, sums, places.c, *numbers)

    parts = _parts(sums.shape[1], places, threads)
    if len(parts) == 1:
        multiply(parts[0])
    else:
        list(_pool().map(multiply, parts))
    return _patterns(product, sums)


def _patterns(product: DotProduct, sums: NDArray[np.float32]) -> Bits:
    """Return the patterns of d, with canonical NaN."""
    accumulator = product.model.accumulator_format
    if accumulator.name == "f32" == product.d.name and not np.isnan(sums).any():
        return sums.view(np.uint32)
    return convert(to_accumulator_bits(sums, product), accumulator, product.d)


def _parts(count: int, places: Places, threads: int) -> list[range]:
    """Split the matrices into parts of whole blocks, as many as there are useful threads."""
    work = count * places.a.shape[0] * places.b.shape[0] * places.a.shape[1]
    size = -(-count // max(min(threads, work // _WORTH_A_THREAD), 1))
    size = -(-size // _BLOCK) * _BLOCK
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


@cache
def _pool() -> ThreadPoolExecutor:
    """Return a persistent thread pool: starting a thread takes as long as some of these products."""
    return ThreadPoolExecutor(available_cores(), thread_name_prefix="wmma_emu")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child process lacks the threads


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


def _bits(product: DotProduct, fmt: Format) -> NDArray[np.uint32]:
    """Return the bits of a code, which is a pattern if there is no scale, and the number of ignored low bits."""
    width = fmt.bits if product.scale is None else 2 * ELEMENT_BITS
    return np.array([(1 << width) - 1, fmt.ignored_low_bits], np.uint32)
