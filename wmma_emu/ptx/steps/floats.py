# SPDX-License-Identifier: MIT
"""Arithmetic of f32 and f64: sums, products, fused multiply-adds, quotients, roots; signs and classification.

Two f32 packed in 64 bits are added and multiplied like two f32, and sums of f32 accept an addend or factors of f16 or
bf16.
"""

from collections.abc import Callable

import numpy as np

from wmma_emu.formats import Rounding, format_of
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.steps.conversions import single_from_bf16, single_from_half
from wmma_emu.ptx.steps.halves import abs_or_neg, extremum
from wmma_emu.ptx.steps.lane_operations import LaneOperation
from wmma_emu.ptx.steps.operation_entries import Entries, operation_entries
from wmma_emu.ptx.steps.patterns import Array, per_element
from wmma_emu.scalar import extrema, rounded_double, rounded_single
from wmma_emu.scalar.rounded_single import saturate
from wmma_emu.scalar.scaled_product import POWERS, scaled_mul

ROUNDINGS: dict[str, Rounding] = {"": "RNE", "rn": "RNE", "rz": "RZ", "rm": "RD", "rp": "RU"}
"""The rounding of each modifier; without a modifier, to nearest."""

_SIGN32 = np.uint32(1 << 31)

_FUNCTIONS: dict[str, tuple[int, Callable[..., Array], Callable[..., Array]]] = {
    "add": (2, rounded_single.add, rounded_double.add),
    "sub": (2, lambda a, b, rounding, ftz: rounded_single.add(a, b ^ _SIGN32, rounding, ftz), rounded_double.sub),
    "mul": (2, rounded_single.mul, rounded_double.mul),
    "fma": (3, rounded_single.fma, rounded_double.fma),
    "mad": (3, rounded_single.fma, rounded_double.fma),
    "div": (2, rounded_single.div, rounded_double.div),
    "rcp": (1, rounded_single.rcp, rounded_double.rcp),
    "sqrt": (1, rounded_single.sqrt, rounded_double.sqrt),
}
"""The number of sources, and the functions of f32 and of f64."""


def _single(instruction: PtxInstruction, rounding: str, ftz: str, sat: str, kind: str) -> LaneOperation:
    name = instruction.mnemonic
    count, function, _ = _FUNCTIONS[name]
    mode, flushes = ROUNDINGS[rounding], bool(ftz)
    compute: Callable[..., Array]
    if sat:

        def compute(*sources: Array) -> Array:
            return rounded_single.saturate(function(*sources, mode, flushes))

    elif mode == "RNE" and not flushes and name in ("add", "mul", "fma", "mad"):
        compute = function
    else:

        def compute(*sources: Array) -> Array:
            return function(*sources, mode, flushes)

    return LaneOperation((kind,), (kind,) * count, per_element(kind, compute))


def _mixed(instruction: PtxInstruction, rounding: str, sat: str, _: str, kind: str) -> LaneOperation:
    """Return a sum, or a fused multiply-add, of f32 whose other operands are converted to f32, which is exact."""
    operation = _single(instruction, rounding, "", sat, "f32")
    single: Callable[..., Array] = operation.compute  # type: ignore[assignment]
    converted = len(operation.sources) - 1
    widen = single_from_half if kind == "f16" else single_from_bf16

    def compute(*sources: Array) -> Array:
        return single(*map(widen, sources[:converted]), sources[-1])

    return LaneOperation(("f32",), (kind,) * converted + ("f32",), compute)


def _double(instruction: PtxInstruction, rounding: str, kind: str) -> LaneOperation:
    count, _, function = _FUNCTIONS[instruction.mnemonic]
    mode = ROUNDINGS[rounding]
    return LaneOperation((kind,), (kind,) * count, lambda *sources: function(*sources, mode))


def _copysign(instruction: PtxInstruction, kind: str) -> LaneOperation:
    fmt = format_of(kind)
    return LaneOperation((kind,), (kind, kind), lambda a, b: extrema.copysign(a, b, fmt))


