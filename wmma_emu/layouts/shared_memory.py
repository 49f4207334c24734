# SPDX-License-Identifier: MIT
"""Element addresses in shared memory for a matrix descriptor of `wgmma`."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import Format, format_of
from wmma_emu.formats.codec import Bits
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.layouts.shared_memory_addresses import element_addresses, image, read_patterns
from wmma_emu.layouts.shared_memory_table import Major
from wmma_emu.layouts.spec import Ints


def addresses(descriptor: MatrixDescriptor, rows: int, k: int, fmt: Format | str, major: Major = "k") -> Ints:
    """Return the address of each element that `wgmma` reads through a descriptor.

    Parameters
    ----------
    descriptor : MatrixDescriptor
    rows : int
        Rows of A, or columns of B: a multiple of 8.
    k : int
    fmt : Format or str
    major : {"k", "mn"}
        The contiguous axis. ``"mn"``, a transposed operand, exists for 16-bit formats.

    Returns
    -------
    int array, shape (rows, k)
        Byte addresses; for b1 bit addresses, the lowest bit of a byte first.

    Raises
    ------
    AlignmentError
        If lines begin too late to fit into their atom.
    UnsupportedInstructionError
        If the operand is MN-major and its elements do not have 16 bits.
    FragmentMismatchError
        If the shape is not a multiple of the chunk and atom sizes.

    Notes
    -----
    The swizzle pattern is aligned to absolute addresses minus the base offset: a matrix, and its atoms, may begin
    anywhere in it. The manual requires atoms aligned to the pattern; an NVIDIA H200 reads others as described here.

    Examples
    --------
    >>> d = MatrixDescriptor(start=0, leading=16, stride=1024, swizzle=128)
    >>> addresses(d, 8, 16, "f16")[:3, ::8].tolist()       # chunks 0 and 1 of lines 0, 1 and 2
    [[0, 16], [144, 128], [288, 304]]
    >>> addresses(MatrixDescriptor(0, 128, 256), 8, 16, "f16")[:3, ::8].tolist()
    [[0, 128], [16, 144], [32, 160]]
    """
    fmt = format_of(fmt)
    places = element_addresses(descriptor, MatrixDescriptor, rows, k, fmt, fmt.bits, major)
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
        Shared memory from address 0.
    descriptor, rows, k, fmt, major
        As for `addresses`, with the same errors.

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
    return read_patterns(memory, descriptor, MatrixDescriptor, rows, k, fmt, fmt.bits, major)


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
    """Store a matrix in shared memory so that `wgmma` reads it back.

    Parameters
    ----------
    bits : unsigned integer array, shape (*batch, rows, k)
        Bit patterns, rows of A or columns of B first.
    fmt : Format or str
    swizzle : {0, 32, 64, 128}
    major : {"k", "mn"}
    leading, stride : int, optional
        In bytes; by default atoms are adjacent, those along a line first.
    start, base_offset : int
        As for `MatrixDescriptor`.

    Returns
    -------
    memory : uint8 array, shape (*batch, bytes)
        From address 0 to the last element, in whole chunks; 0 at addresses without an element.
    descriptor : MatrixDescriptor

    Raises
    ------
    FragmentMismatchError
        If offsets give two elements the same address, and as for `addresses`.

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
    return image(bits, fmt, fmt.bits, major, MatrixDescriptor(start, 0, 0, swizzle, base_offset), leading, stride)
