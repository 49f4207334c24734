# SPDX-License-Identifier: MIT
"""Where the elements of a matrix lie in shared memory, as the matrix descriptor of `wgmma` says.

What is contiguous is a line: elements along k (K-major), or along the rows of A or the columns of B (MN-major, for
16-bit formats). A line is cut into chunks of 16 bytes. Eight lines of one chunk, or with a swizzle of two, four or
eight, are an atom. So an element's address is the sum of four steps: to its line within the atom, to its chunk
within the line, and from atom to atom across the lines and along them, by the offsets of the descriptor. A swizzle
then XORs address bits 7 and up onto bits 4 and up, counted from where its pattern begins.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import (
    AlignmentError,
    FragmentMismatchError,
    OutOfBoundsError,
    UnsupportedInstructionError,
    shorten,
)
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.arrays import as_numpy, integer_of
from wmma_emu.formats.codec import Bits
from wmma_emu.layouts.matrix_descriptor import WINDOW, MatrixDescriptor
from wmma_emu.layouts.shared_memory_table import CHUNK_BYTES, LINES, STEPS, SWIZZLES, Field, Major, Steps, Swizzle
from wmma_emu.layouts.spec import Ints

__all__ = ["addresses", "image_of", "read_matrix"]


_LONGEST = 1 << 12
"""More rows or k than any operand has."""

_WIDTHS = (1, 8, 16, 32)
"""Bits of the elements that `wgmma` multiplies."""


def addresses(descriptor: MatrixDescriptor, rows: int, k: int, fmt: Format | str, major: Major = "k") -> Ints:
    """Return where each element lies that `wgmma` reads through a descriptor.

    Parameters
    ----------
    descriptor : MatrixDescriptor
    rows : int
        Rows of A, or columns of B: a multiple of 8.
    k : int
    fmt : Format or str
    major : {"k", "mn"}
        What is contiguous. ``"mn"``, a transposed operand, exists for 16-bit formats.

    Returns
    -------
    int array, shape (rows, k)
        Byte addresses; of b1 bit addresses, the lowest bit of a byte first.

    Raises
    ------
    AlignmentError
        If lines begin so late that they leave their atom.
    UnsupportedInstructionError
        For an MN-major operand of another width than 16 bits.
    FragmentMismatchError
        For a shape that is not made of whole chunks and whole atoms.

    Notes
    -----
    The pattern of a swizzle lies on absolute addresses, less the base offset: a matrix may begin, and atoms may lie,
    anywhere in it. The manual asks for atoms that lie on the pattern; on an NVIDIA H200 others are read as this says.

    Examples
    --------
    >>> d = MatrixDescriptor(start=0, leading=16, stride=1024, swizzle=128)
    >>> addresses(d, 8, 16, "f16")[:3, ::8].tolist()       # chunks 0 and 1 of lines 0, 1 and 2
    [[0, 16], [144, 128], [288, 304]]
    >>> addresses(MatrixDescriptor(0, 128, 256), 8, 16, "f16")[:3, ::8].tolist()
    [[0, 128], [16, 144], [32, 160]]
    """
    fmt = format_of(fmt)
    steps = _checked_steps(descriptor, rows, k, fmt, major)
    swizzle = SWIZZLES[descriptor.swizzle]
    row, column = np.indices((rows, k), np.int64)
    line, along = (row, column) if major == "k" else (column, row)
    chunk, bit = np.divmod(along * fmt.bits, 8 * CHUNK_BYTES)
    address = descriptor.start + (line % LINES) * swizzle.line_bytes + (chunk % swizzle.chunks) * CHUNK_BYTES
    address += (line // LINES) * _offset(descriptor, steps.across_lines)
    address += (chunk // swizzle.chunks) * _offset(descriptor, steps.along_lines)
    address ^= ((address >> 7) - descriptor.base_offset & swizzle.mask) << 4
    found: Ints = 8 * address + bit if fmt.bits < 8 else address + bit // 8
    return found


def read_matrix(
    memory: NDArray[np.uint8],
    descriptor: MatrixDescriptor,
    rows: int,
    k: int,
    fmt: Format | str,
    major: Major = "k",
) -> Bits:
    """Read a matrix from shared memory, as `wgmma` does.

    Parameters
    ----------
    memory : uint8 array, shape (*batch, bytes)
        Shared memory from address 0 on.
    descriptor, rows, k, fmt, major
        As for `addresses`, which also says what is refused.

    Returns
    -------
    unsigned integer array of ``fmt.storage``, shape (*batch, rows, k)

    Raises
    ------
    OutOfBoundsError
        If an element lies outside the memory.

    Examples
    --------
    >>> memory = np.arange(512, dtype=np.uint8)
    >>> [hex(x) for x in read_matrix(memory, MatrixDescriptor(0, 128, 256), 8, 16, "f16")[1, :2]]
    ['0x1110', '0x1312']
    """
    fmt = format_of(fmt)
    memory = _memory(memory)
    where = addresses(descriptor, rows, k, fmt, major)
    if fmt.bits < 8:
        _require_inside(memory, where >> 3, 1, fmt, descriptor)
        bits: Bits = memory[..., where >> 3] >> (where & 7).astype(np.uint8) & np.uint8(1)
        return bits
    width = fmt.bits // 8
    _require_inside(memory, where, width, fmt, descriptor)
    parts = np.ascontiguousarray(memory[..., where[..., None] + np.arange(width)])
    patterns: Bits = parts.view(np.dtype(f"<u{width}"))[..., 0].astype(fmt.storage)
    return patterns


def image_of(
    bits: Bits,
    fmt: Format | str,
    *,
    swizzle: int = 0,
    major: Major = "k",
    leading: int | None = None,
    stride: int | None = None,
    start: int = 0,
    base_offset: int = 0,
) -> tuple[NDArray[np.uint8], MatrixDescriptor]:
    """Lay a matrix out in shared memory so that `wgmma` reads it back.

    Parameters
    ----------
    bits : unsigned integer array, shape (*batch, rows, k)
        Patterns, rows of A or columns of B first.
    fmt : Format or str
    swizzle : {0, 32, 64, 128}
    major : {"k", "mn"}
    leading, stride : int, optional
        Bytes; by default atom lies beside atom, those along a line first.
    start, base_offset : int
        As of `MatrixDescriptor`.

    Returns
    -------
    memory : uint8 array, shape (*batch, bytes)
        From address 0 to the last element, whole chunks; 0 where no element lies.
    descriptor : MatrixDescriptor

    Raises
    ------
    FragmentMismatchError
        If offsets put two elements at one address; and as `addresses`.

    Examples
    --------
    >>> A = np.arange(64 * 16, dtype=np.uint16).reshape(64, 16)
    >>> memory, d = image_of(A, "f16", swizzle=64, major="mn")
    >>> memory.shape, d
    ((2048,), MatrixDescriptor(start=0, leading=1024, stride=512, swizzle=64, base_offset=0))
    >>> np.array_equal(read_matrix(memory, d, 64, 16, "f16", "mn"), A)
    True
    """
    fmt = format_of(fmt)
    if not isinstance(bits, np.ndarray) or bits.dtype != fmt.storage or bits.ndim < 2:
        given = f"{bits.dtype} of shape {bits.shape}" if isinstance(bits, np.ndarray) else shorten(bits)
        raise FragmentMismatchError(f"bits are patterns of {fmt}, {fmt.storage} of shape (..., rows, k), not {given}")
    if (bits >> bits.dtype.type(fmt.bits) if bits.dtype.itemsize * 8 > fmt.bits else bits[:0]).any():
        raise FragmentMismatchError(f"bits are patterns of {fmt}: nothing outside of {fmt.bits} bits may be set")
    if integer_of(swizzle) not in SWIZZLES:
        raise UnsupportedInstructionError(f"there is no swizzle of {shorten(swizzle)} bytes; legal are 0, 32, 64, 128")
    if not isinstance(major, str) or (major, True) not in STEPS:
        raise UnsupportedInstructionError(f"there is no major {shorten(major)}; legal are 'k' and 'mn'")
    rows, k = bits.shape[-2:]
    compact = _compact(rows, k, fmt, swizzle, major)
    leading, stride = (
        compact[name] if given is None else given
        for name, given in (("leading", leading), ("stride", stride))
    )  # fmt: skip
    descriptor = MatrixDescriptor(start, leading, stride, swizzle, base_offset)
    where = addresses(descriptor, rows, k, fmt, major)
    if len(np.unique(where)) != where.size:
        raise FragmentMismatchError(
            f"with leading={leading} and stride={stride} two elements of {rows} x {k} {fmt} share an address; side by "
            f"side they are leading={compact['leading']}, stride={compact['stride']}"
        )
    width = max(fmt.bits // 8, 1)
    last = int(where.max()) // (8 if fmt.bits < 8 else 1) + width
    if last > WINDOW:
        raise OutOfBoundsError(
            f"{rows} x {k} {fmt} would reach to address {last}; a descriptor speaks of {WINDOW} bytes of shared memory"
        )
    memory = np.zeros((*bits.shape[:-2], -(-last // CHUNK_BYTES) * CHUNK_BYTES), np.uint8)
    if fmt.bits < 8:
        bytes_of = np.zeros((*memory.shape, 8), np.uint8)
        bytes_of[..., where >> 3, where & 7] = bits
        return np.packbits(bytes_of, axis=-1, bitorder="little")[..., 0], descriptor
    parts = np.ascontiguousarray(bits[..., None].astype(np.dtype(f"<u{width}"))).view(np.uint8)
    memory[..., where[..., None] + np.arange(width)] = parts
    return memory, descriptor


def _offset(descriptor: MatrixDescriptor, field: Field) -> int:
    return int(getattr(descriptor, field))


def _compact(rows: int, k: int, fmt: Format, swizzle: int, major: Major) -> dict[str, int]:
    """Offsets of atoms that lie side by side; 16, as the manual assumes, for an offset that is not used."""
    row = SWIZZLES[swizzle]
    along = (k if major == "k" else rows) * fmt.bits // 8
    lines = rows if major == "k" else k
    atoms = -(-along // row.line_bytes)
    if major == "mn" and row.bits:
        return {"leading": row.atom_bytes * (lines // LINES), "stride": row.atom_bytes}
    fields = STEPS[major, bool(row.bits)]
    found = {"leading": CHUNK_BYTES, "stride": CHUNK_BYTES}
    found[fields.across_lines] = row.atom_bytes * atoms
    if atoms > 1 or not row.bits:
        found[fields.along_lines] = row.atom_bytes
    return found


def _checked_steps(descriptor: MatrixDescriptor, rows: int, k: int, fmt: Format, major: Major) -> Steps:
    """Check that the operand exists and that the descriptor fits it; returns what its offsets mean."""
    if not isinstance(descriptor, MatrixDescriptor):
        raise FragmentMismatchError(
            f"{shorten(descriptor)} is no MatrixDescriptor; MatrixDescriptor.decode reads an integer"
        )
    if not isinstance(major, str) or (major, True) not in STEPS:
        raise UnsupportedInstructionError(f"there is no major {shorten(major)}; legal are 'k' and 'mn'")
    if fmt.bits not in _WIDTHS:
        raise UnsupportedInstructionError(
            f"wgmma reads no {fmt} from shared memory: elements have {', '.join(str(x) for x in _WIDTHS)} bits"
        )
    if major == "mn" and fmt.bits != 16:
        raise UnsupportedInstructionError(
            f"only 16-bit formats are read MN-major (transposed); {fmt} lies K-major: store it with k contiguous"
        )
    for name, given in (("rows", rows), ("k", k)):
        if integer_of(given) is None or not 0 < given <= _LONGEST:
            raise FragmentMismatchError(f"{name} is {shorten(given)}; an operand has 1 to {_LONGEST}")
    swizzle, steps = SWIZZLES[descriptor.swizzle], STEPS[major, bool(descriptor.swizzle)]
    lines, along = (rows, k) if major == "k" else (k, rows)
    if lines % LINES or along * fmt.bits % (8 * CHUNK_BYTES) or lines < 1 or along < 1:
        raise FragmentMismatchError(
            f"{rows} rows and {k} of k are no operand in {fmt}: {LINES} lines of {CHUNK_BYTES} bytes are the least"
        )
    along_bytes = along * fmt.bits // 8
    if swizzle.bits:
        _check_lines(descriptor, swizzle, along_bytes)
    return steps


def _check_lines(descriptor: MatrixDescriptor, swizzle: Swizzle, along_bytes: int) -> None:
    """Check that lines stay within their atom."""
    within = descriptor.start % swizzle.line_bytes
    if within + min(along_bytes, swizzle.line_bytes) > swizzle.line_bytes:
        raise AlignmentError(
            f"the matrix starts {within} bytes into a line of {swizzle.line_bytes} and would leave it; what is "
            f"contiguous takes {min(along_bytes, swizzle.line_bytes)} bytes of the line"
        )


def _memory(memory: Any) -> NDArray[np.uint8]:
    given, _ = as_numpy(memory, "memory")
    if given.dtype != np.uint8 or given.ndim == 0:
        raise FragmentMismatchError(
            f"shared memory is a uint8 array of shape (..., bytes), not {shorten(given.dtype, str)} of shape "
            f"{given.shape}; .view(np.uint8) of a contiguous array is its bytes"
        )
    return given


def _require_inside(
    memory: NDArray[np.uint8], where: Ints, width: int, fmt: Format, descriptor: MatrixDescriptor
) -> None:
    outside = where + width > min(memory.shape[-1], WINDOW)
    if outside.any():
        row, k = np.argwhere(outside)[0].tolist()
        raise OutOfBoundsError(
            f"element (row {row}, k {k}) of {where.shape[0]} x {where.shape[1]} {fmt} lies at address "
            f"{int(where[row, k])}, and the shared memory has {memory.shape[-1]} bytes; the operand reaches to "
            f"{int(where.max()) + width} with {descriptor}"
        )
