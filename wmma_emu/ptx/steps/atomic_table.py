# SPDX-License-Identifier: MIT
"""Which atomic operations there are, of which types, and what they do to bits."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from wmma_emu.ptx.memory.serving import Operation
from wmma_emu.ptx.operands import bits_of_type
from wmma_emu.ptx.steps.halves import of_kind
from wmma_emu.ptx.threads import Array
from wmma_emu.scalar import rounded_double, rounded_half, rounded_single
from wmma_emu.scalar.rounded_half import HALVES

__all__ = ["FLUSHES", "TYPES", "Flushing", "operation_of"]

TYPES = {
    "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"),
    "exch": ("b32", "b64"), "cas": ("b16", "b32", "b64"),
    "add": ("u32", "s32", "u64", "s64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2"),
    "inc": ("u32",), "dec": ("u32",),
    "min": ("u32", "s32", "u64", "s64"),
    "max": ("u32", "s32", "u64", "s64"),
}  # fmt: skip
"""Types of each operation (PTX ISA 9.1, atom and red)."""


class Flushing(NamedTuple):
    """Whether atom.add.f32 and red.add.f32 make subnormal numbers zeros in a space."""

    flushes: bool
    source: str
    status: str


_ISA = "PTX ISA 9.1, atom: atom.add.f32 flushes subnormal inputs and results in global memory, not in shared memory"
FLUSHES = {
    "global": Flushing(True, _ISA, "documented"),
    "shared": Flushing(False, _ISA, "documented"),
}
"""Rows by the space in which the operation is done."""


def operation_of(name: str, kind: str, space: str) -> Operation:
    """Look up what ``atom.name.kind`` does in a space.

    Examples
    --------
    >>> operation_of("inc", "u32", "shared").compute(np.array([4, 5], np.uint32), np.array([5, 5], np.uint32))
    array([5, 0], dtype=uint32)
    """
    if name == "add" and kind[0] in "fb":
        return Operation(_ADDS[kind] if kind != "f32" else _add_f32(FLUSHES[space].flushes))
    if name in ("min", "max") and kind[0] in "su":
        return Operation(_extremum(name, kind), associative=True)
    return _INTEGERS[name]


def _add_f32(flushes: bool) -> Callable[..., Array]:
    def add(old: Array, x: Array) -> Array:
        if flushes:
            old, x = rounded_single.flush(old), rounded_single.flush(x)
        return rounded_single.add(old, x, ftz=flushes)

    return add


def _half_add(kind: str) -> Callable[..., Array]:
    half = HALVES[kind.removesuffix("x2")]
    return of_kind(kind, lambda old, x: rounded_half.add(old, x, half))


_ADDS: dict[str, Callable[..., Array]] = {
    "f64": rounded_double.add,
    **{kind: _half_add(kind) for kind in ("f16", "f16x2", "bf16", "bf16x2")},
}


def _extremum(name: str, kind: str) -> Callable[..., Array]:
    function: Callable[..., Array] = np.minimum if name == "min" else np.maximum
    if kind[0] == "u":
        return function
    signed = f"i{bits_of_type(kind) // 8}"

    def extremum(old: Array, x: Array) -> Array:
        found: Array = np.asarray(function(old.view(signed), x.view(signed))).view(old.dtype)
        return found

    return extremum


def _increment(old: Array, limit: Array) -> Array:
    return np.where(old >= limit, old.dtype.type(0), old + old.dtype.type(1))


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
