# SPDX-License-Identifier: MIT
"""Logic operations, shifts and permutations."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.program.program import Immediate, PtxInstruction
from wmma_emu.ptx.steps.lane_operations import LaneOperation
from wmma_emu.ptx.steps.operation_entries import Entries, operation_entries
from wmma_emu.ptx.steps.patterns import Array, signed, unsigned_of
from wmma_emu.scalar.prmt import PRMT_MODES, permuted


def permute(mode: str) -> Callable[[Array, Array, Array], Array]:
    """Return the function of `prmt` in a mode.

    Examples
    --------
    >>> a, b, c = (np.array([x], np.uint32) for x in (0x33221100, 0x77665544, 0x5410))
    >>> hex(permute("")(a, b, c)[0])
    '0x55441100'
    """

    def compute(a: Array, b: Array, c: Array) -> Array:
        if c.size == 1:
            return _plan(int(c.flat[0]), mode)(a, b)
        result: Array = permuted(a, b, c, mode)
        return result

    return compute


@lru_cache(4096)
def _plan(selector: int, mode: str) -> Callable[[Array, Array], Array]:
    """Compile a selector to shifts and masks: bytes of one word that move by the same distance are moved together."""
    chosen = PRMT_MODES[mode][selector & 3] if mode else tuple(selector >> 4 * i & 15 for i in range(4))
    masks: dict[tuple[int, int], int] = {}
    signs: list[tuple[int, int, int]] = []
    for place, pick in enumerate(chosen):
        word, byte = pick >> 2 & 1, pick & 3
        if pick & 8:
            signs.append((word, byte, place))
        else:
            key = word, place - byte
            masks[key] = masks.get(key, 0) | 0xFF << 8 * place

    def compute(a: Array, b: Array) -> Array:
        words = a, b
        result: Array | None = None
        for (word, places), mask in masks.items():
            part = words[word]
            if places > 0:
                part = part << np.uint32(8 * places)
            elif places < 0:
                part = part >> np.uint32(-8 * places)
            # A shift brings in zeros, so bytes shifted in at the end of the word need no mask.
            if mask != _whole(places):
                part = part & np.uint32(mask)
            result = part if result is None else result | part
        for word, byte, place in signs:
            part = (words[word] >> np.uint32(8 * byte + 7) & np.uint32(1)) * np.uint32(0xFF << 8 * place)
            result = part if result is None else result | part
        return a if result is None else result

    return compute


def _whole(places: int) -> int:
    every = 0xFFFF_FFFF
    return every << 8 * places & every if places >= 0 else every >> -8 * places


def _logic(instruction: PtxInstruction, kind: str) -> LaneOperation:
    operation: Callable[..., Array] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[
        instruction.mnemonic
    ]
    return LaneOperation((kind,), (kind, kind), operation)


def _cnot(instruction: PtxInstruction, kind: str) -> LaneOperation:
    dtype = unsigned_of(kind)
    return LaneOperation((kind,), (kind,), lambda a: (a == 0).astype(dtype))


def _shl(instruction: PtxInstruction, kind: str) -> LaneOperation:
    return LaneOperation((kind,), (kind, "u32"), _shifting(np.left_shift))


def _shr(instruction: PtxInstruction, kind: str) -> LaneOperation:
    return LaneOperation((kind,), (kind, "u32"), _shift_right_signed if kind[0] == "s" else _shifting(np.right_shift))


def _shifting(shift: Callable[..., Array]) -> Callable[[Array, Array], Array]:
    def compute(a: Array, amount: Array) -> Array:
        width = a.dtype.itemsize * 8
        if amount.size == 1:
            places = int(amount.flat[0])
            return shift(a, a.dtype.type(places)) if places < width else np.zeros_like(a)
        shifted = shift(a, (amount & np.uint32(width - 1)).astype(a.dtype, copy=False))
        result: Array = np.where(amount < width, shifted, a.dtype.type(0))
        return result

    return compute


def _shift_right_signed(a: Array, amount: Array) -> Array:
    number = signed(a)
    # A shift by the width or more gives only sign bits, like a shift by the width less one.
    result: Array = (number >> np.minimum(amount, np.uint32(a.dtype.itemsize * 8 - 1)).astype(number.dtype)).view(
        a.dtype
    )
    return result


def _shf(instruction: PtxInstruction, direction: str, mode: str, kind: str) -> LaneOperation:
    left, clamp = direction == "l", mode == "clamp"

    def funnel(low: Array, high: Array, amount: Array) -> Array:
        places = np.minimum(amount, np.uint32(32)) if clamp else amount & np.uint32(31)
        both = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
        if left:
            return (both << places.astype(np.uint64) >> np.uint64(32)).astype(np.uint32)
        return (both >> places.astype(np.uint64)).astype(np.uint32)

    return LaneOperation((kind,), (kind, kind, "u32"), funnel)


_OF_TWO: tuple[Callable[[Any, Any], Any], ...] = (
    lambda b, c: None, lambda b, c: ~(b | c), lambda b, c: c & ~b, lambda b, c: ~b,
    lambda b, c: b & ~c, lambda b, c: ~c, lambda b, c: b ^ c, lambda b, c: ~(b & c),
    lambda b, c: b & c, lambda b, c: ~(b ^ c), lambda b, c: c, lambda b, c: c | ~b,
    lambda b, c: b, lambda b, c: b | ~c, lambda b, c: b | c, lambda b, c: None,
)  # fmt: skip
"""Every function of two bits by its truth table, whose bit 2b + c is the value; constants are handled separately."""


def lookup_of_three(table: int) -> Callable[[Array, Array, Array], Array]:
    """Return the function of a lop3 table: the value for a = 0 by b and c, and whether a = 1 changes it.

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


