# SPDX-License-Identifier: MIT
"""Products of warps computed directly from their registers, in compiled code."""

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic import ENGINES, DotProduct, fastest
from wmma_emu.formats.packing import pack_words, unpack_words
from wmma_emu.layouts import LaneMap


def fits_registers(product: DotProduct, layouts: tuple[LaneMap, ...]) -> bool:
    """Return whether compiled code can read products from registers with these layouts of A, B, C and D."""
    if product.model.arithmetic != "aligned_sum" or not _are_plain(layouts):
        return False
    # Other elements are in containers, with padding.
    return [x.element_bits for x in layouts[:2]] == [product.a.bits, product.b.bits]


def multiply_registers(
    product: DotProduct,
    layouts: tuple[LaneMap, ...],
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any],
) -> NDArray[Any] | None:
    """Compute D = A B + C with the numba engine; return None if matrices have to be assembled first.

    Few warps gain more than many: the time saved is the same for one warp as for hundreds. ``layouts`` belong to A,
    B, C and D. Registers are (num_registers, *warps, 32); the warps' axes broadcast.
    """
    warps = _warps(a, b, c)
    if not prod(warps) or not fits_registers(product, layouts):
        return None
    x, y, z = (_side_by_side(registers, warps) for registers in (a, b, c))
    z = z if product.c.bits == 32 else unpack_words(z, product.c)
    d = ENGINES["numba"].load().multiply_registers(product, _positions(*layouts[:3]), x, y, z)
    if d is None:
        return None
    registers = d if product.d.bits == 32 else pack_words(d, product.d)
    return np.asarray(registers.reshape(len(registers), *warps, registers.shape[-1]))


def engine_of_registers(product: DotProduct, d: LaneMap, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> str:
    """Choose the engine for ``"auto"`` if registers fit: numba for registers, or another engine for matrices."""
    return fastest(product, max(prod(_warps(a, b, c)), 1), d.rows, d.cols, product.k, side_by_side=True)


def _warps(*registers: NDArray[Any]) -> tuple[int, ...]:
    """Return the broadcast warps' axes, or an empty tuple if they do not broadcast."""
    try:
        return np.broadcast_shapes(*(x.shape[1:-1] for x in registers))
    except ValueError:
        return (0,)


@lru_cache(maxsize=256)
def _are_plain(layouts: tuple[LaneMap, ...]) -> bool:
    """Return whether a warp holds one matrix each, reads elements from one lane, and C and D share a layout."""
    same = np.array_equal(layouts[2].coords, layouts[3].coords)
    return same and all(x.num_matrices == 1 and not x.reads_copies and x.register_bits == 32 for x in layouts)


def _side_by_side(registers: NDArray[Any], warps: tuple[int, ...]) -> NDArray[Any]:
    count, *own, lanes = registers.shape
    missing = (1,) * (len(warps) - len(own))  # after the axis of registers
    full = np.broadcast_to(registers.reshape(count, *missing, *own, lanes), (count, *warps, lanes))
    return np.ascontiguousarray(full).reshape(len(registers), -1, registers.shape[-1])


@lru_cache(maxsize=256)
def _positions(a: LaneMap, b: LaneMap, c: LaneMap) -> Any:
    """Return the position of each element in the form that compiled code expects."""
    from wmma_emu.arithmetic.numba_lanes import Places  # numba is an extra

    rows, columns = _words_of(a), _words_of(b).swapaxes(0, 1)
    elements = _owners(c).swapaxes(0, 1)
    return Places(*(np.ascontiguousarray(x, np.int32) for x in (rows, columns, elements)))


def _words_of(layout: LaneMap) -> NDArray[np.int64]:
    """Return register, lane and lowest bit of each element of the matrix: (rows, cols, 3)."""
    element, lane = np.moveaxis(_owners(layout), -1, 0)
    register, slot = np.divmod(element, layout.elements_per_register)
    return np.stack((register, lane, slot * layout.element_bits), axis=-1)


def _owners(layout: LaneMap) -> NDArray[np.int64]:
    """Return number and lane of each element of the matrix, of the first replica: (rows, cols, 2)."""
    number, lane = np.indices((layout.num_elements, layout.num_lanes))
    found = np.stack((layout.scatter(number), layout.scatter(lane)), axis=-1)
    return found.astype(np.int64)
