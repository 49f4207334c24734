# SPDX-License-Identifier: MIT
"""Where the elements of a matrix lie in shared memory, once it is known what its strides mean; reading, writing them.

The matrix descriptors of `wgmma` and of `tcgen05` differ in their fields. What a field means is settled before; here
every element gets its place: a bit address, eight for each byte.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import AlignmentError, ArgumentError, ArgumentValueError, OutOfBoundsError, shorten
from wmma_emu.formats import Format
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.formats.codec import Bits
from wmma_emu.layouts.matrix_descriptor import WINDOW
from wmma_emu.layouts.shared_memory_table import CHUNK_BYTES, Field, Major, Steps, Swizzle
from wmma_emu.layouts.spec import Ints

__all__ = [
    "Walk",
    "as_shared_memory",
    "compact_offsets",
    "element_places",
    "memory_of",
    "patterns_at",
    "require_inside",
    "require_patterns",
    "require_within_lines",
]


@dataclass(frozen=True, slots=True)
class Walk:
    """The steps from a matrix's first element to every other, in bytes.

    Parameters
    ----------
    start : int
        Address of the first element.
    across_lines, along_lines : int
        From an atom to the one of the next lines, and to the one where lines go on.
    swizzle : Swizzle
    base_offset : int
    second : int, optional
        Where lines go on when they reach the end of their atom: an address, instead of ``along_lines``.
    """

    start: int
    across_lines: int
    along_lines: int
    swizzle: Swizzle
    base_offset: int = 0
    second: int | None = None


def element_places(rows: int, k: int, fmt: Format, slot_bits: int, major: Major, walk: Walk) -> Ints:
    """Return the bit address of every element.

    Parameters
    ----------
    rows, k : int
        Of A; of B its columns and k.
    fmt : Format
    slot_bits : int
        Bits of a chunk's share for one element: those of the format, or 8 where sixteen narrower elements are packed
        at the beginning of a chunk and the rest of it is padding.
    major : {"k", "mn"}
    walk : Walk

    Returns
    -------
    int array, shape (rows, k)
    """
    swizzle = walk.swizzle
    row, column = np.indices((rows, k), np.int64)
    line, along = (row, column) if major == "k" else (column, row)
    chunk, element = np.divmod(along, 8 * CHUNK_BYTES // slot_bits)
    address = (line % swizzle.lines) * swizzle.line_bytes + (line // swizzle.lines) * walk.across_lines
    if walk.second is None:
        address += walk.start + (chunk % swizzle.chunks) * CHUNK_BYTES + (chunk // swizzle.chunks) * walk.along_lines
    else:
        within = walk.start % swizzle.line_bytes
        chunk += within // CHUNK_BYTES
        base = np.where(chunk < swizzle.chunks, walk.start - within, walk.second)
        address += base + (chunk % swizzle.chunks) * CHUNK_BYTES
    places: Ints = 8 * swizzle.applied(address, walk.base_offset) + element * fmt.bits
    return places


def patterns_at(memory: NDArray[np.uint8], places: Ints, fmt: Format) -> Bits:
    """Read patterns at bit addresses, all of them inside the memory: (*batch, *places.shape)."""
    first = places >> 3
    if fmt.bits < 8:
        bit = places & 7
        low = memory[..., first].astype(np.uint16)
        high = memory[..., np.where(bit + fmt.bits > 8, first + 1, first)].astype(np.uint16)
        both = (low | high << np.uint16(8)) >> bit.astype(np.uint16)
        narrow: Bits = (both & np.uint16((1 << fmt.bits) - 1)).astype(fmt.storage)
        return narrow
    width = fmt.bits // 8
    parts = np.ascontiguousarray(memory[..., first[..., None] + np.arange(width)])
    patterns: Bits = parts.view(np.dtype(f"<u{width}"))[..., 0].astype(fmt.storage)
    return patterns


def memory_of(bits: Bits, places: Ints, fmt: Format) -> NDArray[np.uint8]:
    """Write patterns at bit addresses, no two alike: (*batch, bytes), whole chunks, 0 where no element lies.

    Raises
    ------
    OutOfBoundsError
        If they reach farther than a descriptor can speak of.
    """
    last = (int(places.max()) + fmt.bits - 1 >> 3) + 1
    if last > WINDOW:
        rows, k = bits.shape[-2:]
        raise OutOfBoundsError(
            f"{rows} x {k} {fmt} would reach to address {last}; a descriptor speaks of {WINDOW} bytes of shared memory"
        )
    batch, size = bits.shape[:-2], -(-last // CHUNK_BYTES) * CHUNK_BYTES
    if fmt.bits < 8:
        single = np.zeros((*batch, 8 * size), np.uint8)
        for i in range(fmt.bits):
            single[..., places + i] = bits >> bits.dtype.type(i) & bits.dtype.type(1)
        return np.packbits(single, axis=-1, bitorder="little")
    width = fmt.bits // 8
    memory = np.zeros((*batch, size), np.uint8)
    parts = np.ascontiguousarray(bits[..., None].astype(np.dtype(f"<u{width}"))).view(np.uint8)
    memory[..., (places >> 3)[..., None] + np.arange(width)] = parts
    return memory


def require_patterns(bits: object, fmt: Format) -> Bits:
    """Refuse what is no matrix of patterns of a format."""
    if not isinstance(bits, np.ndarray) or bits.dtype != fmt.storage or bits.ndim < 2:
        given = f"{bits.dtype} of shape {bits.shape}" if isinstance(bits, np.ndarray) else shorten(bits)
        raise ArgumentError(f"bits are patterns of {fmt}, {fmt.storage} of shape (..., rows, k), not {given}")
    if (bits >> bits.dtype.type(fmt.bits) if bits.dtype.itemsize * 8 > fmt.bits else bits[:0]).any():
        raise ArgumentValueError(f"bits are patterns of {fmt}: nothing outside of {fmt.bits} bits may be set")
    return bits


def as_shared_memory(memory: Any) -> NDArray[np.uint8]:
    """Refuse what is no shared memory: bytes from address 0 on, (*batch, bytes)."""
    given = as_numpy(memory, "memory")
    if given.dtype != np.uint8 or given.ndim == 0:
        raise ArgumentError(
            f"shared memory is a uint8 array of shape (..., bytes), not {shorten(given.dtype, str)} of shape "
            f"{given.shape}; .view(np.uint8) of a contiguous array is its bytes"
        )
    return given


def require_inside(memory: NDArray[np.uint8], places: Ints, fmt: Format, descriptor: object) -> None:
    """Refuse elements that lie outside the memory, wholly or in part."""
    behind = (places + fmt.bits - 1 >> 3) + 1
    outside = (places < 0) | (behind > min(memory.shape[-1], WINDOW))
    if outside.any():
        row, k = np.argwhere(outside)[0].tolist()
        raise OutOfBoundsError(
            f"element (row {row}, k {k}) of {places.shape[0]} x {places.shape[1]} {fmt} lies at address "
            f"{int(places[row, k]) >> 3}, and the shared memory has {memory.shape[-1]} bytes; the operand reaches to "
            f"{int(behind.max())} with {descriptor}"
        )


def compact_offsets(
    rows: int, k: int, slot_bits: int, major: Major, swizzle: Swizzle, steps: Steps
) -> dict[Field, int]:
    """Return leading and stride of atoms that lie side by side; 16, as the manual assumes, for one that is not used.

    Parameters
    ----------
    rows, k, slot_bits, major
        As for `element_places`.
    swizzle : Swizzle
    steps : Steps
        Which of the two leads where.
    """
    lines, along = (rows, k) if major == "k" else (k, rows)
    atoms = -(-(along * slot_bits // 8) // swizzle.line_bytes)
    if major == "mn" and swizzle.bits:
        return {"leading": swizzle.atom_bytes * (lines // swizzle.lines), "stride": swizzle.atom_bytes}
    found: dict[Field, int] = {"leading": CHUNK_BYTES, "stride": CHUNK_BYTES}
    found[steps.across_lines] = swizzle.atom_bytes * atoms
    if atoms > 1 or not swizzle.bits:
        found[steps.along_lines] = swizzle.atom_bytes
    return found


def require_within_lines(start: int, along_bytes: int, swizzle: Swizzle) -> None:
    """Refuse lines that begin so late that they leave their atom; without a swizzle a line is a chunk."""
    within, taken = start % swizzle.line_bytes, min(along_bytes, swizzle.line_bytes)
    if swizzle.bits and within + taken > swizzle.line_bytes:
        raise AlignmentError(
            f"the matrix starts {within} bytes into a line of {swizzle.line_bytes} and would leave it; what is "
            f"contiguous takes {taken} bytes of the line"
        )
