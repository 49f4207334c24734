# SPDX-License-Identifier: MIT
"""Where the elements of an operand of tcgen05.mma lie in shared memory, as its descriptor says; reading, writing them.

The steps are those of `wgmma` (`wmma_emu.layouts.shared_memory`): lines, chunks of 16 bytes, atoms. New are elements
of 4 bits; elements of 6 and 4 bits that take 8, packed by sixteen at the beginning of a chunk; one more swizzle, with
atoms of four lines; and lines of 48 bytes that go on at another address.
"""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import (
    AlignmentError,
    ArgumentError,
    ArgumentValueError,
    OptionError,
    UnsupportedInstructionError,
    shorten,
)
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.codec import Bits
from wmma_emu.instructions.spec import Container
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
from wmma_emu.layouts.shared_memory_table import CHUNK_BYTES, LINES, Major, Swizzle
from wmma_emu.layouts.spec import Ints
from wmma_emu.tcgen05.shared_descriptor import SharedMemoryDescriptor
from wmma_emu.tcgen05.shared_table import ABSOLUTE_LEADING, ATOMS_32B, RULES, STEPS_OF_TENSOR, SWIZZLES, Mode, Rule
from wmma_emu.warp.options import check_flag

__all__ = ["addresses", "image_of", "read_matrix", "rule_of"]

_LONGEST = 1 << 12
"""More rows or k than any operand has."""

_BYTE = format_of("u8")


def addresses(
    descriptor: SharedMemoryDescriptor,
    rows: int,
    k: int,
    fmt: Format | str,
    major: Major = "k",
    container: Container | int | None = None,
) -> Ints:
    """Return where each element lies that tcgen05.mma reads through a descriptor.

    Parameters
    ----------
    descriptor : SharedMemoryDescriptor
    rows : int
        Rows of A, or columns of B: a multiple of 8.
    k : int
    fmt : Format or str
    major : {"k", "mn"}
        What is contiguous.
    container : Container or int, optional
        Bits that an element takes: 8 for the operands of kind::f8f6f4 and kind::mxf8f6f4, which have sixteen elements
        in 16 bytes: 6- and 4-bit ones contiguous, and the rest padding. (Where in a byte the pattern sits in tensor
        memory does not count here.) By default those of the format.

    Returns
    -------
    int array, shape (rows, k)
        Bit addresses: eight for each byte, the lowest bit of a byte first.

    Raises
    ------
    UnsupportedInstructionError
        For a type size that is not read so, with this swizzle.
    FragmentMismatchError
        For a shape that is not made of whole chunks and whole atoms.
    AlignmentError
        If lines begin so late that they leave their atom.

    Notes
    -----
    PTX ISA 9.0, 9.7.16.3, 9.7.16.4.1, 9.7.16.10.3 to 9.7.16.10.6; CuTe, mma_traits_sm100.hpp. As with `wgmma`, the
    pattern of a swizzle lies on absolute addresses, less the base offset.

    Examples
    --------
    >>> d = SharedMemoryDescriptor(start=0, leading=16, stride=1024, swizzle=128)
    >>> (addresses(d, 8, 16, "f16")[:3, ::8] // 8).tolist()       # chunks 0 and 1 of lines 0, 1 and 2, in bytes
    [[0, 16], [144, 128], [288, 304]]
    >>> addresses(d, 8, 32, "e3m2", container=8)[0, [0, 1, 15, 16]].tolist()
    [0, 6, 90, 128]
    """
    return _places(descriptor, rows, k, format_of(fmt), major, container)[0]


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
        Shared memory from address 0 on.
    descriptor, rows, k, fmt, major, container
        As for `addresses`, which also says what is refused.

    Returns
    -------
    unsigned integer array of ``fmt.storage``, shape (*batch, rows, k)

    Raises
    ------
    OutOfBoundsError
        If an element, or the padding of its chunk, lies outside the memory.

    Examples
    --------
    >>> memory = np.arange(512, dtype=np.uint8)
    >>> [hex(x) for x in read_matrix(memory, SharedMemoryDescriptor(0, 128, 256), 8, 16, "f16")[1, :2]]
    ['0x1110', '0x1312']
    """
    fmt = format_of(fmt)
    memory = as_shared_memory(memory)
    places, padded = _places(descriptor, rows, k, fmt, major, container)
    require_inside(memory, places, fmt, descriptor)
    if padded:
        last = places.reshape(-1)[int(places.argmax())] >> 3
        end = int(last) // CHUNK_BYTES * CHUNK_BYTES + CHUNK_BYTES
        if end > memory.shape[-1]:
            require_inside(memory, np.full((rows, k), 8 * end - fmt.bits), fmt, descriptor)
    return patterns_at(memory, places, fmt)


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
    """Lay a matrix out in shared memory so that tcgen05.mma reads it back.

    Parameters
    ----------
    bits : unsigned integer array, shape (*batch, rows, k)
        Patterns, rows of A or columns of B first.
    fmt : Format or str
    swizzle : {0, 32, 64, 128, "128B with 32B atoms"}
    major, container
        As for `addresses`.
    leading, stride : int, optional
        Bytes; by default atom lies beside atom, those along a line first.
    start, base_offset, leading_absolute
        As of `SharedMemoryDescriptor`; an absolute ``leading`` has to be given.

    Returns
    -------
    memory : uint8 array, shape (*batch, bytes)
        From address 0 to the last element, whole chunks; 0 where no element lies.
    descriptor : SharedMemoryDescriptor

    Raises
    ------
    FragmentMismatchError
        If offsets put two elements at one address; and as `addresses`.

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
    bits = require_patterns(bits, fmt)
    rows, k = bits.shape[-2:]
    rule_of(fmt, major, container)
    # An empty descriptor says whether there is such a swizzle, before its row is asked for the offsets.
    mode = SharedMemoryDescriptor(0, 0, 0, swizzle).swizzle
    row = SWIZZLES[mode]
    compact = compact_offsets(rows, k, _slot(fmt, container), major, row, STEPS_OF_TENSOR[major, bool(row.bits)])
    if check_flag("leading_absolute", leading_absolute) and leading is None:
        raise ArgumentError("an absolute leading dimension is an address: pass leading=")
    leading = compact["leading"] if leading is None else leading
    stride = compact["stride"] if stride is None else stride
    descriptor = SharedMemoryDescriptor(start, leading, stride, mode, base_offset, leading_absolute)
    places, _ = _places(descriptor, rows, k, fmt, major, container)
    if len(np.unique(places)) != places.size:
        raise ArgumentValueError(
            f"with leading={leading} and stride={stride} two elements of {rows} x {k} {fmt} share an address; side by "
            f"side they are leading={compact['leading']}, stride={compact['stride']}"
        )
    return memory_of(bits, places, fmt), descriptor


