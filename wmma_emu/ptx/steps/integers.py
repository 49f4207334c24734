# SPDX-License-Identifier: MIT
"""Integer arithmetic: sums, products, quotients, dot products; results wrap unless they saturate."""

from collections.abc import Callable

import numpy as np

from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.steps.lane_operations import LaneOperation
from wmma_emu.ptx.steps.operation_entries import Entries, operation_entries
from wmma_emu.ptx.steps.patterns import Array, per_element, signed, split_halves, unchanged, unsigned_of
from wmma_emu.ptx.steps.products import divide, high_product, remain, wide_product
from wmma_emu.ptx.widths import bits_of_type

_HIGH_BITS, _LOW_BITS = np.uint32(0x8000_8000), np.uint32(0x7FFF_7FFF)
_MIN_S32, _MAX_S32 = np.int64(-(1 << 31)), np.int64((1 << 31) - 1)


def _binary(kind: str, compute: Callable[[Array, Array], Array]) -> LaneOperation:
    return LaneOperation((kind,), (kind, kind), compute)


def _add(instruction: PtxInstruction, kind: str) -> LaneOperation:
    return _binary(kind, _add_halves if kind.endswith("x2") else np.add)


def _add_halves(a: Array, b: Array) -> Array:
    # The upper bit of each half is added separately, so that no carry leaves the lower half.
    result: Array = ((a & _LOW_BITS) + (b & _LOW_BITS)) ^ ((a ^ b) & _HIGH_BITS)
    return result


def _saturate(wide: Array) -> Array:
    return np.minimum(np.maximum(wide, _MIN_S32), _MAX_S32).astype(np.int32).view(np.uint32)


def _wide(word: Array) -> Array:
    return signed(word).astype(np.int64)


def _add_saturated(instruction: PtxInstruction, sat: str, kind: str) -> LaneOperation:
    if instruction.mnemonic == "sub":
        return _binary(kind, lambda a, b: _saturate(_wide(a) - _wide(b)))
    return _binary(kind, lambda a, b: _saturate(_wide(a) + _wide(b)))


def _of_elements(instruction: PtxInstruction, sat: str, kind: str) -> LaneOperation:
    """Return a sum or difference of each element of at most 32 bits, which wraps or saturates."""
    name = kind.partition("x")[0]
    bits, is_signed = bits_of_type(name), name[0] == "s"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    function: Callable[..., Array] = np.subtract if instruction.mnemonic == "sub" else np.add

    def compute(a: Array, b: Array) -> Array:
        x, y = ((signed(word) if is_signed else word).astype(np.int64) for word in (a, b))
        return np.clip(function(x, y), low, high).view(np.uint64).astype(a.dtype)

    return _binary(kind, per_element(kind, compute if sat else function))


def _product(instruction: PtxInstruction, part: str, kind: str) -> tuple[str, Callable[[Array, Array], Array]]:
    """Return the type of the selected part of a product, and the function."""
    if instruction.mnemonic.endswith("24"):
        return kind, _product24(part, kind)
    if part == "wide":
        return f"{kind[0]}{2 * bits_of_type(kind)}", wide_product(kind)
    return kind, np.multiply if part == "lo" else high_product(kind)


def _mul(instruction: PtxInstruction, part: str, kind: str) -> LaneOperation:
    result, compute = _product(instruction, part, kind)
    return LaneOperation((result,), (kind, kind), compute)


def _mad(instruction: PtxInstruction, part: str, kind: str) -> LaneOperation:
    result, product = _product(instruction, part, kind)
    return LaneOperation((result,), (kind, kind, result), lambda a, b, c: product(a, b) + c)


def _mad_saturated(instruction: PtxInstruction, part: str, sat: str, kind: str) -> LaneOperation:
    _, product = _product(instruction, part, kind)
    return LaneOperation((kind,), (kind,) * 3, lambda a, b, c: _saturate(_wide(product(a, b)) + _wide(c)))


def _product24(part: str, kind: str) -> Callable[[Array, Array], Array]:
    shift = np.uint64(16 if part == "hi" else 0)

    def of_unsigned(a: Array, b: Array) -> Array:
        x, y = (word & np.uint32(0xFF_FFFF) for word in (a, b))
        return (x.astype(np.uint64) * y >> shift).astype(np.uint32)

    def of_signed(a: Array, b: Array) -> Array:
        # The sign is bit 23.
        x, y = (((word << np.uint32(8)).view(np.int32) >> 8).astype(np.int64) for word in (a, b))
        return (x * y >> shift.astype(np.int64)).astype(np.uint64).astype(np.uint32)

    return of_signed if kind[0] == "s" else of_unsigned


def _sad(instruction: PtxInstruction, kind: str) -> LaneOperation:
    view: Callable[[Array], Array] = signed if kind[0] == "s" else unchanged

    def compute(a: Array, b: Array, c: Array) -> Array:
        return c + np.where(view(a) < view(b), b - a, a - b)

    return LaneOperation((kind,), (kind,) * 3, compute)


def _abs(instruction: PtxInstruction, kind: str) -> LaneOperation:
    dtype = unsigned_of(kind)
    return LaneOperation((kind,), (kind,), lambda a: np.abs(signed(a)).view(dtype))


def _negative(instruction: PtxInstruction, kind: str) -> LaneOperation:
    return LaneOperation((kind,), (kind,), per_element(kind, np.negative))


