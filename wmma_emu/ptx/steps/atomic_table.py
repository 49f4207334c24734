# SPDX-License-Identifier: MIT
"""The atomic operations, their types, and their effect on bits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wmma_emu.evidence import Evidence, Run, Sourced
from wmma_emu.formats import format_of
from wmma_emu.ptx.memory.serving import Operation
from wmma_emu.ptx.steps.patterns import per_element
from wmma_emu.ptx.threads import Array
from wmma_emu.ptx.widths import bits_of_type
from wmma_emu.scalar import extrema, rounded_double, rounded_half, rounded_single
from wmma_emu.scalar.rounded_half import HALVES

TYPES = {
    "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"),
    "exch": ("b32", "b64"), "cas": ("b16", "b32", "b64"),
    "add": ("u32", "s32", "u64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2"),
    "inc": ("u32",), "dec": ("u32",),
    "min": ("u32", "s32", "u64", "s64"),
    "max": ("u32", "s32", "u64", "s64"),
}  # fmt: skip
"""The types of each operation (PTX ISA 9.1, atom and red); for sums of s64, ptxas 13.0 accepts only u64."""

VECTOR_TYPES = dict.fromkeys(("min", "max"), ("f16", "f16x2", "bf16", "bf16x2"))
"""The types that operations have in vectors alone (PTX ISA 9.1, atom and red)."""


@dataclass(frozen=True, slots=True)
class FloatSumEntry(Sourced):
    """The properties of floating-point sums of ``atom.add`` and ``red.add`` in a state space.

    ``flushes``: in f32, subnormal operands and results become zeros of their sign. ``keeps_nans``: an f64 NaN is
    returned unchanged instead of being quieted. With two NaNs, the operand's is returned if ``keeps_nans``, else the
    memory's.
    """

    flushes: bool
    keeps_nans: bool
    evidence: Evidence


_RECORDED = Evidence(
    "measured",
    "tests/data/sm90_ptx_atomics.npz: 10,240 inputs of each operation, type and space, NVIDIA H200, 2026-11-21; of f32 "
    "the PTX ISA 9.1 says the same (atom)",
    Run("atomics", "sm_90"),
)
FLOAT_SUMS = {
    "global": FloatSumEntry(True, True, _RECORDED.of("atom.add.f32 generic to global")),
    "shared": FloatSumEntry(False, False, _RECORDED.of("atom.add.f32 generic to shared")),
}
"""The entries by the space of the memory, which a generic address may also reach."""


def operation_of(name: str, kind: str, space: str, *, keeps_subnormals: bool = False) -> Operation:
    """Return the operation of ``atom.name.kind`` in a space; sums of f32 with ``.noftz`` keep subnormal numbers.

    Examples
    --------
    >>> operation_of("inc", "u32", "shared").compute(np.array([4, 5], np.uint32), np.array([5, 5], np.uint32))
    array([5, 0], dtype=uint32)
    """
    if name == "add" and kind[0] in "fb":
        if kind == "f32":
            return _add_f32(FLOAT_SUMS[space].flushes and not keeps_subnormals)
        return _add_f64(FLOAT_SUMS[space].keeps_nans) if kind == "f64" else Operation(_half_add(kind))
    if name in ("min", "max") and kind[0] in "fb":
        return Operation(_half_extremum(name, kind))
    if name in ("min", "max") and kind[0] in "su":
        return Operation(_extremum(name, kind), associative=True)
    return _INTEGERS[name]


def _add_f32(flushes: bool) -> Operation:
    def add(old: Array, x: Array) -> Array:
        if flushes:
            old, x = rounded_single.flush(old), rounded_single.flush(x)
        return rounded_single.add(old, x, ftz=flushes)

    def running(values: Array) -> Array | None:
        sums = np.add.accumulate(values.view(np.float32))
        if np.isnan(sums).any():
            return None
        if flushes and (_is_subnormal(values).any() or _is_subnormal(sums.view(np.uint32)).any()):
            return None
        return sums.view(np.uint32)

    return Operation(add, running=running)


def _is_subnormal(bits: Array) -> Array:
    found: Array = ((bits & np.uint32(0x7F800000)) == 0) & ((bits & np.uint32(0x7FFFFF)) != 0)
    return found


def _add_f64(keeps_nans: bool) -> Operation:
    def add(old: Array, x: Array) -> Array:
        if not keeps_nans:
            return rounded_double.add(x, old)
        total = rounded_double.add(old, x)
        return np.where(_is_nan(x), x, np.where(_is_nan(old), old, total))

    def running(values: Array) -> Array | None:
        sums = np.add.accumulate(values.view(np.float64))
        return None if np.isnan(sums).any() else sums.view(np.uint64)

    return Operation(add, running=running)


def _is_nan(bits: Array) -> Array:
    number = bits.view(np.float64)
    found: Array = number != number  # np.isnan has no native code
    return found


def _half_add(kind: str) -> Callable[..., Array]:
    half = HALVES[kind.removesuffix("x2")]
    return per_element(kind, lambda old, x: rounded_half.add(old, x, half))


def _half_extremum(name: str, kind: str) -> Callable[..., Array]:
    fmt = format_of(kind.removesuffix("x2"))
    return per_element(kind, lambda old, x: extrema.extremum(old, x, fmt, largest=name == "max"))


def _extremum(name: str, kind: str) -> Callable[..., Array]:
    function: Any = np.minimum if name == "min" else np.maximum
    if kind[0] == "u":
        return function  # type: ignore[no-any-return]
    signed = f"i{bits_of_type(kind) // 8}"

    def extremum(old: Array, x: Array) -> Array:
        found: Array = function(old.view(signed), x.view(signed)).view(old.dtype)
        return found

    return extremum


def _increment(old: Array, limit: Array) -> Array:
    found: Array = np.where(old >= limit, old.dtype.type(0), old + old.dtype.type(1))
    return found


def _decrement(old: Array, limit: Array) -> Array:
    one = old.dtype.type(1)
    return np.where((old == 0) | (old > limit), limit, old - one)


def _exchange_equal(old: Array, expected: Array, x: Array) -> Array:
    return np.where(old == expected, x, old)


_INTEGERS = {
    "and": Operation(np.bitwise_and, associative=True),
    "or": Operation(np.bitwise_or, associative=True),
    "xor": Operation(np.bitwise_xor, associative=True),
    "add": Operation(np.add, associative=True),
    "exch": Operation(lambda old, x: x, replaces=True),
    "cas": Operation(_exchange_equal),
    "inc": Operation(_increment),
    "dec": Operation(_decrement),
}