def _table_of(instruction: PtxInstruction, position: int) -> int:
    given = instruction.operands[position] if len(instruction.operands) > position else None
    if not isinstance(given, Immediate) or given.kind != "int":
        raise UnsupportedInstructionError(f"immLut of {instruction.opcode} has to be an integer constant")
    return given.value & 0xFF  # as in ptxas 13.0


def _lop3(instruction: PtxInstruction, kind: str) -> LaneOperation:
    function = lookup_of_three(_table_of(instruction, 4))
    return LaneOperation((kind,), (kind, kind, kind, "u32"), lambda a, b, c, table: function(a, b, c))


def _lop3_with_predicate(instruction: PtxInstruction, operation: str, kind: str) -> LaneOperation:
    function = lookup_of_three(_table_of(instruction, 4))
    join = {"or": np.logical_or, "and": np.logical_and}[operation]

    def compute(a: Array, b: Array, c: Array, table: Array, q: Array) -> tuple[Array, Array]:
        d = function(a, b, c)
        return d, join(d != 0, q)

    return LaneOperation((kind, "pred"), (kind, kind, kind, "u32", "pred"), compute)


def _prmt(instruction: PtxInstruction, kind: str, mode: str) -> LaneOperation:
    return LaneOperation((kind,), (kind, kind, "b32"), permute(mode))


_WIDTHS = "b16|b32|b64"

BIT_ENTRIES: Entries = {
    **operation_entries("and|or|xor", f"pred|{_WIDTHS}", _logic, "9.7.8.1 to 9.7.8.3"),
    **operation_entries(
        "not", f"pred|{_WIDTHS}", lambda instruction, kind: LaneOperation((kind,), (kind,), np.invert), "9.7.8.4"
    ),
    **operation_entries("cnot", _WIDTHS, _cnot, "9.7.8.5"),
    **operation_entries("lop3", "b32", _lop3, "9.7.8.6"),
    **operation_entries("lop3", "or|and b32", _lop3_with_predicate, "9.7.8.6", pair="must"),
    **operation_entries("shf", "l|r clamp|wrap b32", _shf, "9.7.8.7"),
    **operation_entries("shl", _WIDTHS, _shl, "9.7.8.8"),
    **operation_entries("shr", f"{_WIDTHS}|u16|u32|u64|s16|s32|s64", _shr, "9.7.8.9"),
    **operation_entries("prmt", "b32 -|f4e|b4e|rc8|ecl|ecr|rc16", _prmt, "9.7.9.7"),
}
"""The instructions on bits."""
