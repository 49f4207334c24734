# SPDX-License-Identifier: MIT
"""Logic, shifts and bit fields: what they give for the bits of each thread."""

from collections.abc import Callable
from typing import Any

import numpy as np

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.program.program import Immediate, Instruction
from wmma_emu.ptx.steps.forms import Form
from wmma_emu.ptx.steps.permutes import permute
from wmma_emu.ptx.steps.rows import Rows, form_rows
from wmma_emu.ptx.steps.widths import Array, signed, unsigned_of, width_of

__all__ = ["BIT_ROWS", "lookup_of_three"]

_ZERO, _ONE = np.uint32(0), np.uint32(1)

_LEAST_OFFSET = -(1 << 31)
"""An offset of fns whose magnitude no s32 holds: it gives 0 (NVIDIA H200, 2026-11-21)."""


def _logic(instruction: Instruction, kind: str) -> Form:
    operation: Callable[..., Array] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[
        instruction.mnemonic
    ]
    return Form((kind,), (kind, kind), operation)


def _not(instruction: Instruction, kind: str) -> Form:
    return Form((kind,), (kind,), np.invert)


def _cnot(instruction: Instruction, kind: str) -> Form:
    dtype = unsigned_of(kind)
    return Form((kind,), (kind,), lambda a: (a == 0).astype(dtype))


def _shl(instruction: Instruction, kind: str) -> Form:
    return Form((kind,), (kind, "u32"), _shift_left)


def _shift_left(a: Array, amount: Array) -> Array:
    width = a.dtype.itemsize * 8
    if amount.size == 1:
        places = int(amount.flat[0])
        return a << a.dtype.type(places) if places < width else np.zeros_like(a)
    shifted = a << (amount & np.uint32(width - 1)).astype(a.dtype, copy=False)
    result: Array = np.where(amount < width, shifted, a.dtype.type(0))
    return result


def _shr(instruction: Instruction, kind: str) -> Form:
    return Form((kind,), (kind, "u32"), _shift_right_signed if kind[0] == "s" else _shift_right)


def _shift_right(a: Array, amount: Array) -> Array:
    width = a.dtype.itemsize * 8
    if amount.size == 1:
        places = int(amount.flat[0])
        return a >> a.dtype.type(places) if places < width else np.zeros_like(a)
    shifted = a >> (amount & np.uint32(width - 1)).astype(a.dtype, copy=False)
    result: Array = np.where(amount < width, shifted, a.dtype.type(0))
    return result


def _shift_right_signed(a: Array, amount: Array) -> Array:
    number = signed(a)
    # What is shifted further than its width is all sign, and so is what is shifted by one less.
    result: Array = (number >> np.minimum(amount, np.uint32(a.dtype.itemsize * 8 - 1)).astype(number.dtype)).view(
        a.dtype
    )
    return result


def _shf(instruction: Instruction, direction: str, mode: str, kind: str) -> Form:
    left, clamp = direction == "l", mode == "clamp"

    def funnel(low: Array, high: Array, amount: Array) -> Array:
        places = np.minimum(amount, np.uint32(32)) if clamp else amount & np.uint32(31)
        both = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
        if left:
            return (both << places.astype(np.uint64) >> np.uint64(32)).astype(np.uint32)
        return (both >> places.astype(np.uint64)).astype(np.uint32)

    return Form((kind,), (kind, kind, "u32"), funnel)


def _cut(width: int) -> Callable[[Array], Array]:
    """Keep what counts of a position or a length: eight bits, but all where machine code does 64 bits in pieces."""
    return (lambda a: a & np.uint32(0xFF)) if width == 32 else np.asarray


def _bfe(instruction: Instruction, kind: str) -> Form:
    width = width_of(kind)
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

    return Form((kind,), (kind, "u32", "u32"), extract_signed if kind[0] == "s" else extract)


def _bfi(instruction: Instruction, kind: str) -> Form:
    width = width_of(kind)
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

    return Form((kind,), (kind, kind, "u32", "u32"), insert)


def _bmsk(instruction: Instruction, mode: str, kind: str) -> Form:
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

    return Form((kind,), (kind, kind), mask)


