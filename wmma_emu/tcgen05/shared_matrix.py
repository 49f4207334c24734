# SPDX-License-Identifier: MIT
"""Element addresses in shared memory for a descriptor of tcgen05.mma, and reading and writing at them.

The steps are as for `wgmma` (`wmma_emu.layouts.shared_memory`): lines, chunks of 16 bytes, atoms. tcgen05.mma adds
elements of 4 bits; elements of 6 and 4 bits that take 8, packed in groups of sixteen at the beginning of a chunk; one
more swizzle, with atoms of four lines; and lines of 48 bytes that continue at another address.
"""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, OptionError, shorten
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.codec import Bits
from wmma_emu.instructions.spec import Container
from wmma_emu.layouts.shared_memory_addresses import (
    as_shared_memory,
    element_addresses,
    image,
    patterns_at,
    read_patterns,
    require_inside,
)
from wmma_emu.layouts.shared_memory_table import LINES, Major, Mode
from wmma_emu.layouts.spec import Ints
from wmma_emu.tcgen05.shared_descriptor import SharedMemoryDescriptor
from wmma_emu.warp.options import check_flag

_BYTE = format_of("u8")


def addresses(
    descriptor: SharedMemoryDescriptor,
    rows: int,
    k: int,
    fmt: Format | str,
    major: Major = "k",
    container: Container | int | None = None,
) -> Ints:
    """Return the address of each element that tcgen05.mma reads through a descriptor.

    Parameters
    ----------
    descriptor : SharedMemoryDescriptor
    rows : int
        Rows of A, or columns of B: a multiple of 8.
    k : int
    fmt : Format or str
    major : {"k", "mn"}
        The contiguous axis.
    container : Container or int, optional
        Bits per element: 8 for the operands of kind::f8f6f4 and kind::mxf8f6f4, which have sixteen elements in 16
        bytes; 6- and 4-bit elements are contiguous, followed by padding. (The position of the pattern within a byte of
        tensor memory is irrelevant here.) By default the width of the format.

    Returns
    -------
    int array, shape (rows, k)
        Bit addresses: eight for each byte, the lowest bit of a byte first.

    Raises
    ------
    UnsupportedInstructionError
        If elements of this width cannot be read in this order with this swizzle.
    FragmentMismatchError
        If the shape is not a multiple of the chunk and atom sizes.
    AlignmentError
        If lines begin too late to fit into their atom.

    Notes
    -----
    PTX ISA 9.0, 9.7.16.3, 9.7.16.4.1, 9.7.16.10.3 to 9.7.16.10.6; CuTe, mma_traits_sm100.hpp. As with `wgmma`, the
    swizzle pattern is aligned to absolute addresses minus the base offset.

    Examples
    --------
    >>> d = SharedMemoryDescriptor(start=0, leading=16, stride=1024, swizzle=128)
    >>> (addresses(d, 8, 16, "f16")[:3, ::8] // 8).tolist()       # chunks 0 and 1 of lines 0, 1 and 2, in bytes
    [[0, 16], [144, 128], [288, 304]]
    >>> addresses(d, 8, 32, "e3m2", container=8)[0, [0, 1, 15, 16]].tolist()
    [0, 6, 90, 128]
    """
    fmt = format_of(fmt)
    return element_addresses(descriptor, SharedMemoryDescriptor, rows, k, fmt, _slot(fmt, container), major)


def read_matrix(
    memory: NDArray[np.uint8],
    descriptor: SharedMemoryDescriptor,
    rows: int,
    k: int,
    fmt: Format | str,
    major: Major = "k",
    container: Container | int | None = None,
) -> Bits:
    """Read a matrix from shared memory, as tcgen05.mma does.

    Parameters
    ----------
    memory : uint8 array, shape (*batch, bytes)
        Shared memory from address 0.
    descriptor, rows, k, fmt, major, container
        As for `addresses`, with the same errors.

    Returns
    -------
    unsigned integer array of ``fmt.storage``, shape (*batch, rows, k)

    Raises
    ------
    OutOfBoundsError
        If an element, or the padding of its chunk, is outside of the memory.

    Examples
    --------
    >>> memory = np.arange(512, dtype=np.uint8)
    >>> [hex(x) for x in read_matrix(memory, SharedMemoryDescriptor(0, 128, 256), 8, 16, "f16")[1, :2]]
    ['0x1110', '0x1312']
    """
    fmt = format_of(fmt)
    return read_patterns(
        memory, descriptor, SharedMemoryDescriptor, rows, k, fmt, _slot(fmt, container), major
    )  # fmt: skip


