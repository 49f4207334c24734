# SPDX-License-Identifier: MIT
"""Approximate functions, as computed by the multi-function unit."""

from collections.abc import Mapping
from functools import cache

from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.steps.lane_operations import LaneOperation
from wmma_emu.ptx.steps.operation_entries import Entries, operation_entries
from wmma_emu.ptx.steps.patterns import Array
from wmma_emu.scalar.approx import approx, approx_div, approx_factors
from wmma_emu.scalar.approx_status import APPROX_STATUS


@cache
def _caveats(name: str, element: str) -> Mapping[str, str]:
    """Return the caveat of a function for each chip without a recording."""
    return {
        chip: entry.source
        for (function, kind, chip), entry in APPROX_STATUS.items()
        if (function, kind) == (name, element) and entry.status != "measured"
    }


def _function(instruction: PtxInstruction, variant: str, ftz: str, kind: str) -> LaneOperation:
    name, flushes, element = instruction.mnemonic, bool(ftz), kind.removesuffix("x2")

    def compute(a: Array) -> Array:
        result: Array = approx(name, a, ftz=flushes, format=element)
        return result

    return LaneOperation((kind,), (kind,), compute, caveats=_caveats(name, element))


def _div(instruction: PtxInstruction, variant: str, ftz: str, kind: str) -> LaneOperation:
    flushes = bool(ftz)

    def compute(a: Array, b: Array) -> Array:
        result: Array = approx_div(a, b, kind=variant, ftz=flushes)
        return result

    return LaneOperation((kind,), (kind, kind), compute, caveats=_caveats("div", kind))


def _factors(instruction: PtxInstruction, variant: str, ftz: str, kind: str) -> LaneOperation:
    """Compute the two factors of the last multiplication of a quotient or a reciprocal, for a fused multiply-add."""
    mnemonic, flushes = instruction.mnemonic.removeprefix("%"), bool(ftz)

    def compute(*sources: Array) -> tuple[Array, Array]:
        return approx_factors(f"{mnemonic}.{variant}", *sources, ftz=flushes)

    sources = 1 if mnemonic == "rcp" else 2
    return LaneOperation((kind, kind), (kind,) * sources, compute, caveats=_caveats(mnemonic, kind))


FACTOR_ENTRIES: Entries = {
    **operation_entries("%div", "approx|full -|ftz f32", _factors, "9.7.3.8"),
    **operation_entries("%rcp", "approx - f32", _factors, "9.7.3.13"),
}
"""The internal instructions with which contraction replaces a quotient or a reciprocal whose last multiplication is
fused into a sum."""

APPROXIMATION_ENTRIES: Entries = {
    **operation_entries("rcp|sqrt|rsqrt|sin|cos|lg2|ex2", "approx -|ftz f32", _function, "9.7.3.13 to 9.7.3.21"),
    **operation_entries("tanh", "approx - f32", _function, "9.7.3.22", first="sm_75"),
    **operation_entries("rcp", "approx ftz f64", _function, "9.7.3.14"),
    **operation_entries("rsqrt", "approx -|ftz f64", _function, "9.7.3.16, 9.7.3.17"),
    **operation_entries("div", "approx|full -|ftz f32", _div, "9.7.3.8"),
    **operation_entries("tanh", "approx - f16|f16x2", _function, "9.7.4.9", first="sm_75"),
    **operation_entries("tanh", "approx - bf16|bf16x2", _function, "9.7.4.9", first="sm_90"),
    **operation_entries("ex2", "approx - f16|f16x2", _function, "9.7.4.10", first="sm_75"),
    **operation_entries("ex2", "approx ftz bf16|bf16x2", _function, "9.7.4.10", first="sm_90"),
}
"""The approximate functions."""
