# SPDX-License-Identifier: MIT
"""Element addresses of matrices in shared memory for any kind of descriptor, and reading and writing at them.

A line is a run of contiguous elements: along k (K-major), or along the rows of A or the columns of B (MN-major). A line
is divided into chunks of 16 bytes. An atom is eight lines of one chunk, or with a swizzle of two, four or eight chunks.
An element's address is the sum of four steps: to its line within the atom, to its chunk within the line, and, by the
offsets of the descriptor, from atom to atom across the lines and along them. A swizzle then XORs address bits 7 and up
onto bits 4 and up, counted from the beginning of its pattern. Every element has a bit address, eight per byte.
"""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import (
    ArgumentError,
    ArgumentValueError,
    OptionError,
    OutOfBoundsError,
    UnsupportedInstructionError,
    shorten,
)
from wmma_emu.formats import Format
from wmma_emu.formats.arrays import as_numpy, integer_of
from wmma_emu.formats.codec import Bits
from wmma_emu.layouts.matrix_descriptor import Descriptor, DescriptorTable
from wmma_emu.layouts.shared_memory_table import CHUNK_BYTES, WINDOW, Major, OffsetField, SwizzleRule
from wmma_emu.layouts.spec import Ints

_LONGEST = 1 << 12
"""An upper limit on rows and k of any operand."""

_MAJORS: dict[Major, str] = {"k": "K-major", "mn": "MN-major"}

_D = TypeVar("_D", bound=Descriptor)


def rule_for(table: DescriptorTable, fmt: Format, slot_bits: int, major: object) -> SwizzleRule:
    """Return the entry with the swizzle modes in which an operand can be read."""
    if major not in ("k", "mn"):
        raise OptionError(f"major is {shorten(major)}; it must be 'k' or 'mn'")
    for rule in table.rules:
        if rule.major == major and slot_bits in rule.bits and rule.padded == (slot_bits != fmt.bits):
            return rule
    fitting = {x: {bits for rule in table.rules if rule.major == x for bits in rule.bits} for x in _MAJORS}
    fix = ""
    if fmt.bits == 6:
        fix = "; 6-bit elements need container=8"
    elif major == "mn" and fmt.bits in fitting["k"]:
        fix = f"; {fmt} must be K-major: store it with k contiguous"
    raise UnsupportedInstructionError(
        f"{table.reader} cannot read {fmt} in {slot_bits} bits {_MAJORS[major]} from shared memory; {_MAJORS[major]} "
        f"elements must have {', '.join(str(x) for x in sorted(fitting[major]))} bits{fix}"
    )