def image_of(
    bits: Bits,
    fmt: Format | str,
    *,
    swizzle: Mode = 0,
    major: Major = "k",
    container: Container | int | None = None,
    leading: int | None = None,
    stride: int | None = None,
    start: int = 0,
    base_offset: int = 0,
    leading_absolute: bool = False,
) -> tuple[NDArray[np.uint8], SharedMemoryDescriptor]:
    """Store a matrix in shared memory so that tcgen05.mma reads it back.

    Parameters
    ----------
    bits : unsigned integer array, shape (*batch, rows, k)
        Bit patterns, rows of A or columns of B first.
    fmt : Format or str
    swizzle : {0, 32, 64, 128, "128B with 32B atoms"}
    major, container
        As for `addresses`.
    leading, stride : int, optional
        In bytes; by default atoms are adjacent, those along a line first.
    start, base_offset, leading_absolute
        As for `SharedMemoryDescriptor`; an absolute ``leading`` must be given.

    Returns
    -------
    memory : uint8 array, shape (*batch, bytes)
        From address 0 to the last element, in whole chunks; 0 at addresses without an element.
    descriptor : SharedMemoryDescriptor

    Raises
    ------
    FragmentMismatchError
        If offsets give two elements the same address, and as for `addresses`.

    Examples
    --------
    >>> A = np.arange(64 * 8, dtype=np.uint32).reshape(64, 8) << 13
    >>> memory, d = image_of(A, "tf32", swizzle="128B with 32B atoms", major="mn")
    >>> memory.shape, d.leading, d.stride
    ((2048,), 1024, 512)
    >>> np.array_equal(read_matrix(memory, d, 64, 8, "tf32", "mn"), A)
    True
    """
    fmt = format_of(fmt)
    slot = _slot(fmt, container)
    if check_flag("leading_absolute", leading_absolute) and leading is None:
        raise ArgumentError("an absolute leading dimension is an address: pass leading=")
    given = SharedMemoryDescriptor(start, 0, 0, swizzle, base_offset, leading_absolute)
    return image(bits, fmt, slot, major, given, leading, stride)


def read_rows(
    memory: NDArray[np.uint8], descriptor: SharedMemoryDescriptor, rows: int, row_bytes: int
) -> NDArray[np.uint8]:
    """Read the bytes of K-major rows, as tcgen05.cp does; the last atom may have fewer than eight lines.

    Rows are a multiple of 16 bytes; the result is (*batch, rows, row_bytes).

    Examples
    --------
    >>> memory = np.arange(256, dtype=np.uint8)
    >>> read_rows(memory, SharedMemoryDescriptor(0, 128, 256), 4, 32)[3, [0, 15, 16]].tolist()
    [48, 63, 176]
    """
    memory = as_shared_memory(memory)
    if integer_of(rows) is None:
        raise ArgumentError(f"rows is {shorten(rows)}; expected an integer")
    whole = -(-rows // LINES) * LINES
    places = element_addresses(descriptor, SharedMemoryDescriptor, whole, row_bytes, _BYTE, _BYTE.bits, "k")
    require_inside(memory, places[:rows], _BYTE, descriptor)
    return patterns_at(memory, places[:rows], _BYTE)


def _slot(fmt: Format, container: Container | int | None) -> int:
    given = container.bits if isinstance(container, Container) else container
    slot = fmt.bits if given is None else integer_of(given)
    if slot not in (fmt.bits, 8) or slot < fmt.bits:
        raise OptionError(
            f"an element of {fmt} takes {fmt.bits} bits of shared memory"
            + (", or 8 with padding" if fmt.bits < 8 else "")
            + f"; not {shorten(given)}"
        )
    return slot