def _testp(instruction: PtxInstruction, test: str, kind: str) -> LaneOperation:
    fmt = format_of(kind)
    return LaneOperation(("pred",), (kind,), lambda a: extrema.testp(a, fmt, test))


_ROUNDING = "rn|rz|rm|rp"

FLOAT_ENTRIES: Entries = {
    **operation_entries("add|sub|mul", f"-|{_ROUNDING} -|ftz -|sat f32", _single, "9.7.3.3 to 9.7.3.5"),
    **operation_entries("add|sub|mul", f"-|{_ROUNDING} -|ftz - f32x2", _single, "9.7.3.3 to 9.7.3.5", first="sm_100"),
    **operation_entries("fma", f"{_ROUNDING} -|ftz - f32x2", _single, "9.7.3.6", first="sm_100"),
    **operation_entries("add|sub", f"-|{_ROUNDING} -|sat f32 f16|bf16", _mixed, "9.7.5.1, 9.7.5.2", first="sm_100"),
    **operation_entries("fma", f"{_ROUNDING} -|sat f32 f16|bf16", _mixed, "9.7.5.3", first="sm_100"),
    **operation_entries("add|sub|mul", f"-|{_ROUNDING} f64", _double, "9.7.3.3 to 9.7.3.5"),
    **operation_entries("fma", f"{_ROUNDING} -|ftz -|sat f32", _single, "9.7.3.6"),
    **operation_entries("mad", f"{_ROUNDING} -|ftz -|sat f32", _single, "9.7.3.7"),
    **operation_entries("fma|mad", f"{_ROUNDING} f64", _double, "9.7.3.6, 9.7.3.7"),
    **operation_entries("div|rcp|sqrt", f"{_ROUNDING} -|ftz - f32", _single, "9.7.3.8, 9.7.3.13, 9.7.3.15"),
    **operation_entries("div|rcp|sqrt", f"{_ROUNDING} f64", _double, "9.7.3.8, 9.7.3.13, 9.7.3.15"),
    **operation_entries("abs|neg", "-|ftz f32", abs_or_neg, "9.7.3.9, 9.7.3.10"),
    **operation_entries("abs|neg", "- f64", abs_or_neg, "9.7.3.9, 9.7.3.10"),
    **operation_entries("copysign", "f32|f64", _copysign, "9.7.3.2"),
    **operation_entries("testp", f"{'|'.join(extrema.SIGN_TESTS)} f32|f64", _testp, "9.7.3.1"),
    **operation_entries("min|max", "-|ftz -|NaN - f32", extremum, "9.7.3.11, 9.7.3.12", later={"NaN": "sm_80"}),
    **operation_entries("min|max", "-|ftz -|NaN abs f32", extremum, "9.7.3.11, 9.7.3.12", first="sm_100"),
    **operation_entries("min|max", "-|ftz -|NaN xorsign.abs f32", extremum, "9.7.3.11, 9.7.3.12", first="sm_86"),
    **operation_entries("min|max", "- - - f64", extremum, "9.7.3.11, 9.7.3.12"),
}
"""The instructions on f32 and f64 with exactly defined results."""


_PATTERNS = {name: pattern for pattern, name in POWERS.items()}


def _scaled(instruction: PtxInstruction, power: str, ftz: str, sat: str, kind: str) -> LaneOperation:
    pattern, flushes = _PATTERNS[power], bool(ftz)

    def compute(a: Array, b: Array) -> Array:
        result: Array = scaled_mul(a, b, pattern, flushes)
        return saturate(result) if sat else result

    return LaneOperation((kind,), (kind, kind), compute)


SCALED_ENTRIES: Entries = operation_entries("%mul", f"{'|'.join(POWERS.values())} -|ftz -|sat f32", _scaled, "9.7.3.5")
"""The internal instruction with which `program.scaled_products` replaces two products."""
