# SPDX-License-Identifier: MIT
"""tcgen05.cp: copies rows of shared memory to lanes of tensor memory, each to one lane or to several."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import AlignmentError
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.instructions import Arch, arch_of
from wmma_emu.layouts.spec import Ints
from wmma_emu.tcgen05.data_movement import DEFAULT_ARCH, DataMovement, bound_data_movement
from wmma_emu.tcgen05.pairs import Memories, shared_memories, tensor_memories
from wmma_emu.tcgen05.shared_descriptor import SharedMemoryDescriptor, descriptor_on
from wmma_emu.tcgen05.shared_matrix import read_rows
from wmma_emu.tcgen05.tensor_memory import address, column_of, lane_of
from wmma_emu.warp.ldmatrix import sixteen_elements

_WORD_BYTES = 4

_ALIGNED_COLUMNS = 4
"""The first column must be a multiple of this: 128 bits (TVM, documentation of tcgen05.cp; not in the PTX manual)."""


DECOMPRESSIONS = {"b6x16_p32": (6, 0), "b4x16_p64": (4, 2)}
"""The decompression of sixteen elements at the beginning of a chunk of 16 bytes, whose rest is padding: bits of an
element, and the bit of its byte in tensor memory at which its lowest bit is stored. Sources and statuses are in the
entries of `wmma_emu.tcgen05.data_movement`. `tcgen05.mma` reads A of 8-bit containers in these bytes."""


@dataclass(frozen=True, slots=True)
class CopyShape(Sourced):
    """The rows and lanes of one shape of tcgen05.cp.

    Parameters
    ----------
    name : str
        ``"64x128b"``: rows of shared memory, and bits of each row.
    multicast : str
        ``"warpx4"``, ``"warpx2::02_13"``, ``"warpx2::01_23"``, or an empty string.
    rows : int
    columns : int
        The number of columns of 32 bits.
    lanes : callable
        The function from row numbers to lanes in tensor memory, relative to the address: (copies, rows).
    evidence : Evidence
    """

    name: str
    multicast: str
    rows: int
    columns: int
    lanes: Callable[[Ints], Ints]
    evidence: Evidence


def _in_order(row: Ints) -> Ints:
    return row[None]


def _one_each_warp(row: Ints) -> Ints:
    return 32 * row[None]


def _pairs_02_13(row: Ints) -> Ints:
    return np.stack((row, row + 64))


def _pairs_01_23(row: Ints) -> Ints:
    first = 64 * (row // 32) + row % 32
    return np.stack((first, first + 32))


def _all_warps(row: Ints) -> Ints:
    return row[None] + 32 * np.arange(4)[:, None]


_PAIRS = Evidence(
    "documented",
    "PTX ISA 9.0, 9.7.16.9.2 (pairs of warps that get the same half); CuTe, copy_traits_sm100.hpp: SM100_UTCCP_*",
)
_SHAPES = Evidence("inferred", "PTX ISA 9.0, 9.7.16.2.3; CuTe, copy_traits_sm100.hpp: SM100_UTCCP_*")
_B200 = "published notes on UTCCP (cicuvc/nvidia-sass-document on GitHub), 2026-09-17: read back on a B200"

_READ_BACK = Evidence("recorded", f"{_SHAPES.source}; {_B200}", frozenset({"128x256b"}), _SHAPES)

COPY_SHAPES: dict[tuple[str, str], CopyShape] = {(entry.name, entry.multicast): entry for entry in (
    CopyShape("128x256b", "", 128, 8, _in_order, _READ_BACK.of("128x256b")),
    CopyShape("4x256b", "", 4, 8, _one_each_warp, _SHAPES),
    CopyShape("128x128b", "", 128, 4, _in_order, _SHAPES),
    CopyShape("64x128b", "warpx2::02_13", 64, 4, _pairs_02_13, _PAIRS),
    CopyShape("64x128b", "warpx2::01_23", 64, 4, _pairs_01_23, _PAIRS),
    CopyShape("32x128b", "warpx4", 32, 4, _all_warps, _PAIRS),
)}  # fmt: skip
"""Every shape by name and multicast."""


def cp(
    tmem: Memories,
    where: int,
    memory: Any,
    descriptor: SharedMemoryDescriptor | int,
    instruction: str,
    *,
    arch: "str | Arch" = DEFAULT_ARCH,
) -> None:
    """Copy a matrix from shared memory to tensor memory: `tcgen05.cp`. An error leaves the memory unchanged.

    Parameters
    ----------
    tmem : TensorMemory, or two of them
        Two for ``.cta_group::2``: that of the CTA and that of its peer.
    where : int
        The address, in lane 0, or for 4x256b, whose rows go to every 32nd lane, in any lane from 0 to 31. The column
        is a multiple of 4.
    memory : uint8 array, 1-D, or two of them
        Shared memory from address 0; a separate one for each CTA.
    descriptor : SharedMemoryDescriptor or int
        A descriptor of rows that are contiguous along columns (K-major).
    instruction : str
        ``"tcgen05.cp.cta_group::1.64x128b.warpx2::02_13"``; with ``.b8x16.b6x16_p32`` each 16 bytes are sixteen
        elements of 6 bits and padding, and become sixteen bytes with the element in bits 5 to 0; with
        ``.b8x16.b4x16_p64`` sixteen of 4 bits, in bits 5 to 2.
    arch : str or Arch

    Raises
    ------
    UnsupportedInstructionError
        If the chip does not support the form, or the descriptor does not describe such rows.
    OutOfBoundsError
        If rows are outside of shared memory, or words outside of tensor memory or of the allocated columns.
    AlignmentError
        If the column is not a multiple of 4.
    FragmentMismatchError
        If a memory has the wrong type, or their number is not the number of CTAs.

    Warns
    -----
    UnverifiedModelWarning
        If the form was never read back from a chip, which is true for most; see `wmma_emu.tcgen05.DATA_MOVEMENTS`.

    Notes
    -----
    PTX ISA 9.0, 9.7.16.9.2. With ``.cta_group::2`` both CTAs read their own shared memory through the same descriptor
    (TVM, documentation of tcgen05.cp).

    Examples
    --------
    >>> from wmma_emu.tcgen05 import TensorMemory
    >>> tmem = TensorMemory()
    >>> base = tmem.alloc(32)
    >>> rows = np.arange(32 * 4, dtype=np.uint32).view(np.uint8)
    >>> cp(tmem, base, rows, SharedMemoryDescriptor(0, 16, 128), "tcgen05.cp.cta_group::1.32x128b.warpx4")
    >>> tmem.read([0, 1, 33, 97], 0).tolist()
    [0, 4, 4, 4]
    """
    movement = bound_data_movement("tcgen05.cp", instruction, arch)
    memories = tensor_memories(tmem, movement.cta_group, movement.mnemonic)
    sources = shared_memories(memory, movement.cta_group, movement.mnemonic)
    descriptor = descriptor_on(descriptor, arch_of(arch))
    shape = COPY_SHAPES[movement.shape, movement.multicast]
    lanes, columns = _targets(where, shape, movement)
    words = [_words(source, descriptor, shape, movement) for source in sources]
    for each in memories:
        each.require_allocated(lanes[..., None], columns)
    for each, rows in zip(memories, words, strict=True):
        each.write(lanes[..., None], columns, rows)


def _targets(where: int, shape: CopyShape, movement: DataMovement) -> tuple[Ints, Ints]:
    """Return the lanes, (copies, rows), and columns that are written."""
    lane, column = lane_of(where), column_of(where)
    if column % _ALIGNED_COLUMNS:
        low = column - column % _ALIGNED_COLUMNS
        raise AlignmentError(
            f"the address {hex(where)} has column {column}; {movement.mnemonic} begins at multiples of "
            f"{_ALIGNED_COLUMNS} columns (128 bits): {hex(address(lane, low))}"
        )
    return lane + shape.lanes(np.arange(shape.rows)), column + np.arange(shape.columns)


def _words(
    memory: NDArray[np.uint8], descriptor: SharedMemoryDescriptor, shape: CopyShape, movement: DataMovement
) -> NDArray[np.uint32]:
    """Return the words of each row's lanes: (rows, columns)."""
    rows = read_rows(memory, descriptor, shape.rows, shape.columns * _WORD_BYTES)
    if movement.decompression:
        bits, shift = DECOMPRESSIONS[movement.decompression]
        rows = (sixteen_elements(rows.reshape(-1, 16), bits) << np.uint8(shift)).reshape(rows.shape)
    return np.ascontiguousarray(rows).view("<u4").astype(np.uint32)
