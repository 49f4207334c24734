# SPDX-License-Identifier: MIT
"""Where the elements of a matrix lie in shared memory, as the matrix descriptor of `wgmma` says.

What is contiguous is a line: elements along k (K-major), or along the rows of A or the columns of B (MN-major, for
16-bit formats). A line is cut into chunks of 16 bytes. Eight lines of one chunk, or with a swizzle of two, four or
eight, are an atom. So an element's address is the sum of four steps: to its line within the atom, to its chunk
within the line, and from atom to atom across the lines and along them, by the offsets of the descriptor. A swizzle
then XORs address bits 7 and up onto bits 4 and up, counted from where its pattern begins.
"""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, OptionError, UnsupportedInstructionError, shorten
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.codec import Bits
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.layouts.shared_memory_places import (
    Walk,
    as_shared_memory,
    compact_offsets,
    element_places,
    memory_of,
    patterns_at,
    require_inside,
    require_patterns,
    require_within_lines,
)
from wmma_emu.layouts.shared_memory_table import CHUNK_BYTES, LINES, STEPS, SWIZZLES, Field, Major, Steps
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
    places = element_places(rows, k, fmt, fmt.bits, major, _walk(descriptor, steps))
    return places if fmt.bits < 8 else places >> 3


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
    memory = as_shared_memory(memory)
    steps = _checked_steps(descriptor, rows, k, fmt, major)
    places = element_places(rows, k, fmt, fmt.bits, major, _walk(descriptor, steps))
    require_inside(memory, places, fmt, descriptor)
    return patterns_at(memory, places, fmt)


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
    bits = require_patterns(bits, fmt)
    if integer_of(swizzle) not in SWIZZLES:
        raise OptionError(f"there is no swizzle of {shorten(swizzle)} bytes; legal are 0, 32, 64, 128")
    if not isinstance(major, str) or (major, True) not in STEPS:
        raise OptionError(f"there is no major {shorten(major)}; legal are 'k' and 'mn'")
    rows, k = bits.shape[-2:]
    compact = compact_offsets(rows, k, fmt.bits, major, SWIZZLES[swizzle], STEPS[major, bool(swizzle)])
    leading = compact["leading"] if leading is None else leading
    stride = compact["stride"] if stride is None else stride
    descriptor = MatrixDescriptor(start, leading, stride, swizzle, base_offset)
    steps = _checked_steps(descriptor, rows, k, fmt, major)
    places = element_places(rows, k, fmt, fmt.bits, major, _walk(descriptor, steps))
    if len(np.unique(places)) != places.size:
        raise ArgumentValueError(
            f"with leading={leading} and stride={stride} two elements of {rows} x {k} {fmt} share an address; side by "
            f"side they are leading={compact['leading']}, stride={compact['stride']}"
        )
    return memory_of(bits, places, fmt), descriptor


def _walk(descriptor: MatrixDescriptor, steps: Steps) -> Walk:
    """What the descriptor's offsets mean, as addresses."""
    across, along = (_offset(descriptor, field) for field in (steps.across_lines, steps.along_lines))
    return Walk(descriptor.start, across, along, SWIZZLES[descriptor.swizzle], descriptor.base_offset)


def _offset(descriptor: MatrixDescriptor, field: Field) -> int:
    return int(getattr(descriptor, field))


def _checked_steps(descriptor: MatrixDescriptor, rows: int, k: int, fmt: Format, major: Major) -> Steps:
    """Check that the operand exists and that the descriptor fits it; returns what its offsets mean."""
    if not isinstance(descriptor, MatrixDescriptor):
        raise ArgumentError(
            f"{shorten(descriptor)} is no MatrixDescriptor; MatrixDescriptor.decode reads an integer"
        )
    if not isinstance(major, str) or (major, True) not in STEPS:
        raise OptionError(f"there is no major {shorten(major)}; legal are 'k' and 'mn'")
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
            raise ArgumentValueError(f"{name} is {shorten(given)}; an operand has 1 to {_LONGEST}")
    swizzle, steps = SWIZZLES[descriptor.swizzle], STEPS[major, bool(descriptor.swizzle)]
    lines, along = (rows, k) if major == "k" else (k, rows)
    if lines % LINES or along * fmt.bits % (8 * CHUNK_BYTES) or lines < 1 or along < 1:
        raise ArgumentValueError(
            f"{rows} rows and {k} of k are no operand in {fmt}: {LINES} lines of {CHUNK_BYTES} bytes are the least"
        )
    require_within_lines(descriptor.start, along * fmt.bits // 8, swizzle)
    return steps
