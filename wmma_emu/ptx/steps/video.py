# SPDX-License-Identifier: MIT
"""Video instructions on the bytes or halves of words, such as ``vadd4``, and on whole words."""

from collections.abc import Callable

import numpy as np

from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.steps.lane_operations import LaneOperation
from wmma_emu.ptx.steps.operation_entries import Entries, operation_entries
from wmma_emu.ptx.steps.patterns import Array, signed


def _average(a: Array, b: Array) -> Array:
    # One half is rounded away from zero.
    total = a + b
    return (total + (total >= 0)) >> 1


OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "vadd": np.add,
    "vsub": np.subtract,
    "vavrg": _average,
    "vabsdiff": lambda a, b: np.abs(a - b),
    "vmin": np.minimum,
    "vmax": np.maximum,
}
"""The function of two integers of each instruction; it is the same for words, halves and bytes."""

COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


def limits(kind: str, bits: int) -> tuple[np.int64, np.int64]:
    """Return the range of a part of a word, signed or unsigned as the type.

    Examples
    --------
    >>> limits("s32", 8)
    (np.int64(-128), np.int64(127))
    """
    return (np.int64(-(1 << bits - 1)), np.int64((1 << bits - 1) - 1)) if kind[0] == "s" else (
        np.int64(0), np.int64((1 << bits) - 1)
    )  # fmt: skip


def _parts(word: Array, kind: str, bits: int) -> Array:
    if not word.flags.c_contiguous:
        word = np.ascontiguousarray(word)
    return word[..., None].view(f"{'i' if kind[0] == 's' else 'u'}{bits // 8}").astype(np.int64)


def _word(parts: Array, bits: int) -> Array:
    result: Array = parts.view(np.uint64).astype(f"u{bits // 8}").view(np.uint32)[..., 0]
    return result


def _simd(instruction: PtxInstruction, kind: str, a_kind: str, b_kind: str, how: str) -> LaneOperation:
    """Return the operation of ``vadd4.s32.u32.s32.sat`` and similar: separate parts, or the sum of all parts and c."""
    operation, bits = OPERATIONS[instruction.mnemonic[:-1]], 32 // int(instruction.mnemonic[-1])
    low, high = limits(kind, bits)

    def compute(a: Array, b: Array, c: Array) -> Array:
        parts = operation(_parts(a, a_kind, bits), _parts(b, b_kind, bits))
        if how == "add":
            return _added(parts, c)
        return _word(np.clip(parts, low, high) if how == "sat" else parts, bits)

    return LaneOperation((kind,), (a_kind, b_kind, kind), compute)


def _simd_set(instruction: PtxInstruction, a_kind: str, b_kind: str, comparison: str, how: str) -> LaneOperation:
    """Return the operation of ``vset4.u32.u32.lt`` and similar: a part is 1 if its comparison is true."""
    compare, bits = COMPARISONS[comparison], 32 // int(instruction.mnemonic[-1])

    def compute(a: Array, b: Array, c: Array) -> Array:
        parts = compare(_parts(a, a_kind, bits), _parts(b, b_kind, bits)).astype(np.int64)
        return _added(parts, c) if how == "add" else _word(parts, bits)

    return LaneOperation(("u32",), (a_kind, b_kind, "u32"), compute)


def _added(parts: Array, c: Array) -> Array:
    # The parts are not truncated to their width.
    result: Array = parts.sum(axis=-1).view(np.uint64).astype(np.uint32) + c
    return result


_KINDS = "u32|s32"
_TYPES = f"{_KINDS} {_KINDS} {_KINDS}"
_SIMD = "|".join(f"{x}{count}" for x in OPERATIONS for count in (2, 4))

VIDEO_ENTRIES: Entries = {
    **operation_entries(_SIMD, f"{_TYPES} -|sat|add", _simd, "SIMD Video Instructions"),
    **operation_entries(
        "vset2|vset4", f"{_KINDS} {_KINDS} {'|'.join(COMPARISONS)} -|add", _simd_set, "SIMD Video Instructions"
    ),
}
"""The instructions on the bytes and halves of words, without masks and selectors (``d.h1``, ``a.b3210``)."""


