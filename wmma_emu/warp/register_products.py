# SPDX-License-Identifier: MIT
"""Products of warps straight from their registers, in compiled code."""

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic import ENGINES, DotProduct, fastest
from wmma_emu.formats import Format
from wmma_emu.formats.packing import pack_words, unpack_words
from wmma_emu.layouts import LaneMap

__all__ = ["multiply_registers"]

def multiply_registers(
    product: DotProduct,
    layouts: tuple[LaneMap, LaneMap, LaneMap, LaneMap],
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any],
    *,
    automatic: bool = False,
) -> NDArray[Any] | None:
    """Compute D = A B + C with the numba engine; None where matrices have to be put together first.

    Few warps gain more than many: what this leaves out takes as long for one as for hundreds.

    Parameters
    ----------
    product : DotProduct
    layouts : tuple of LaneMap
        Of A, B, C and D.
    a, b, c : uint32 arrays, shape (num_registers, *warps, 32)
        Registers whose warps' axes broadcast.
    automatic : bool
        None as well where compiled code does not pay yet.

    Returns
    -------
    uint32 array, shape (num_registers, *warps, 32), or None
    """
    if product.model.arithmetic != "aligned_sum" or not _are_plain(layouts):
        return None
    if [x.element_bits for x in layouts[:2]] != [product.a.bits, product.b.bits]:  # in containers, among padding
        return None
    try:
        warps = np.broadcast_shapes(a.shape[1:-1], b.shape[1:-1], c.shape[1:-1])
    except ValueError:
        return None
    if not prod(warps):
        return None
    if automatic and not _pays(product, prod(warps), layouts[3]):
        return None
    x, y, z = (_side_by_side(registers, warps) for registers in (a, b, c))
    d = ENGINES["numba"].load().multiply_registers(
        product, _places(*layouts[:3]), x, y, _elements(z, product.c)
    )  # fmt: skip
    if d is None:
        return None
    registers = d if product.d.bits == 32 else pack_words(d, product.d)
    return np.asarray(registers.reshape(len(registers), *warps, registers.shape[-1]))


def _pays(product: DotProduct, warps: int, d: LaneMap) -> bool:
    return fastest(product, warps, d.rows, d.cols, product.k, side_by_side=True) == "numba"


@lru_cache(maxsize=256)
def _are_plain(layouts: tuple[LaneMap, LaneMap, LaneMap, LaneMap]) -> bool:
    """Whether a warp holds one matrix of each, reads every element from one lane, and holds C where it gets D."""
    same = np.array_equal(layouts[2].coords, layouts[3].coords)
    return same and all(x.num_matrices == 1 and not x.reads_copies and x.register_bits == 32 for x in layouts)


def _side_by_side(registers: NDArray[Any], warps: tuple[int, ...]) -> NDArray[Any]:
    full = np.broadcast_to(registers, (len(registers), *warps, registers.shape[-1]))
    return np.ascontiguousarray(full).reshape(len(registers), -1, registers.shape[-1])


def _elements(registers: NDArray[Any], fmt: Format) -> NDArray[Any]:
    return registers if fmt.bits == 32 else unpack_words(registers, fmt)


@lru_cache(maxsize=256)
def _places(a: LaneMap, b: LaneMap, c: LaneMap) -> Any:
    """Where each element stands, as compiled code is told of it."""
    from wmma_emu.arithmetic.numba_lanes import Places  # numba is an extra

    rows, columns = _words_of(a), _words_of(b).swapaxes(0, 1)
    elements = _holders(c).swapaxes(0, 1)
    return Places(*(np.ascontiguousarray(x, np.int32) for x in (rows, columns, elements)))


def _words_of(layout: LaneMap) -> NDArray[np.int64]:
    """Register, lane and lowest bit of each element of the matrix: (rows, cols, 3)."""
    element, lane = np.moveaxis(_holders(layout), -1, 0)
    register, slot = np.divmod(element, layout.elements_per_register)
    return np.stack((register, lane, slot * layout.element_bits), axis=-1)


def _holders(layout: LaneMap) -> NDArray[np.int64]:
    """Number and lane of each element of the matrix, of copies the first: (rows, cols, 2)."""
    number, lane = np.indices((layout.num_elements, layout.num_lanes))
    found = np.stack((layout.scatter(number), layout.scatter(lane)), axis=-1)
    return found.astype(np.int64)
