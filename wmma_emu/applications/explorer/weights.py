# SPDX-License-Identifier: MIT
"""A layout as a few numbers: the amount that each bit of lane and index adds to the number of the matrix element.

Every layout is linear in the bits of lane and index: if the elements of the matrices are counted along rows, matrix
after matrix, the element of a lane at an index is the sum of one weight for each bit that is set in either.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wmma_emu.errors import FragmentMismatchError
from wmma_emu.layouts import LaneMap
from wmma_emu.layouts.spec import Ints
from wmma_emu.warp.matrix_moves_table import MatrixMove


class CodedLayout(NamedTuple):
    """A layout as the page reads it: shape and number of matrices, bits and number of a lane's elements, weights.

    The instruction reads the first ``read`` elements of a lane. Weights are the amounts that each bit adds, the lowest
    bit first.
    """

    rows: int
    cols: int
    matrices: int
    bits: int
    elements: int
    read: int
    lane_weights: tuple[int, ...]
    index_weights: tuple[int, ...]


def weights_of(values: Ints) -> tuple[int, ...]:
    """Return the amount that each bit of an index adds to the value at the index, which is 0 at 0.

    Examples
    --------
    >>> weights_of(np.arange(32) % 4 * 2)
    (2, 4, 0, 0, 0)
    """
    return tuple(int(values[1 << bit]) for bit in range((len(values) - 1).bit_length()))


def linear(count: int, weights: Sequence[int]) -> Ints:
    """Return the sums of weights of all numbers below ``count``, as the page computes them.

    Examples
    --------
    >>> linear(6, (1, 8, 0)).tolist()
    [0, 1, 8, 9, 0, 1]
    """
    number = np.arange(count, dtype=np.int64)
    total = np.zeros(count, np.int64)
    for bit, weight in enumerate(weights):
        total += (number >> bit & 1) * weight
    return total


def coded_layout(layout: LaneMap) -> CodedLayout:
    """Return the weights of an operand's layout, which is linear in the bits of lane and index.

    Examples
    --------
    >>> import wmma_emu as we
    >>> coded_layout(we.instruction("m16n8k16.f32.f16.f16.f32").a.layout)[-2:]
    ((2, 4, 16, 32, 64), (1, 128, 8))
    """
    matrix = np.broadcast_to(layout.matrix_of_lane, layout.lane_shape).reshape(-1)
    row, col = np.moveaxis(layout.coords_of_lanes, -1, 0)
    cells = (matrix * layout.rows + row) * layout.cols + col
    sizes = layout.rows, layout.cols, layout.num_matrices, layout.element_bits
    return _coded(cells, (*sizes, layout.num_elements, layout.read_elements))


def coded_move(move: MatrixMove) -> CodedLayout:
    """Return the weights of the elements that a matrix move puts into registers, or takes from them.

    Examples
    --------
    >>> from wmma_emu.warp.matrix_moves_table import lookup_move
    >>> coded_move(lookup_move("ldmatrix", "ldmatrix.m8n8.x4.shared.b16")[0])[-2:]
    ((2, 4, 8, 16, 32), (1, 64, 128))
    """
    bits = 16 if move.types == "b16" else 8
    cols = 128 // bits if move.family == "movmatrix" or move.source_bits == bits else 16
    row, col = (x.reshape(-1, 32) for x in move.places)
    first = np.arange(move.count)[:, None, None] * move.rows * cols
    cells = (first + row * cols + col).reshape(-1, 32)
    return _coded(cells, (move.rows, cols, move.count, bits, len(cells), len(cells)))


def _coded(cells: Ints, sizes: tuple[int, int, int, int, int, int]) -> CodedLayout:
    """Fit the weights to the matrix element of every index and lane, and check all of them."""
    elements, lanes = cells.shape
    lane_weights = weights_of(cells[0])
    index_weights = weights_of(cells[:, 0])
    if not (linear(elements, index_weights)[:, None] + linear(lanes, lane_weights) == cells).all():
        raise FragmentMismatchError("the page supports only layouts that are linear in the bits of lane and index")
    return CodedLayout(*sizes, lane_weights, index_weights)


def expression(weights: Sequence[int], name: str) -> str:
    """Return a sum of weights of a number's bits in C; Python uses the same with ``//`` for ``/``.

    Examples
    --------
    >>> expression((1, 2, 4, 8, 0), "lane"), expression((0, 0, 0, 0, 8), "lane"), expression((0, 0), "lane")
    ('lane % 16', 'lane / 16 * 8', '0')
    >>> expression((1, 2, 4, 0, 8), "lane")
    'lane / 16 * 8 + lane % 8'
    """
    terms = []
    bit = 0
    while bit < len(weights):
        first, weight = bit, weights[bit]
        bit += 1
        if not weight:
            continue
        while bit < len(weights) and weights[bit] == weight << (bit - first):
            bit += 1
        term = name + (f" / {1 << first}" if first else "")
        term += f" % {1 << (bit - first)}" if any(weights[bit:]) or bit < len(weights) else ""
        terms.append(term + (f" * {weight}" if weight > 1 else ""))
    return " + ".join(reversed(terms)) or "0"
