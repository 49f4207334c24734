# SPDX-License-Identifier: MIT
"""Bit fields, masks, and counting and finding bits."""

from collections.abc import Callable

import numpy as np

from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.steps.lane_operations import LaneOperation
from wmma_emu.ptx.steps.operation_entries import Entries, operation_entries
from wmma_emu.ptx.steps.patterns import Array, signed, unchanged, unsigned_of
from wmma_emu.ptx.widths import bits_of_type

_ZERO, _ONE = np.uint32(0), np.uint32(1)

_LEAST_OFFSET = -(1 << 31)
"""The offset of fns whose magnitude exceeds s32: the result is 0 (NVIDIA H200, 2026-11-21)."""


def _cut(width: int) -> Callable[[Array], Array]:
    """Return a function that masks a position or length to 8 bits; 64-bit operations use all bits."""
    return (lambda a: a & np.uint32(0xFF)) if width == 32 else unchanged


def _bfe(instruction: PtxInstruction, kind: str) -> LaneOperation:
    width = bits_of_type(kind)
    cut = _cut(width)
    unsigned = unsigned_of(kind).type
    last = np.uint32(width - 1)

    def extract(a: Array, position: Array, length: Array) -> Array:
        p, n = cut(position), cut(length)
        moved = a >> np.minimum(p, last).astype(unsigned)
        ones = unsigned(-1 & (1 << width) - 1) >> np.minimum(np.uint32(width) - np.minimum(n, width), last).astype(
            unsigned
        )
        result: Array = np.where((p > last) | (n == 0), unsigned(0), moved & ones)
        return result

    def extract_signed(a: Array, position: Array, length: Array) -> Array:
        p, n = cut(position), cut(length)
        moved = signed(a) >> np.minimum(p, last).astype(signed(a).dtype)
        surplus = np.minimum(np.uint32(width) - np.minimum(n, width), last).astype(moved.dtype)
        result: Array = np.where(n == 0, unsigned(0), ((moved << surplus) >> surplus).view(a.dtype))
        return result

    return LaneOperation((kind,), (kind, "u32", "u32"), extract_signed if kind[0] == "s" else extract)


def _bfi(instruction: PtxInstruction, kind: str) -> LaneOperation:
    width = bits_of_type(kind)
    cut = _cut(width)
    unsigned = unsigned_of(kind).type
    last = np.uint32(width - 1)

    def insert(a: Array, b: Array, position: Array, length: Array) -> Array:
        p, n = cut(position), cut(length)
        ones = unsigned((1 << width) - 1) >> np.minimum(np.uint32(width) - np.minimum(n, width), last).astype(unsigned)
        places = np.minimum(p, last).astype(unsigned)
        mask = np.where((n == 0) | (p > last), unsigned(0), ones << places)
        result: Array = (b & ~mask) | ((a << places) & mask)
        return result

    return LaneOperation((kind,), (kind, kind, "u32", "u32"), insert)


def _bmsk(instruction: PtxInstruction, mode: str, kind: str) -> LaneOperation:
    clamp = mode == "clamp"

    def mask(a: Array, b: Array) -> Array:
        start, count = a & np.uint32(31), b & np.uint32(31)
        every = np.uint32(0xFFFF_FFFF)
        end = start + count
        above = every << start
        beyond = end >= 32
        if clamp:
            above = np.where(a >= 32, _ZERO, above)
            beyond = beyond | (a >= 32) | (b >= 32)
        return above & ~np.where(beyond, _ZERO, every << (end & np.uint32(31)))

    return LaneOperation(("u32",), ("u32", "u32"), mask)


def _szext(instruction: PtxInstruction, mode: str, kind: str) -> LaneOperation:
    clamp, with_sign = mode == "clamp", kind[0] == "s"

    def extend(a: Array, b: Array) -> Array:
        count = b & np.uint32(31)
        surplus = (np.uint32(32) - count) & np.uint32(31)
        up = a << surplus
        down = (up.view(np.int32) >> surplus.view(np.int32)).view(np.uint32) if with_sign else up >> surplus
        result = np.where(count == 0, _ZERO, down)
        return np.where(b >= 32, a, result) if clamp else result

    return LaneOperation((kind,), (kind, "u32"), extend)


