# SPDX-License-Identifier: MIT
"""Comparisons that write predicates (setp) or words (set)."""

from collections.abc import Callable

import numpy as np

from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.steps.lane_operations import LaneOperation
from wmma_emu.ptx.steps.operation_entries import Entries, first_only, operation_entries
from wmma_emu.ptx.steps.patterns import Array, join_halves, signed, split_halves, unchanged
from wmma_emu.ptx.widths import bits_of_type
from wmma_emu.scalar import rounded_single
from wmma_emu.scalar.rounded_half import HALVES

_Compare = Callable[[Array, Array], Array]

_PLAIN: dict[str, Callable[..., Array]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip

_FLOATS: dict[str, Callable[..., Array]] = {
    **_PLAIN, "ne": lambda x, y: (x < y) | (x > y), "num": lambda x, y: (x == x) & (y == y),
}  # fmt: skip
"""The comparisons of floats, all of which are false for NaN."""

_OPPOSITE = {"equ": "ne", "neu": "eq", "ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt", "nan": "num"}
"""The opposite of each comparison that is true for NaN."""

_JOIN: dict[str, Callable[..., Array]] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _view(kind: str, ftz: str) -> Callable[[Array], Array]:
    """Return a function that converts bits to numbers for NumPy's comparisons."""
    match kind.removesuffix("x2"):
        case "f32":
            return lambda a: (rounded_single.flush(a) if ftz else a).view(np.float32)
        case "f64":
            return lambda a: a.view(np.float64)
        case "f16" | "bf16" as name:
            half = HALVES[name]
            return lambda a: half.single(half.flush(a) if ftz else a)
    return signed if kind[0] == "s" else unchanged


def _comparison(operation: str, ftz: str, kind: str) -> _Compare:
    view = _view(kind, ftz)
    if "f" not in kind:
        compare = _PLAIN[operation]
        return compare if view is unchanged else lambda a, b: compare(view(a), view(b))

    of_floats, is_opposite = _FLOATS[_OPPOSITE.get(operation, operation)], operation in _OPPOSITE

    def compute(a: Array, b: Array) -> Array:
        with np.errstate(invalid="ignore"):
            found = of_floats(view(a), view(b))
        return ~found if is_opposite else found

    return compute


def _setp(instruction: PtxInstruction, operation: str, join: str, ftz: str, kind: str) -> LaneOperation:
    """Return an operation with two results: a comparison and its opposite, or the comparisons of both halves."""
    compare, of_halves = _comparison(operation, ftz, kind), kind.endswith("x2")

    def compute(a: Array, b: Array, c: Array | None = None) -> tuple[Array, Array]:
        if of_halves:
            both = compare(split_halves(a), split_halves(b))
            p, q = both[..., 0], both[..., 1]
        else:
            p = compare(a, b)
            q = ~p
        return (p, q) if c is None else (_JOIN[join](p, c), _JOIN[join](q, c))

    return LaneOperation(("pred", "pred"), (kind, kind, "pred") if join else (kind, kind), compute)


def _setp_single(instruction: PtxInstruction, operation: str, join: str, ftz: str, kind: str) -> LaneOperation:
    return first_only(_setp(instruction, operation, join, ftz, kind))


_TRUE = {"f32": 0x3F80_0000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}
"""The pattern of true in floating-point types; in integer types it is all ones."""


def _set(instruction: PtxInstruction, operation: str, join: str, ftz: str, result: str, kind: str) -> LaneOperation:
    compare = _comparison(operation, ftz, kind)
    packed = result.endswith("x2") or kind.endswith("x2")
    width = 16 if packed else bits_of_type(result)
    unsigned = np.dtype(f"u{width // 8}").type
    true = unsigned(_TRUE.get(result, (1 << width) - 1))

    def compute(a: Array, b: Array, c: Array | None = None) -> Array:
        if packed:
            a, b = split_halves(a), split_halves(b)
        found = compare(a, b)
        if c is not None:
            found = _JOIN[join](found, c[..., None] if packed else c)
        word = np.where(found, true, unsigned(0))
        return join_halves(word) if packed else word

    return LaneOperation((result,), (kind, kind, "pred") if join else (kind, kind), compute)


_ORDER = "eq|ne|lt|le|gt|ge"
_OF_FLOATS = f"{_ORDER}|equ|neu|ltu|leu|gtu|geu|num|nan"
_BITS, _UNSIGNED, _SIGNED = "b16|b32|b64", "u16|u32|u64", "s16|s32|s64"
_JOINS = "-|and|or|xor"
_WORDS = "u32|s32|f32"

_SETP, _SET = "9.7.6.2", "9.7.6.1"
_HALF_SETP, _HALF_SET = "9.7.7.2", "9.7.7.1"

COMPARE_ENTRIES: Entries = {
    **operation_entries("setp", f"eq|ne {_JOINS} - {_BITS}", _setp, _SETP, pair="may"),
    **operation_entries("setp", f"{_ORDER}|lo|ls|hi|hs {_JOINS} - {_UNSIGNED}", _setp, _SETP, pair="may"),
    **operation_entries("setp", f"{_ORDER} {_JOINS} - {_SIGNED}", _setp, _SETP, pair="may"),
    **operation_entries("setp", f"{_OF_FLOATS} {_JOINS} -|ftz f32", _setp, _SETP, pair="may"),
    **operation_entries("setp", f"{_OF_FLOATS} {_JOINS} - f64", _setp, _SETP, pair="may"),
    **operation_entries("setp", f"{_OF_FLOATS} {_JOINS} -|ftz f16", _setp_single, _HALF_SETP),
    **operation_entries("setp", f"{_OF_FLOATS} {_JOINS} -|ftz f16x2", _setp, _HALF_SETP, pair="must"),
    **operation_entries("setp", f"{_OF_FLOATS} {_JOINS} - bf16", _setp_single, _HALF_SETP, first="sm_90"),
    **operation_entries("setp", f"{_OF_FLOATS} {_JOINS} - bf16x2", _setp, _HALF_SETP, first="sm_90", pair="must"),
    **operation_entries("set", f"eq|ne {_JOINS} - {_WORDS} {_BITS}", _set, _SET),
    **operation_entries("set", f"{_ORDER}|lo|ls|hi|hs {_JOINS} - {_WORDS} {_UNSIGNED}", _set, _SET),
    **operation_entries("set", f"{_ORDER} {_JOINS} - {_WORDS} {_SIGNED}", _set, _SET),
    **operation_entries("set", f"{_OF_FLOATS} {_JOINS} -|ftz {_WORDS} f32", _set, _SET),
    **operation_entries("set", f"{_OF_FLOATS} {_JOINS} - {_WORDS} f64", _set, _SET),
    **operation_entries("set", f"eq|ne {_JOINS} - f16 {_BITS}", _set, _HALF_SET),
    **operation_entries("set", f"{_ORDER}|lo|ls|hi|hs {_JOINS} - f16 {_UNSIGNED}", _set, _HALF_SET),
    **operation_entries("set", f"{_ORDER} {_JOINS} - f16 {_SIGNED}", _set, _HALF_SET),
    **operation_entries("set", f"{_OF_FLOATS} {_JOINS} -|ftz f16 f32", _set, _HALF_SET),
    **operation_entries("set", f"{_OF_FLOATS} {_JOINS} - f16 f64", _set, _HALF_SET),
    **operation_entries("set", f"eq|ne {_JOINS} - bf16 {_BITS}", _set, _HALF_SET, first="sm_90"),
    **operation_entries("set", f"{_ORDER}|lo|ls|hi|hs {_JOINS} - bf16 {_UNSIGNED}", _set, _HALF_SET, first="sm_90"),
    **operation_entries("set", f"{_ORDER} {_JOINS} - bf16 {_SIGNED}", _set, _HALF_SET, first="sm_90"),
    **operation_entries("set", f"{_OF_FLOATS} {_JOINS} - bf16 f16|f32|f64", _set, _HALF_SET, first="sm_90"),
    **operation_entries("set", f"{_OF_FLOATS} {_JOINS} -|ftz f16|u16|s16|u32|s32 f16", _set, _HALF_SET),
    **operation_entries("set", f"{_OF_FLOATS} {_JOINS} -|ftz f16x2|u32|s32 f16x2", _set, _HALF_SET),
    **operation_entries("set", f"{_OF_FLOATS} {_JOINS} - bf16|u16|s16|u32|s32 bf16", _set, _HALF_SET, first="sm_90"),
    **operation_entries("set", f"{_OF_FLOATS} {_JOINS} - bf16x2|u32|s32 bf16x2", _set, _HALF_SET, first="sm_90"),
}
"""The comparisons."""