def read_rows(
    memory: NDArray[np.uint8], descriptor: SharedMemoryDescriptor, rows: int, row_bytes: int
) -> NDArray[np.uint8]:
    """Read the bytes of K-major rows, as tcgen05.cp does; the last atom may have fewer than eight lines.

    Parameters
    ----------
    memory, descriptor
        As for `read_matrix`.
    rows : int
    row_bytes : int
        A multiple of 16.

    Returns
    -------
    uint8 array, shape (*batch, rows, row_bytes)

    Raises
    ------
    OutOfBoundsError
        If a byte lies outside the memory; and as `addresses`.

    Examples
    --------
    >>> memory = np.arange(256, dtype=np.uint8)
    >>> read_rows(memory, SharedMemoryDescriptor(0, 128, 256), 4, 32)[3, [0, 15, 16]].tolist()
    [48, 63, 176]
    """
    memory = as_shared_memory(memory)
    if integer_of(rows) is None:
        raise ArgumentError(f"rows is {shorten(rows)}; it is an integer")
    places, _ = _places(descriptor, -(-rows // LINES) * LINES, row_bytes, _BYTE, "k", None)
    require_inside(memory, places[:rows], _BYTE, descriptor)
    return patterns_at(memory, places[:rows], _BYTE)


def rule_of(fmt: Format | str, major: Major = "k", container: Container | int | None = None) -> Rule:
    """Return the row that says which swizzle modes an operand may have, with its source and status.

    Raises
    ------
    UnsupportedInstructionError
        If no operand is read so.

    Examples
    --------
    >>> rule_of("tf32", "mn").modes
    ('128B with 32B atoms',)
    """
    fmt = format_of(fmt)
    slot = _slot(fmt, container)
    if not isinstance(major, str) or (major, True) not in STEPS_OF_TENSOR:
        raise OptionError(f"there is no major {shorten(major)}; legal are 'k' and 'mn'")
    for rule in RULES:
        if rule.major == major and slot in rule.bits and rule.padded == (slot != fmt.bits):
            return rule
    widths = sorted({bits for rule in RULES if rule.major == major for bits in rule.bits})
    raise UnsupportedInstructionError(
        f"tcgen05 reads no {fmt} in {slot} bits {'K' if major == 'k' else 'MN'}-major from shared memory; it reads "
        f"elements in {', '.join(str(x) for x in widths)} bits so"
        + ("; those of 6 bits with container=8" if fmt.bits == 6 else "")
    )


def _slot(fmt: Format, container: Container | int | None) -> int:
    """Bits that an element takes."""
    given = container.bits if isinstance(container, Container) else container
    slot = fmt.bits if given is None else integer_of(given)
    if slot not in (fmt.bits, 8) or slot < fmt.bits:
        raise OptionError(
            f"an element of {fmt} takes {fmt.bits} bits of shared memory"
            + (", or 8 with padding" if fmt.bits < 8 else "")
            + f"; not {shorten(given)}"
        )
    return slot


def _places(
    descriptor: SharedMemoryDescriptor,
    rows: int,
    k: int,
    fmt: Format,
    major: Major,
    container: Container | int | None,
) -> tuple[Ints, bool]:
    """Bit addresses of every element, all checks done; and whether chunks end in padding."""
    if not isinstance(descriptor, SharedMemoryDescriptor):
        raise ArgumentError(
            f"{shorten(descriptor)} is no SharedMemoryDescriptor; SharedMemoryDescriptor.decode reads an integer"
        )
    slot, rule = _slot(fmt, container), rule_of(fmt, major, container)
    if descriptor.swizzle not in rule.modes:
        raise UnsupportedInstructionError(
            f"{fmt} in {slot} bits is read {'K' if major == 'k' else 'MN'}-major with the swizzle modes "
            f"{', '.join(str(x) for x in rule.modes)}, not {descriptor.swizzle}"
        )
    swizzle = SWIZZLES[descriptor.swizzle]
    along_bytes = _checked_shape(rows, k, fmt, slot, major, swizzle)
    if descriptor.base_offset and descriptor.swizzle == ATOMS_32B:
        raise UnsupportedInstructionError(
            f"what a base offset does to the swizzle {ATOMS_32B!r} is not documented; begin its pattern at a multiple "
            "of 1024 bytes, with base offset 0"
        )
    _check_lines(descriptor, swizzle, along_bytes, major)
    steps = STEPS_OF_TENSOR[major, bool(swizzle.bits)]
    across, along = (int(getattr(descriptor, name)) for name in (steps.across_lines, steps.along_lines))
    second = descriptor.leading if descriptor.leading_absolute else None
    walk = Walk(descriptor.start, across, along, swizzle, descriptor.base_offset, second)
    return element_places(rows, k, fmt, slot, major, walk), slot != fmt.bits


def _checked_shape(rows: int, k: int, fmt: Format, slot: int, major: Major, swizzle: Swizzle) -> int:
    """Check that a matrix is made of whole atoms and chunks; returns the bytes of a line."""
    for name, given in (("rows", rows), ("k", k)):
        if integer_of(given) is None or not 0 < given <= _LONGEST:
            raise ArgumentValueError(f"{name} is {shorten(given)}; an operand has 1 to {_LONGEST}")
    lines, along = (rows, k) if major == "k" else (k, rows)
    if lines % swizzle.lines or along * slot % (8 * CHUNK_BYTES):
        raise ArgumentValueError(
            f"{rows} rows and {k} of k are no operand in {fmt}: {swizzle.lines} lines of {CHUNK_BYTES} bytes are the "
            "least"
        )
    return along * slot // 8


def _check_lines(descriptor: SharedMemoryDescriptor, swizzle: Swizzle, along_bytes: int, major: Major) -> None:
    """Check that lines stay within their atom, or that they may go on elsewhere."""
    if descriptor.leading_absolute:
        if major != "k" or along_bytes != ABSOLUTE_LEADING.row_bytes:
            raise UnsupportedInstructionError(
                "a leading dimension that is an absolute address exists for K-major operands of "
                f"{ABSOLUTE_LEADING.row_bytes} bytes of k (96 elements of 4 bits), not for {along_bytes} bytes "
                f"{'K' if major == 'k' else 'MN'}-major"
            )
        if descriptor.leading % swizzle.atom_bytes:
            raise AlignmentError(
                f"lines go on at {descriptor.leading}, which is no multiple of {swizzle.atom_bytes} bytes, where a "
                "pattern of the swizzle begins"
            )
        return
    require_within_lines(descriptor.start, along_bytes, swizzle)