def _wide(word: Array, kind: str) -> Array:
    return (signed(word) if kind[0] == "s" else word).astype(np.int64)


def _low(wide: Array) -> Array:
    return wide.view(np.uint64).astype(np.uint32)


def _finished(kind: str, sat: str) -> Callable[[Array], Array]:
    low, high = limits(kind, 32)
    return (lambda wide: _low(np.clip(wide, low, high))) if sat else _low


def _word_operation(
    kind: str, kinds: tuple[str, str], second: str, compute: Callable[[Array, Array], Array]
) -> LaneOperation:
    if second == "add":
        return LaneOperation((kind,), (*kinds, kind), lambda a, b, c: compute(a, b) + c)
    return LaneOperation((kind,), kinds, compute)


def _scalar(instruction: PtxInstruction, kind: str, a_kind: str, b_kind: str, sat: str, second: str) -> LaneOperation:
    operation, finish = OPERATIONS[instruction.mnemonic], _finished(kind, sat)
    return _word_operation(
        kind, (a_kind, b_kind), second, lambda a, b: finish(operation(_wide(a, a_kind), _wide(b, b_kind)))
    )


def _shift(
    instruction: PtxInstruction, kind: str, a_kind: str, b_kind: str, sat: str, mode: str, second: str
) -> LaneOperation:
    finish = _finished(kind, sat)

    def compute(a: Array, b: Array) -> Array:
        count = (np.minimum(b, np.uint32(32)) if mode == "clamp" else b & np.uint32(31)).astype(np.int64)
        wide = _wide(a, a_kind)
        return finish(wide >> count if instruction.mnemonic == "vshr" else wide << count)

    return _word_operation(kind, (a_kind, b_kind), second, compute)


def _set(instruction: PtxInstruction, a_kind: str, b_kind: str, comparison: str, second: str) -> LaneOperation:
    compare = COMPARISONS[comparison]
    return _word_operation(
        "u32", (a_kind, b_kind), second, lambda a, b: compare(_wide(a, a_kind), _wide(b, b_kind)).astype(np.uint32)
    )


def _mad(instruction: PtxInstruction, kind: str, a_kind: str, b_kind: str, plus: str) -> LaneOperation:
    # The lower half of a product is the same with and without signs.
    return LaneOperation((kind,), (a_kind, b_kind, kind), lambda a, b, c: a * b + (c + np.uint32(bool(plus))))


_SCALAR = "|".join(x for x in OPERATIONS if x != "vavrg")
_SECOND = "-|add"
_SOURCE = "Video Instructions"

VIDEO_WORD_ENTRIES: Entries = {
    **operation_entries(_SCALAR, f"{_KINDS} {_KINDS} {_KINDS} - {_SECOND}", _scalar, _SOURCE),
    **operation_entries(_SCALAR, f"s32 {_KINDS} {_KINDS} sat {_SECOND}", _scalar, _SOURCE),
    **operation_entries("vmin|vmax", f"u32 {_KINDS} {_KINDS} sat {_SECOND}", _scalar, _SOURCE),
    **operation_entries("vshl", f"{_KINDS} {_KINDS} u32 - clamp|wrap {_SECOND}", _shift, _SOURCE),
    **operation_entries("vshr", f"{_KINDS} {_KINDS} u32 -|sat clamp|wrap {_SECOND}", _shift, _SOURCE),
    **operation_entries("vset", f"{_KINDS} {_KINDS} {'|'.join(COMPARISONS)} {_SECOND}", _set, _SOURCE),
    **operation_entries("vmad", f"{_KINDS} {_KINDS} {_KINDS} -|po", _mad, _SOURCE),
}
"""The instructions on words, without selectors (``a.b0``, ``d.h1``) and without negated operands of ``vmad``."""

_DIFFERS = "the results of an NVIDIA H200 differ from the PTX ISA (2026-11-21, tests/data/sm90_ptx_video.npz)"
REFUSED_OF_VIDEO = dict.fromkeys(("sat", "min", "max", "shr7", "shr15"), _DIFFERS)
"""The modifiers that are not modelled for some of these instructions, and the reason."""
