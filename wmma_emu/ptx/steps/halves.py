# SPDX-License-Identifier: MIT
"""Arithmetic of f16 and bf16, single or packed in pairs."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from wmma_emu.formats import format_of
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.steps.lane_operations import LaneOperation
from wmma_emu.ptx.steps.operation_entries import Entries, operation_entries
from wmma_emu.ptx.steps.patterns import Array, per_element, unchanged
from wmma_emu.scalar import extrema, rounded_half, rounded_single
from wmma_emu.scalar.rounded_half import HALVES

_SIGN = np.uint16(0x8000)

_FUNCTIONS: dict[str, tuple[int, Callable[..., Array]]] = {
    "add": (2, rounded_half.add),
    "sub": (2, lambda a, b, half, ftz: rounded_half.add(a, b ^ _SIGN, half, ftz)),
    "mul": (2, rounded_half.mul),
    "fma": (3, rounded_half.fma),
}


def _arithmetic(instruction: PtxInstruction, rounding: str, ftz: str, sat: str, kind: str) -> LaneOperation:
    half = HALVES[kind.removesuffix("x2")]
    count, function = _FUNCTIONS[instruction.mnemonic]

    def compute(*sources: Array) -> Array:
        if ftz:
            sources = tuple(half.flush(x) for x in sources)
        result = function(*sources, half, bool(ftz))
        if sat == "sat":
            return half.saturate(result)
        return half.relu(result) if sat == "relu" else result

    return LaneOperation((kind,), (kind,) * count, per_element(kind, compute))


def _fma_out_of_bounds(instruction: PtxInstruction, rounding: str, oob: str, relu: str, kind: str) -> LaneOperation:
    operation = _arithmetic(instruction, rounding, "", relu, kind)
    inner = _arithmetic(instruction, rounding, "", relu, kind.removesuffix("x2")).compute

    def compute(a: Array, b: Array, c: Array) -> Array:
        result: Any = inner(a, b, c)
        outside = (a & _MAGNITUDE == _OUT_OF_BOUNDS) | (b & _MAGNITUDE == _OUT_OF_BOUNDS)
        return np.where(outside, np.uint16(0), result)

    return operation._replace(compute=per_element(kind, compute))


_OUT_OF_BOUNDS, _MAGNITUDE = np.uint16(0x7FF7), np.uint16(0x7FFF)
"""The NaN, of either sign and in both formats, that marks a factor as out of bounds: the result is then +0 for any
addend (all 65536 patterns of each operand, NVIDIA H200, 2026-11-21)."""


def _flush(name: str, ftz: str) -> Callable[[Array], Array]:
    return unchanged if not ftz else rounded_single.flush if name == "f32" else HALVES[name].flush


def abs_or_neg(instruction: PtxInstruction, ftz: str, kind: str) -> LaneOperation:
    """Return the lane operation of ``abs`` or ``neg`` of a floating-point type."""
    name = kind.removesuffix("x2")
    flush, fmt = _flush(name, ftz), format_of(name)
    function = extrema.absolute if instruction.mnemonic == "abs" else extrema.negate
    return LaneOperation((kind,), (kind,), per_element(kind, lambda a: function(flush(a), fmt)))


def extremum(instruction: PtxInstruction, ftz: str, nan: str, signs: str, kind: str) -> LaneOperation:
    """Return the lane operation of ``min`` or ``max`` of a floating-point type, of two numbers or of three f32.

    ``signs`` is "xorsign.abs" for two numbers, or "abs", which only the form with three has.
    """
    name = kind.removesuffix("x2")
    flush, fmt, largest = _flush(name, ftz), format_of(name), instruction.mnemonic == "max"
    magnitudes = signs == "abs"
    count = 3 if kind == "f32" and (magnitudes or len(instruction.operands) == 4) and signs != "xorsign.abs" else 2

    def of_two(a: Array, b: Array) -> Array:
        return extrema.extremum(a, b, fmt, largest=largest, propagates=bool(nan), xorsign=signs == "xorsign.abs")

    def compute(*sources: Array) -> Array:
        flushed = map(flush, sources)
        return reduce(of_two, (extrema.absolute(x, fmt) for x in flushed) if magnitudes else flushed)

    operation = LaneOperation((kind,), (kind,) * count, per_element(kind, compute))
    return operation if count == 2 else operation._replace(first=OF_THREE)


OF_THREE = "sm_100"
"""The first chip with ``min`` and ``max`` of three numbers."""


_F16, _BF16 = "f16|f16x2", "bf16|bf16x2"

HALF_ENTRIES: Entries = {
    **operation_entries("add|sub|mul", f"-|rn -|ftz -|sat {_F16}", _arithmetic, "9.7.4.1 to 9.7.4.3"),
    **operation_entries("add|sub|mul", f"-|rn - - {_BF16}", _arithmetic, "9.7.4.1 to 9.7.4.3", first="sm_90"),
    **operation_entries("fma", f"rn -|ftz -|sat|relu {_F16}", _arithmetic, "9.7.4.4", later={"relu": "sm_80"}),
    **operation_entries("fma", f"rn - -|relu {_BF16}", _arithmetic, "9.7.4.4", first="sm_80"),
    **operation_entries("fma", f"rn oob -|relu {_F16}|{_BF16}", _fma_out_of_bounds, "9.7.4.4", first="sm_90"),
    **operation_entries("abs|neg", f"-|ftz {_F16}", abs_or_neg, "9.7.4.5, 9.7.4.6"),
    **operation_entries("abs|neg", f"- {_BF16}", abs_or_neg, "9.7.4.5, 9.7.4.6", first="sm_80"),
    **operation_entries("min|max", f"-|ftz -|NaN - {_F16}", extremum, "9.7.4.7, 9.7.4.8", first="sm_80"),
    **operation_entries("min|max", f"-|ftz -|NaN xorsign.abs {_F16}", extremum, "9.7.4.7, 9.7.4.8", first="sm_86"),
    **operation_entries("min|max", f"- -|NaN - {_BF16}", extremum, "9.7.4.7, 9.7.4.8", first="sm_80"),
    **operation_entries("min|max", f"- -|NaN xorsign.abs {_BF16}", extremum, "9.7.4.7, 9.7.4.8", first="sm_86"),
}
"""The instructions on f16 and bf16."""
