# SPDX-License-Identifier: MIT
"""Sums and products that write or read the carry flag, a bit of each thread outside of the operands."""

from collections.abc import Callable

import numpy as np

from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.steps.lane_operations import LaneOperation
from wmma_emu.ptx.steps.operation_entries import CARRY, Entries, operation_entries
from wmma_emu.ptx.steps.patterns import Array
from wmma_emu.ptx.steps.products import high_product


def _sum(a: Array, b: Array, carry: Array | None) -> tuple[Array, Array]:
    total = a + b
    out = total < a
    if carry is not None:
        with_carry = total + carry.astype(total.dtype)
        out = out | (with_carry < total)
        total = with_carry
    return total, out


def _difference(a: Array, b: Array, carry: Array | None) -> tuple[Array, Array]:
    # The flag is the carry of a + ~b + 1, set if there is no borrow, as addc after sub.cc shows (NVIDIA H200,
    # 2026-11-21).
    return _sum(a, ~b, np.ones((1, 1, 1), np.bool_) if carry is None else carry)


def _operation(
    kind: str, operands: int, compute: Callable[..., tuple[Array, Array]], reads: bool, writes: bool
) -> LaneOperation:
    sources = (kind,) * operands + ((CARRY,) if reads else ())
    if writes:
        return LaneOperation((kind, CARRY), sources, compute)
    return LaneOperation((kind,), sources, lambda *given: compute(*given)[0])


def _add_carry(instruction: PtxInstruction, cc: str, kind: str) -> LaneOperation:
    reads = instruction.mnemonic.endswith("c")
    operation = _sum if instruction.mnemonic.startswith("add") else _difference

    def compute(a: Array, b: Array, carry: Array | None = None) -> tuple[Array, Array]:
        return operation(a, b, carry)

    return _operation(kind, 2, compute, reads, bool(cc))


def _mad_carry(instruction: PtxInstruction, part: str, cc: str, kind: str) -> LaneOperation:
    reads = instruction.mnemonic == "madc"
    product: Callable[[Array, Array], Array] = np.multiply if part == "lo" else high_product(kind)

    def compute(a: Array, b: Array, c: Array, carry: Array | None = None) -> tuple[Array, Array]:
        return _sum(product(a, b), c, carry)

    return _operation(kind, 3, compute, reads, bool(cc))


_KINDS = "u32|s32|u64|s64"

CARRY_ENTRIES: Entries = {
    **operation_entries("add|sub", f"cc {_KINDS}", _add_carry, "9.7.2.1, 9.7.2.3"),
    **operation_entries("addc|subc", f"-|cc {_KINDS}", _add_carry, "9.7.2.2, 9.7.2.4"),
    **operation_entries("mad", f"lo|hi cc {_KINDS}", _mad_carry, "9.7.2.5"),
    **operation_entries("madc", f"lo|hi -|cc {_KINDS}", _mad_carry, "9.7.2.6"),
}
"""The instructions that write or read the carry flag."""
