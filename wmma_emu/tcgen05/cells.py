# SPDX-License-Identifier: MIT
"""Reading and writing of whole operands in tensor memory, cell by cell, according to their placement."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import AlignmentError, FragmentMismatchError
from wmma_emu.formats.codec import Bits
from wmma_emu.tcgen05.data_layouts import Placement
from wmma_emu.tcgen05.tensor_memory import TensorMemory, column_of, lane_of


def base_of(name: str, address: object, lanes: tuple[int, ...], columns: int = 1) -> tuple[int, int]:
    """Check the address of an operand; return lane and column.

    The lane must be one of ``lanes``, the column a multiple of ``columns``.

    Examples
    --------
    >>> base_of("d", 0x100020, (0, 16))
    (16, 32)
    """
    lane, column = lane_of(address), column_of(address)  # type: ignore[arg-type]
    if lane not in lanes:
        legal = " or ".join(str(x) for x in lanes)
        raise AlignmentError(f"{name} must begin in lane {legal}, not {lane} (address {address:#x})")
    if column % columns:
        raise AlignmentError(f"{name} must begin in a column that is a multiple of {columns}, not in {column}")
    return lane, column


def read_cells(memories: tuple[TensorMemory, ...], placement: Placement, lane: int, column: int) -> Bits:
    """Read every cell of an operand: uint32 patterns, (rows, columns).

    Replicas that differ are rejected, because the manual does not define the result.
    """
    words = np.zeros(placement.cta.shape, np.uint32)
    for i, memory in enumerate(memories):
        of_cta = placement.cta == i
        if of_cta.any():
            lanes, columns = placement.lane[of_cta] + lane, placement.column[of_cta] + column
            words[of_cta] = memory.read_masked(lanes, columns, _masks(placement)[of_cta])
    cells: Bits = words >> placement.bit.astype(np.uint32) & _mask(placement)
    if placement.copies > 1 and (cells != cells[:1]).any():
        copy, row, place = np.argwhere(cells != cells[:1])[0].tolist()
        raise FragmentMismatchError(
            f"tensor memory has {placement.copies} replicas of {placement.operand}, and those of element "
            f"({row}, {place}) differ: {_position(placement, 0, row, place)} and "
            f"{_position(placement, copy, row, place)}; "
            "write the same bits to all of them"
        )
    first: Bits = cells[0]
    return first


def require_cells(memories: tuple[TensorMemory, ...], placement: Placement, lane: int, column: int) -> None:
    """Raise the errors of a write of all cells, without writing."""
    for i, memory in enumerate(memories):
        of_cta = placement.cta == i
        if of_cta.any():
            memory.require_allocated(placement.lane[of_cta] + lane, placement.column[of_cta] + column)


def write_d(
    memories: tuple[TensorMemory, ...],
    placement: Placement,
    lane: int,
    column: int,
    bits: Bits,
    kept: NDArray[np.bool_] | None = None,
) -> None:
    """Write D, an element per word, except in the lanes of ``kept``, (CTAs, 128). Errors leave memory unchanged."""
    require_cells(memories, placement, lane, column)
    words = np.broadcast_to(bits.astype(np.uint32), placement.cta.shape)
    for i, memory in enumerate(memories):
        lanes = placement.lane + lane
        of_cta = placement.cta == i
        if kept is not None:
            of_cta = of_cta & ~kept[i][lanes]
        if of_cta.any():
            memory.write(lanes[of_cta], placement.column[of_cta] + column, words[of_cta], bits=placement.bits)


def write_cells(memories: tuple[TensorMemory, ...], placement: Placement, lane: int, column: int, cells: Bits) -> None:
    """Write every cell of an operand, all replicas, and no other bits. Errors leave memory unchanged."""
    require_cells(memories, placement, lane, column)
    values = np.broadcast_to(cells.astype(np.uint32) & _mask(placement), placement.cta.shape)
    for i, memory in enumerate(memories):
        of_cta = placement.cta == i
        if not of_cta.any():
            continue
        lanes, columns = placement.lane[of_cta] + lane, placement.column[of_cta] + column
        words = values[of_cta] << placement.bit[of_cta].astype(np.uint32)
        memory.write_masked(lanes, columns, words, _masks(placement)[of_cta])


def _masks(placement: Placement) -> NDArray[np.uint32]:
    """Return the bits of its word that each cell occupies."""
    masks: NDArray[np.uint32] = _mask(placement) << placement.bit.astype(np.uint32)
    return masks


def _mask(placement: Placement) -> np.uint32:
    return np.uint32((1 << placement.bits) - 1)


def _position(placement: Placement, copy: int, row: int, column: int) -> str:
    at = copy, row, column
    return f"lane {placement.lane[at]}, column {placement.column[at]} of CTA {placement.cta[at]}"
