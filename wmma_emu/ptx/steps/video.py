# SPDX-License-Identifier: MIT
"""Video instructions on the bytes or halves of words: ``vadd4``, ``vabsdiff2``, ``vset4`` and their kin."""

from collections.abc import Callable

import numpy as np

from wmma_emu.ptx.program.program import Instruction
from wmma_emu.ptx.steps.forms import Form
from wmma_emu.ptx.steps.patterns import Array
from wmma_emu.ptx.steps.rows import Rows, form_rows

__all__ = ["COMPARISONS", "OPERATIONS", "VIDEO_ROWS", "limits"]


def _average(a: Array, b: Array) -> Array:
    # Halves are rounded away from zero.
    total = a + b
    return np.asarray((total + (total >= 0)) >> 1)


OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "vadd": np.add,
    "vsub": np.subtract,
    "vavrg": _average,
    "vabsdiff": lambda a, b: np.asarray(np.abs(a - b)),
    "vmin": np.minimum,
    "vmax": np.maximum,
}
"""What each does to two integers, that of a half or a byte being the same as that of a word."""

COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


def limits(kind: str, bits: int) -> tuple[np.int64, np.int64]:
    """Give the range of a part of a word, of the signedness of a type.

    Examples
    --------
    >>> limits("s32", 8)
    (np.int64(-128), np.int64(127))
    """
    return (np.int64(-(1 << bits - 1)), np.int64((1 << bits - 1) - 1)) if kind[0] == "s" else (
        np.int64(0), np.int64((1 << bits) - 1)
    )  # fmt: skip


def _parts(word: Array, kind: str, bits: int) -> Array:
    """Take words apart, along an axis more: the lowest part first."""
    if not word.flags.c_contiguous:
        word = np.ascontiguousarray(word)
    return word[..., None].view(f"{'i' if kind[0] == 's' else 'u'}{bits // 8}").astype(np.int64)


def _word(parts: Array, bits: int) -> Array:
    """Put words together of the lowest bits of their parts."""
    result: Array = parts.view(np.uint64).astype(f"u{bits // 8}").view(np.uint32)[..., 0]
    return result


def _simd(instruction: Instruction, kind: str, a_kind: str, b_kind: str, how: str) -> Form:
    """Make the form of ``vadd4.s32.u32.s32.sat``: every part by itself, or all of them added to c."""
    operation, bits = OPERATIONS[instruction.mnemonic[:-1]], 32 // int(instruction.mnemonic[-1])
    low, high = limits(kind, bits)

    def compute(a: Array, b: Array, c: Array) -> Array:
        parts = operation(_parts(a, a_kind, bits), _parts(b, b_kind, bits))
        if how == "add":
            return _added(parts, c)
        return _word(np.clip(parts, low, high) if how == "sat" else parts, bits)

    return Form((kind,), (a_kind, b_kind, kind), compute)


def _simd_set(instruction: Instruction, a_kind: str, b_kind: str, comparison: str, how: str) -> Form:
    """Make the form of ``vset4.u32.u32.lt``: parts are 1 where it holds."""
    compare, bits = COMPARISONS[comparison], 32 // int(instruction.mnemonic[-1])

    def compute(a: Array, b: Array, c: Array) -> Array:
        parts = compare(_parts(a, a_kind, bits), _parts(b, b_kind, bits)).astype(np.int64)
        return _added(parts, c) if how == "add" else _word(parts, bits)

    return Form(("u32",), (a_kind, b_kind, "u32"), compute)


def _added(parts: Array, c: Array) -> Array:
    # The parts have not been cut to their width.
    return np.asarray(parts.sum(axis=-1).view(np.uint64).astype(np.uint32) + c)


_KINDS = "u32|s32"
_TYPES = f"{_KINDS} {_KINDS} {_KINDS}"
_SIMD = "|".join(f"{x}{count}" for x in OPERATIONS for count in (2, 4))

VIDEO_ROWS: Rows = {
    **form_rows(_SIMD, f"{_TYPES} -|sat|add", _simd, "SIMD Video Instructions"),
    **form_rows(
        "vset2|vset4", f"{_KINDS} {_KINDS} {'|'.join(COMPARISONS)} -|add", _simd_set, "SIMD Video Instructions"
    ),
}
"""Instructions on the bytes and halves of words, without masks and selectors (``d.h1``, ``a.b3210``)."""