def _szext(instruction: Instruction, mode: str, kind: str) -> Form:
    clamp, with_sign = mode == "clamp", kind[0] == "s"

    def extend(a: Array, b: Array) -> Array:
        count = b & np.uint32(31)
        surplus = (np.uint32(32) - count) & np.uint32(31)
        up = a << surplus
        down = (up.view(np.int32) >> surplus.view(np.int32)).view(np.uint32) if with_sign else up >> surplus
        result = np.where(count == 0, _ZERO, down)
        return np.where(b >= 32, a, result) if clamp else result

    return Form((kind,), (kind, "u32"), extend)


def _popc(instruction: Instruction, kind: str) -> Form:
    return Form(("u32",), (kind,), _count_ones)


def _count_ones(a: Array) -> Array:
    return np.bitwise_count(a).astype(np.uint32)


def _smear(a: Array) -> Array:
    """Set every bit below the highest one."""
    places = 1
    while places < a.dtype.itemsize * 8:
        a = a | a >> a.dtype.type(places)
        places *= 2
    return a


def _clz(instruction: Instruction, kind: str) -> Form:
    width = np.uint32(width_of(kind))
    return Form(("u32",), (kind,), lambda a: width - _count_ones(_smear(a)))


def _bfind(instruction: Instruction, shiftamt: str, kind: str) -> Form:
    width = width_of(kind)

    def find(a: Array) -> Array:
        if kind[0] == "s":
            a = a ^ (signed(a) >> (width - 1)).view(a.dtype)
        bits = _count_ones(_smear(a))
        found = np.uint32(width) - bits if shiftamt else bits - _ONE
        return np.where(bits == 0, np.uint32(0xFFFF_FFFF), found)

    return Form(("u32",), (kind,), find)


def _fns(instruction: Instruction, kind: str) -> Form:
    return Form(("b32",), ("b32", "u32", "s32"), _find_nth)


def _find_nth(mask: Array, base: Array, offset: Array) -> Array:
    mask, base, offset = np.broadcast_arrays(mask, base, offset)
    result = np.full(mask.shape, 0xFFFF_FFFF, np.uint32)
    steps = (
        offset.view(np.int32).astype(np.int64) if offset.flags.c_contiguous else signed(offset.copy()).astype(np.int64)
    )
    start = base.astype(np.int64)
    set_here = (mask >> (base & np.uint32(31))) & _ONE != 0
    result = np.where((steps == 0) & set_here & (start < 32), base, result)
    result = np.where(steps == _LEAST_OFFSET, _ZERO, result)
    seen_up, seen_down = np.zeros(mask.shape, np.int64), np.zeros(mask.shape, np.int64)
    for i in range(32):
        up = (mask >> np.uint32(i) & _ONE != 0) & (start <= i)
        seen_up += up
        result = np.where(up & (seen_up == steps) & (steps > 0), np.uint32(i), result)
        j = 31 - i
        down = (mask >> np.uint32(j) & _ONE != 0) & (start >= j) & (start < 32)
        seen_down += down
        result = np.where(down & (seen_down == -steps) & (steps < 0), np.uint32(j), result)
    return result


def _brev(instruction: Instruction, kind: str) -> Form:
    return Form((kind,), (kind,), _reverse)


def _reverse(a: Array) -> Array:
    width = a.dtype.itemsize * 8
    for places in (1, 2, 4):
        mask = a.dtype.type(sum(1 << i for i in range(width) if not i & places))
        a = (a & mask) << a.dtype.type(places) | (a >> a.dtype.type(places)) & mask
    return a.byteswap()


_OF_TWO: tuple[Callable[[Any, Any], Any], ...] = (
    lambda b, c: None, lambda b, c: ~(b | c), lambda b, c: c & ~b, lambda b, c: ~b,
    lambda b, c: b & ~c, lambda b, c: ~c, lambda b, c: b ^ c, lambda b, c: ~(b & c),
    lambda b, c: b & c, lambda b, c: ~(b ^ c), lambda b, c: c, lambda b, c: c | ~b,
    lambda b, c: b, lambda b, c: b | ~c, lambda b, c: b | c, lambda b, c: None,
)  # fmt: skip
"""Every function of two bits; entry 2b + c of the number's bits is its value. The constants stand apart."""