def _extremum(instruction: PtxInstruction, relu: str, kind: str) -> LaneOperation:
    pick: Callable[..., Array] = {"min": np.minimum, "max": np.maximum}[instruction.mnemonic]

    def compute(a: Array, b: Array) -> Array:
        if kind[0] == "u":
            return pick(a, b)
        result = pick(signed(a), signed(b))
        return (np.maximum(result, result.dtype.type(0)) if relu else result).view(a.dtype)

    return _binary(kind, per_element(kind, compute))


def _bytes(word: Array, kind: str) -> Array:
    parts = word[..., None].view(np.int8 if kind[0] == "s" else np.uint8)
    return parts.astype(np.int64)


def _dp4a(instruction: PtxInstruction, a_kind: str, b_kind: str) -> LaneOperation:
    def compute(a: Array, b: Array, c: Array) -> Array:
        products = (_bytes(a, a_kind) * _bytes(b, b_kind)).sum(axis=-1)
        result: Array = products.view(np.uint64).astype(np.uint32) + c
        return result

    return LaneOperation((_sum_kind(a_kind, b_kind),), (a_kind, b_kind, _sum_kind(a_kind, b_kind)), compute)


def _dp2a(instruction: PtxInstruction, part: str, a_kind: str, b_kind: str) -> LaneOperation:
    chosen = slice(0, 2) if part == "lo" else slice(2, 4)

    def compute(a: Array, b: Array, c: Array) -> Array:
        halves = split_halves(a)
        wide = (signed(halves) if a_kind[0] == "s" else halves).astype(np.int64)
        products = (wide * _bytes(b, b_kind)[..., chosen]).sum(axis=-1)
        result: Array = products.view(np.uint64).astype(np.uint32) + c
        return result

    return LaneOperation((_sum_kind(a_kind, b_kind),), (a_kind, b_kind, _sum_kind(a_kind, b_kind)), compute)


def _sum_kind(a_kind: str, b_kind: str) -> str:
    return "u32" if a_kind == b_kind == "u32" else "s32"


_ALL = "u16|u32|u64|s16|s32|s64"
_SIGNED = "s16|s32|s64"

INTEGER_ENTRIES: Entries = {
    **operation_entries("add", _ALL, _add, "9.7.1.1"),
    **operation_entries("add", "u16x2|s16x2", _add, "9.7.1.1", first="sm_90"),
    **operation_entries("add|sub", "-|sat u8x4|s8x4", _of_elements, "9.7.1.1, 9.7.1.2 of PTX ISA 9.2", first="sm_120"),
    **operation_entries("add", "sat u32|u16x2|s16x2", _of_elements, "9.7.1.1 of PTX ISA 9.2", first="sm_120"),
    **operation_entries("neg", "s8x4", _negative, "9.7.1.11 of PTX ISA 9.2", first="sm_120"),
    **operation_entries("min|max", "- u8x4|s8x4", _extremum, "9.7.1.12, 9.7.1.13 of PTX ISA 9.2", first="sm_120"),
    **operation_entries("min|max", "relu s8x4", _extremum, "9.7.1.12, 9.7.1.13 of PTX ISA 9.2", first="sm_120"),
    **operation_entries("sub", _ALL, lambda instruction, kind: _binary(kind, np.subtract), "9.7.1.2"),
    **operation_entries("add|sub", "sat s32", _add_saturated, "9.7.1.1, 9.7.1.2"),
    **operation_entries("mul", f"lo|hi {_ALL}", _mul, "9.7.1.3"),
    **operation_entries("mul", "wide u16|u32|s16|s32", _mul, "9.7.1.3"),
    **operation_entries("mad", f"lo|hi {_ALL}", _mad, "9.7.1.4"),
    **operation_entries("mad", "wide u16|u32|s16|s32", _mad, "9.7.1.4"),
    **operation_entries("mad", "hi sat s32", _mad_saturated, "9.7.1.4"),
    **operation_entries("mul24", "lo|hi u32|s32", _mul, "9.7.1.5"),
    **operation_entries("mad24", "lo|hi u32|s32", _mad, "9.7.1.6"),
    **operation_entries("mad24", "hi sat s32", _mad_saturated, "9.7.1.6"),
    **operation_entries("sad", _ALL, _sad, "9.7.1.7"),
    **operation_entries("div", _ALL, lambda instruction, kind: _binary(kind, divide(kind)), "9.7.1.8"),
    **operation_entries("rem", _ALL, lambda instruction, kind: _binary(kind, remain(kind)), "9.7.1.9"),
    **operation_entries("abs", _SIGNED, _abs, "9.7.1.10"),
    **operation_entries("neg", _SIGNED, _negative, "9.7.1.11"),
    **operation_entries("min|max", f"- {_ALL}", _extremum, "9.7.1.12, 9.7.1.13"),
    **operation_entries("min|max", "- u16x2|s16x2", _extremum, "9.7.1.12, 9.7.1.13", first="sm_90"),
    **operation_entries("min|max", "relu s32|s16x2", _extremum, "9.7.1.12, 9.7.1.13", first="sm_90"),
    **operation_entries("dp4a", "u32|s32 u32|s32", _dp4a, "9.7.1.23"),
    **operation_entries("dp2a", "lo|hi u32|s32 u32|s32", _dp2a, "9.7.1.24"),
}
"""The integer instructions without a carry."""
