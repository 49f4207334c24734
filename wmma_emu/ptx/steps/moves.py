# SPDX-License-Identifier: MIT
"""Moves, packing, unpacking and selection."""

import numpy as np

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.program.program import PtxInstruction, VectorOperand
from wmma_emu.ptx.steps.lane_operations import LaneOperation
from wmma_emu.ptx.steps.operation_entries import Entries, operation_entries
from wmma_emu.ptx.steps.patterns import UNSIGNED, Array, signed
from wmma_emu.ptx.widths import bits_of_type


def _choose(a: Array, b: Array, p: Array) -> Array:
    return np.where(p, a, b)


def _mov(instruction: PtxInstruction, kind: str) -> LaneOperation:
    operands = instruction.operands
    packs = [x if isinstance(x, VectorOperand) else None for x in operands]
    if len(operands) == 2 and any(packs):
        target, source = packs
        if target is not None and source is not None:
            message = f"{instruction.opcode} cannot pack and unpack at once; use two instructions"
            raise UnsupportedInstructionError(message)
        return _unpack(kind, _elements(target, kind)) if target is not None else _pack(kind, _elements(source, kind))
    return LaneOperation((kind,), (kind,), lambda value: value)


def _mov_vector(instruction: PtxInstruction, vector: str, kind: str) -> LaneOperation:
    count = int(vector[1:])
    for operand in instruction.operands:
        given = len(operand.elements) if isinstance(operand, VectorOperand) else 1
        if given != count:
            raise UnsupportedInstructionError(
                f"{instruction.opcode} expects a vector of {count} on each side, not of {given}; "
                f"mov.b{bits_of_type(kind) * count} packs and unpacks"
            )
    return LaneOperation((kind,) * count, (kind,) * count, lambda *elements: elements)


def _elements(vector: VectorOperand | None, kind: str) -> int:
    count = len(vector.elements) if vector is not None else 1
    width = bits_of_type(kind)
    if kind[0] != "b" or count not in (2, 4) or width // count not in UNSIGNED:
        raise UnsupportedInstructionError(
            f"mov.{kind} does not support a vector of {count}; legal are 2 b8 for b16, 2 b16 or 4 b8 for b32, "
            "and 2 b32 or 4 b16 for b64"
        )
    return count


def _pack(kind: str, count: int) -> LaneOperation:
    width = bits_of_type(kind)
    wide, part = UNSIGNED[width], width // count
    shifts = [wide.type(i * part) for i in range(count)]

    def compute(*parts: Array) -> Array:
        word = parts[0].astype(wide)
        for shift, value in zip(shifts[1:], parts[1:], strict=True):
            word = word | value.astype(wide) << shift
        return word

    return LaneOperation((kind,), (f"b{part}",) * count, compute)


def _unpack(kind: str, count: int) -> LaneOperation:
    width = bits_of_type(kind)
    part = width // count
    narrow = UNSIGNED[part]
    shifts = [UNSIGNED[width].type(i * part) for i in range(count)]

    def compute(word: Array) -> tuple[Array, ...]:
        return tuple((word >> shift).astype(narrow) for shift in shifts)

    return LaneOperation((f"b{part}",) * count, (kind,), compute)


def _slct(instruction: PtxInstruction, ftz: str, kind: str, chooser: str) -> LaneOperation:
    def by_integer(a: Array, b: Array, c: Array) -> Array:
        return np.where(signed(c) >= 0, a, b)

    def by_float(a: Array, b: Array, c: Array) -> Array:
        # Not negative, or minus zero; with .ftz, subnormal numbers count as zero. A NaN selects b.
        least = np.uint32(0x8080_0000 if ftz else 0x8000_0001)
        first = (c <= np.uint32(0x7F80_0000)) | ((c >= np.uint32(0x8000_0000)) & (c < least))
        return np.where(first, a, b)

    return LaneOperation((kind,), (kind, kind, chooser), by_integer if chooser == "s32" else by_float)


_OF_32_BITS = "b16|b32|u16|u32|s16|s32|f32"
_ALL = "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64"

MOVE_ENTRIES: Entries = {
    **operation_entries("mov", f"pred|{_ALL}", _mov, "9.7.9.3, 9.7.9.4"),
    **operation_entries(
        "selp", _ALL, lambda instruction, kind: LaneOperation((kind,), (kind, kind, "pred"), _choose), "9.7.6.3"
    ),
    **operation_entries("slct", f"- {_ALL} s32", _slct, "9.7.6.4"),
    **operation_entries("slct", f"-|ftz {_ALL} f32", _slct, "9.7.6.4"),
}
"""The instructions that move values unchanged."""

VECTOR_ENTRIES: Entries = {
    **operation_entries("mov", f"v2 {_ALL}", _mov_vector, "9.7.9.3"),
    **operation_entries("mov", f"v4 {_OF_32_BITS}", _mov_vector, "9.7.9.3"),
}
"""Moves of whole vectors of at most 128 bits, which ptxas 13.0 accepts although the manual does not document them."""