def lookup_of_three(table: int) -> Callable[[Array, Array, Array], Array]:
    """Make the function of a lop3 table: what c and b say where a is 0, and where a being 1 changes it.

    Examples
    --------
    >>> a, b, c = (np.array([x], np.uint32) for x in (0xF0, 0xCC, 0xAA))
    >>> hex(lookup_of_three(0xEA)(a, b, c)[0] & 0xFF)
    '0xea'
    """
    low, change = table & 15, (table & 15) ^ (table >> 4)
    every = np.uint32(0xFFFF_FFFF)

    def constant(number: int, like: Array) -> Array:
        return np.full((1,) * like.ndim, every if number else 0, np.uint32)

    def compute(a: Array, b: Array, c: Array) -> Array:
        start = constant(low, a) if low in (0, 15) else _OF_TWO[low](b, c)
        if change == 0:
            return start
        change_where_a = a if change == 15 else a & _OF_TWO[change](b, c)
        return change_where_a if low == 0 else ~change_where_a if low == 15 else start ^ change_where_a

    return compute


def _table_of(instruction: Instruction, position: int) -> int:
    given = instruction.operands[position] if len(instruction.operands) > position else None
    if not isinstance(given, Immediate) or not 0 <= given.value <= 0xFF:
        raise UnsupportedInstructionError(f"immLut of {instruction.opcode} is a constant from 0 to 255")
    return given.value


def _lop3(instruction: Instruction, kind: str) -> Form:
    function = lookup_of_three(_table_of(instruction, 4))
    return Form((kind,), (kind, kind, kind, "u32"), lambda a, b, c, table: function(a, b, c))


def _lop3_with_predicate(instruction: Instruction, operation: str, kind: str) -> Form:
    function = lookup_of_three(_table_of(instruction, 4))
    join = {"or": np.logical_or, "and": np.logical_and}[operation]

    def compute(a: Array, b: Array, c: Array, table: Array, q: Array) -> tuple[Array, Array]:
        d = function(a, b, c)
        return d, join(d != 0, q)

    return Form((kind, "pred"), (kind, kind, kind, "u32", "pred"), compute)


def _prmt(instruction: Instruction, kind: str, mode: str) -> Form:
    return Form((kind,), (kind, kind, "b32"), permute(mode))


_WIDTHS = "b16|b32|b64"

BIT_ROWS: Rows = {
    **form_rows("and|or|xor", f"pred|{_WIDTHS}", _logic, "9.7.8.1 to 9.7.8.3"),
    **form_rows("not", f"pred|{_WIDTHS}", _not, "9.7.8.4"),
    **form_rows("cnot", _WIDTHS, _cnot, "9.7.8.5"),
    **form_rows("lop3", "b32", _lop3, "9.7.8.6"),
    **form_rows("lop3", "or|and b32", _lop3_with_predicate, "9.7.8.6", pair="must"),
    **form_rows("shf", "l|r clamp|wrap b32", _shf, "9.7.8.7"),
    **form_rows("shl", _WIDTHS, _shl, "9.7.8.8"),
    **form_rows("shr", f"{_WIDTHS}|u16|u32|u64|s16|s32|s64", _shr, "9.7.8.9"),
    **form_rows("bfe", "u32|u64|s32|s64", _bfe, "9.7.1.19"),
    **form_rows("bfi", "b32|b64", _bfi, "9.7.1.20"),
    **form_rows("bmsk", "clamp|wrap b32", _bmsk, "9.7.1.22"),
    **form_rows("szext", "clamp|wrap u32|s32", _szext, "9.7.1.21"),
    **form_rows("popc", "b32|b64", _popc, "9.7.1.14"),
    **form_rows("clz", "b32|b64", _clz, "9.7.1.15"),
    **form_rows("bfind", "-|shiftamt u32|u64|s32|s64", _bfind, "9.7.1.16"),
    **form_rows("fns", "b32", _fns, "9.7.1.17"),
    **form_rows("brev", "b32|b64", _brev, "9.7.1.18"),
    **form_rows("prmt", "b32 -|f4e|b4e|rc8|ecl|ecr|rc16", _prmt, "9.7.9.7"),
}
"""Instructions on bits."""