def element_addresses(
    descriptor: Descriptor, kind: type[Descriptor], rows: int, k: int, fmt: Format, slot_bits: int, major: Major
) -> Ints:
    """Return the bit address of every element that is read through a descriptor of a kind, after all checks.

    The result has shape (rows, k); for B, ``rows`` are its columns. ``slot_bits`` is the share of a chunk per element:
    the width of the format, or 8 if sixteen narrower elements are packed at the beginning of a chunk and the rest of it
    is padding.
    """
    if not isinstance(descriptor, kind):
        name = kind.__name__
        raise ArgumentError(f"{shorten(descriptor)} is not a {name}; {name}.decode reads an integer")
    rule = rule_for(kind.table, fmt, slot_bits, major)
    if descriptor.swizzle not in rule.modes:
        raise UnsupportedInstructionError(
            f"{fmt} in {slot_bits} bits is read {_MAJORS[major]} with the swizzle modes "
            f"{', '.join(str(x) for x in rule.modes)}, not {descriptor.swizzle}"
        )
    for name, given in (("rows", rows), ("k", k)):
        if integer_of(given) is None or not 0 < given <= _LONGEST:
            raise ArgumentValueError(f"{name} is {shorten(given)}; it must be 1 to {_LONGEST}")
    lines, along = (rows, k) if major == "k" else (k, rows)
    least = descriptor.pattern.lines
    if lines % least or along * slot_bits % (8 * CHUNK_BYTES):
        raise ArgumentValueError(
            f"{rows} rows and {k} of k are not an operand in {fmt}: it needs at least {least} lines of "
            f"{CHUNK_BYTES} bytes"
        )
    descriptor.require_lines(major, along * slot_bits // 8)
    line, position = np.indices((lines, along), np.int64)
    chunk, element = np.divmod(position, 8 * CHUNK_BYTES // slot_bits)
    address = descriptor.chunk_addresses(major, line, chunk)
    bit_addresses: Ints = 8 * descriptor.pattern.applied(address, descriptor.base_offset) + element * fmt.bits
    return bit_addresses if major == "k" else bit_addresses.T


def read_patterns(
    memory: Any, descriptor: Descriptor, kind: type[Descriptor], rows: int, k: int, fmt: Format, slot_bits: int,
    major: Major,
) -> Bits:  # fmt: skip
    """Read a matrix from shared memory, (*batch, rows, k), after the checks of `element_addresses`."""
    memory = as_shared_memory(memory)
    bit_addresses = element_addresses(descriptor, kind, rows, k, fmt, slot_bits, major)
    require_inside(memory, bit_addresses, fmt, descriptor)
    if slot_bits != fmt.bits:
        end = ((int(bit_addresses.max()) >> 3) // CHUNK_BYTES + 1) * CHUNK_BYTES
        if end > memory.shape[-1]:
            require_inside(memory, np.full((rows, k), 8 * end - fmt.bits), fmt, descriptor)
    return patterns_at(memory, bit_addresses, fmt)


def patterns_at(memory: NDArray[np.uint8], addresses: Ints, fmt: Format) -> Bits:
    """Read patterns at bit addresses that are inside the memory: (*batch, *addresses.shape)."""
    first = addresses >> 3
    if fmt.bits < 8:
        bit = addresses & 7
        low = memory[..., first].astype(np.uint16)
        high = memory[..., np.where(bit + fmt.bits > 8, first + 1, first)].astype(np.uint16)
        both = (low | high << np.uint16(8)) >> bit.astype(np.uint16)
        narrow: Bits = (both & np.uint16((1 << fmt.bits) - 1)).astype(fmt.storage)
        return narrow
    width = fmt.bits // 8
    parts = np.ascontiguousarray(memory[..., first[..., None] + np.arange(width)])
    patterns: Bits = parts.view(np.dtype(f"<u{width}"))[..., 0].astype(fmt.storage)
    return patterns


def image(
    bits: object, fmt: Format, slot_bits: int, major: Major, given: _D, leading: int | None, stride: int | None
) -> tuple[NDArray[np.uint8], _D]:
    """Store a matrix in shared memory; return the bytes from address 0, and the descriptor that reads them.

    The offsets of ``given`` are ignored; by default atoms are adjacent, those along a line first.
    """
    patterns = require_patterns(bits, fmt)
    rows, k = patterns.shape[-2:]
    rule_for(given.table, fmt, slot_bits, major)
    compact = _side_by_side(given, rows, k, slot_bits, major)
    leading = compact["leading"] if leading is None else leading
    stride = compact["stride"] if stride is None else stride
    descriptor = replace(given, leading=leading, stride=stride)
    bit_addresses = element_addresses(descriptor, type(given), rows, k, fmt, slot_bits, major)
    if len(np.unique(bit_addresses)) != bit_addresses.size:
        raise ArgumentValueError(
            f"with leading={leading} and stride={stride} two elements of {rows} x {k} {fmt} share an address; for "
            f"adjacent atoms use leading={compact['leading']}, stride={compact['stride']}"
        )
    return memory_of(patterns, bit_addresses, fmt), descriptor


def memory_of(bits: Bits, addresses: Ints, fmt: Format) -> NDArray[np.uint8]:
    """Write patterns at different bit addresses: (*batch, bytes), in whole chunks, 0 where there is no element."""
    last = (int(addresses.max()) + fmt.bits - 1 >> 3) + 1
    if last > WINDOW:
        rows, k = bits.shape[-2:]
        raise OutOfBoundsError(
            f"{rows} x {k} {fmt} would reach to address {last}; a descriptor covers {WINDOW} bytes of shared memory"
        )
    batch, size = bits.shape[:-2], -(-last // CHUNK_BYTES) * CHUNK_BYTES
    if fmt.bits < 8:
        single = np.zeros((*batch, 8 * size), np.uint8)
        for i in range(fmt.bits):
            single[..., addresses + i] = bits >> bits.dtype.type(i) & bits.dtype.type(1)
        return np.packbits(single, axis=-1, bitorder="little")
    width = fmt.bits // 8
    memory = np.zeros((*batch, size), np.uint8)
    parts = np.ascontiguousarray(bits[..., None].astype(np.dtype(f"<u{width}"))).view(np.uint8)
    memory[..., (addresses >> 3)[..., None] + np.arange(width)] = parts
    return memory


def require_patterns(bits: object, fmt: Format) -> Bits:
    """Return a matrix of patterns of a format, or raise an error."""
    if not isinstance(bits, np.ndarray) or bits.dtype != fmt.storage or bits.ndim < 2:
        given = f"{bits.dtype} of shape {bits.shape}" if isinstance(bits, np.ndarray) else shorten(bits)
        raise ArgumentError(f"bits must be patterns of {fmt}, {fmt.storage} of shape (..., rows, k), not {given}")
    if (bits >> bits.dtype.type(fmt.bits) if bits.dtype.itemsize * 8 > fmt.bits else bits[:0]).any():
        raise ArgumentValueError(f"bits are patterns of {fmt}: nothing outside of {fmt.bits} bits may be set")
    return bits


def as_shared_memory(memory: Any) -> NDArray[np.uint8]:
    """Return shared memory, bytes from address 0 with shape (*batch, bytes), or raise an error."""
    given = as_numpy(memory, "memory")
    if given.dtype != np.uint8 or given.ndim == 0:
        raise ArgumentError(
            f"shared memory must be a uint8 array of shape (..., bytes), not {shorten(given.dtype, str)} of shape "
            f"{given.shape}; .view(np.uint8) of a contiguous array returns its bytes"
        )
    return given


def require_inside(memory: NDArray[np.uint8], addresses: Ints, fmt: Format, descriptor: object) -> None:
    """Reject elements that are wholly or partly outside the memory."""
    ends = (addresses + fmt.bits - 1 >> 3) + 1
    outside = (addresses < 0) | (ends > min(memory.shape[-1], WINDOW))
    if outside.any():
        row, k = np.argwhere(outside)[0].tolist()
        raise OutOfBoundsError(
            f"element (row {row}, k {k}) of {addresses.shape[0]} x {addresses.shape[1]} {fmt} is at address "
            f"{int(addresses[row, k]) >> 3}, and the shared memory has {memory.shape[-1]} bytes; the operand with "
            f"{descriptor} needs {int(ends.max())} bytes"
        )


def _side_by_side(given: Descriptor, rows: int, k: int, slot_bits: int, major: Major) -> dict[OffsetField, int]:
    """Return the offsets of adjacent atoms; an unused offset is 16, as the manual assumes."""
    swizzle = given.pattern
    steps = given.table.steps[major, bool(swizzle.bits)]
    lines, along = (rows, k) if major == "k" else (k, rows)
    atoms = -(-(along * slot_bits // 8) // swizzle.line_bytes)
    if major == "mn" and swizzle.bits:
        return {"leading": swizzle.atom_bytes * (lines // swizzle.lines), "stride": swizzle.atom_bytes}
    found: dict[OffsetField, int] = {"leading": CHUNK_BYTES, "stride": CHUNK_BYTES}
    found[steps.across_lines] = swizzle.atom_bytes * atoms
    if atoms > 1 or not swizzle.bits:
        found[steps.along_lines] = swizzle.atom_bytes
    return found