def _count_ones(a: Array) -> Array:
    return np.bitwise_count(a).astype(np.uint32)


def _smear(a: Array) -> Array:
    """Set every bit below the highest set bit."""
    places = 1
    while places < a.dtype.itemsize * 8:
        a = a | a >> a.dtype.type(places)
        places *= 2
    return a


def _clz(instruction: PtxInstruction, kind: str) -> LaneOperation:
    width = np.uint32(bits_of_type(kind))
    return LaneOperation(("u32",), (kind,), lambda a: width - _count_ones(_smear(a)))


def _bfind(instruction: PtxInstruction, shiftamt: str, kind: str) -> LaneOperation:
    width = bits_of_type(kind)

    def find(a: Array) -> Array:
        if kind[0] == "s":
            a = a ^ (signed(a) >> (width - 1)).view(a.dtype)
        bits = _count_ones(_smear(a))
        found = np.uint32(width) - bits if shiftamt else bits - _ONE
        return np.where(bits == 0, np.uint32(0xFFFF_FFFF), found)

    return LaneOperation(("u32",), (kind,), find)


def _find_nth(mask: Array, base: Array, offset: Array) -> Array:
    mask, base, offset = np.broadcast_arrays(mask, base, offset)
    result = np.full(mask.shape, 0xFFFF_FFFF, np.uint32)
    steps = signed(offset).astype(np.int64)
    start = base.astype(np.int64)
    set_here = (mask >> (base & np.uint32(31))) & _ONE != 0
    result = np.where((steps == 0) & set_here & (start < 32), base, result)
    result = np.where(steps == _LEAST_OFFSET, _ZERO, result)
    seen_up, seen_down = np.zeros(mask.shape, np.int64), np.zeros(mask.shape, np.int64)
    for i in range(32):
        up = (mask >> np.uint32(i) & _ONE != 0) & (start <= i)
        seen_up = seen_up + up
        result = np.where(up & (seen_up == steps) & (steps > 0), np.uint32(i), result)
        j = 31 - i
        down = (mask >> np.uint32(j) & _ONE != 0) & (start >= j) & (start < 32)
        seen_down = seen_down + down
        result = np.where(down & (seen_down == -steps) & (steps < 0), np.uint32(j), result)
    return result


def _reverse(a: Array) -> Array:
    width = a.dtype.itemsize * 8
    for places in (1, 2, 4):
        mask = a.dtype.type(sum(1 << i for i in range(width) if not i & places))
        a = (a & mask) << a.dtype.type(places) | (a >> a.dtype.type(places)) & mask
    return a.byteswap()


FIELD_ENTRIES: Entries = {
    **operation_entries("bfe", "u32|u64|s32|s64", _bfe, "9.7.1.19"),
    **operation_entries("bfi", "b32|b64", _bfi, "9.7.1.20"),
    **operation_entries("bmsk", "clamp|wrap b32", _bmsk, "9.7.1.22"),
    **operation_entries("szext", "clamp|wrap u32|s32", _szext, "9.7.1.21"),
    **operation_entries(
        "popc", "b32|b64", lambda instruction, kind: LaneOperation(("u32",), (kind,), _count_ones), "9.7.1.14"
    ),
    **operation_entries("clz", "b32|b64", _clz, "9.7.1.15"),
    **operation_entries("bfind", "-|shiftamt u32|u64|s32|s64", _bfind, "9.7.1.16"),
    **operation_entries(
        "fns", "b32", lambda instruction, kind: LaneOperation((kind,), (kind,) * 3, _find_nth), "9.7.1.17"
    ),
    **operation_entries(
        "brev", "b32|b64", lambda instruction, kind: LaneOperation((kind,), (kind,), _reverse), "9.7.1.18"
    ),
}
"""The instructions on bit fields."""
