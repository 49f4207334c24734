# SPDX-License-Identifier: MIT
"""The undefined elements of D = A B + C, from undefined rows of A, columns of B and elements of C."""

from collections.abc import Sequence

import numpy as np

from wmma_emu.formats.codec import Bits
from wmma_emu.ptx.definedness.undefined import Undefined, origin_of, origin_of_warp
from wmma_emu.ptx.program.program import Operand
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.lane_operations import Active, Array
from wmma_emu.ptx.steps.matrix_operands import BoundProduct
from wmma_emu.ptx.widths import bits_of_type, dtype_of_bits
from wmma_emu.warp.quad_pairs import per_quad_pair


def undefined_elements(a: Array, b: Array, c: Array) -> Array:
    """Return the undefined elements of D, from those of A (..., m, k), B (..., k, n) and C (..., m, n).

    Examples
    --------
    >>> a, b, c = np.zeros((2, 4), bool), np.zeros((4, 3), bool), np.zeros((2, 3), bool)
    >>> a[1, 2] = c[0, 2] = True
    >>> undefined_elements(a, b, c).astype(int)
    array([[0, 0, 1],
           [1, 1, 1]])
    """
    found: Array = a.any(axis=-1, keepdims=True) | b.any(axis=-2, keepdims=True) | c
    return found


def undefined_product(
    state: State,
    bound: BoundProduct,
    sources: Sequence[tuple[Operand | None, ...]],
    kinds: Sequence[str],
    active: Active,
) -> Undefined | None:
    """Return the undefined bits of the registers of D, (registers, blocks, warps, 32); None if all are defined."""
    dtypes = [dtype_of_bits(bits_of_type(kind)) for kind in kinds]
    given = [state.undefined_of(x, dtype, active) for x, dtype in zip(sources, dtypes, strict=True)]
    if all(x is None for x in given):
        return None
    matrix = bound.matrix
    operands = matrix.a, matrix.b, matrix.c
    layouts = [x.layout for x in (*operands, matrix.d)]
    if any(layout.reads_copies for layout in layouts):
        layouts = [per_quad_pair(layout) for layout in layouts]
    elements = []
    for found, operand, layout, dtype, name in zip(given, operands, layouts, dtypes, "abc", strict=False):
        registers = np.zeros((operand.num_registers, 1, 1, 32), dtype)
        if found is not None:
            registers = np.broadcast_to(found.bits, (operand.num_registers, *state.shape))
        elements.append(layout.scatter(operand.unpack_elements(registers, name)) != 0)
    lost: Bits = layouts[3].gather(undefined_elements(*elements).astype(np.uint8))
    fmt = matrix.d.format
    patterns = np.where(lost != 0, fmt.storage.type(fmt.mask), fmt.storage.type(0))
    origin = origin_of([None if x is None else undefined_warps(x) for x in given])
    return Undefined(matrix.d.pack_elements(patterns), origin)


def undefined_warps(undefined: Undefined) -> Undefined:
    """Return the warps in which any of several registers has undefined bits, as a narrow mask with the origin."""
    return Undefined((undefined.bits != 0).any(axis=(0, -1), keepdims=True)[0], origin_of_warp(undefined))
