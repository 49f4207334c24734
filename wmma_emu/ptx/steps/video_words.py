# SPDX-License-Identifier: MIT
"""Video instructions on whole words: an operation of 33 bits, saturation, and the addition of c."""

from collections.abc import Callable

import numpy as np

from wmma_emu.ptx.program.program import Instruction
from wmma_emu.ptx.steps.forms import Form
from wmma_emu.ptx.steps.patterns import Array, signed
from wmma_emu.ptx.steps.rows import Rows, form_rows
from wmma_emu.ptx.steps.video import COMPARISONS, OPERATIONS, limits

__all__ = ["REFUSED_OF_VIDEO", "VIDEO_WORD_ROWS"]


def _wide(word: Array, kind: str) -> Array:
    return (signed(word) if kind[0] == "s" else word).astype(np.int64)


def _low(wide: Array) -> Array:
    return np.asarray(wide.view(np.uint64).astype(np.uint32))


def _finished(kind: str, sat: str) -> Callable[[Array], Array]:
    """Make the function that cuts a result to 32 bits."""
    low, high = limits(kind, 32)
    return (lambda wide: _low(np.clip(wide, low, high))) if sat else _low


def _form(kind: str, kinds: tuple[str, str], second: str, compute: Callable[[Array, Array], Array]) -> Form:
    """Let the second operation follow, if there is one."""
    if second == "add":
        return Form((kind,), (*kinds, kind), lambda a, b, c: compute(a, b) + c)
    return Form((kind,), kinds, compute)


def _scalar(instruction: Instruction, kind: str, a_kind: str, b_kind: str, sat: str, second: str) -> Form:
    operation, finish = OPERATIONS[instruction.mnemonic], _finished(kind, sat)
    return _form(kind, (a_kind, b_kind), second, lambda a, b: finish(operation(_wide(a, a_kind), _wide(b, b_kind))))


def _shift(instruction: Instruction, kind: str, a_kind: str, b_kind: str, sat: str, mode: str, second: str) -> Form:
    finish = _finished(kind, sat)

    def compute(a: Array, b: Array) -> Array:
        count = (np.minimum(b, np.uint32(32)) if mode == "clamp" else b & np.uint32(31)).astype(np.int64)
        wide = _wide(a, a_kind)
        return finish(wide >> count if instruction.mnemonic == "vshr" else wide << count)

    return _form(kind, (a_kind, b_kind), second, compute)


def _set(instruction: Instruction, a_kind: str, b_kind: str, comparison: str, second: str) -> Form:
    compare = COMPARISONS[comparison]
    return _form(
        "u32", (a_kind, b_kind), second, lambda a, b: compare(_wide(a, a_kind), _wide(b, b_kind)).astype(np.uint32)
    )


def _mad(instruction: Instruction, kind: str, a_kind: str, b_kind: str, plus: str) -> Form:
    # The lower half of a product is the same with and without signs.
    return Form((kind,), (a_kind, b_kind, kind), lambda a, b, c: a * b + (c + np.uint32(bool(plus))))


_KINDS = "u32|s32"
_SCALAR = "|".join(x for x in OPERATIONS if x != "vavrg")
_SECOND = "-|add"
_SOURCE = "Video Instructions"

VIDEO_WORD_ROWS: Rows = {
    **form_rows(_SCALAR, f"{_KINDS} {_KINDS} {_KINDS} - {_SECOND}", _scalar, _SOURCE),
    **form_rows(_SCALAR, f"s32 {_KINDS} {_KINDS} sat {_SECOND}", _scalar, _SOURCE),
    **form_rows("vmin|vmax", f"u32 {_KINDS} {_KINDS} sat {_SECOND}", _scalar, _SOURCE),
    **form_rows("vshl", f"{_KINDS} {_KINDS} u32 - clamp|wrap {_SECOND}", _shift, _SOURCE),
    **form_rows("vshr", f"{_KINDS} {_KINDS} u32 -|sat clamp|wrap {_SECOND}", _shift, _SOURCE),
    **form_rows("vset", f"{_KINDS} {_KINDS} {'|'.join(COMPARISONS)} {_SECOND}", _set, _SOURCE),
    **form_rows("vmad", f"{_KINDS} {_KINDS} {_KINDS} -|po", _mad, _SOURCE),
}
"""Instructions on words, without selectors (``a.b0``, ``d.h1``) and, of ``vmad``, negated operands."""

_DIFFERS = "an NVIDIA H200 gives other bits than the PTX ISA says (2026-11-21, tests/data/sm90_ptx_video.npz)"
REFUSED_OF_VIDEO = dict.fromkeys(("sat", "min", "max", "shr7", "shr15"), _DIFFERS)
"""Modifiers that some of these instructions do not have here, and why."""
