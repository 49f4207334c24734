# SPDX-License-Identifier: MIT
"""Block scales in registers: the lane and byte of the scale of each block of A or B.

Every lane provides one register of scales for A and one for B. Two selectors, which are constants of the instruction,
choose the bytes that are read: ``thread-id`` chooses lanes in every group of four, ``byte-id`` chooses bytes of their
registers. All other bytes are ignored.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from wmma_emu.errors import ArgumentValueError, UnknownNameError, UnsupportedInstructionError, shorten
from wmma_emu.evidence import Evidence, Run, Sourced
from wmma_emu.formats.arrays import integer_of
from wmma_emu.instructions import Instruction
from wmma_emu.layouts.spec import LANES, Ints, within

Scaled = Literal["a", "b"]
"""The operands that have scales."""

SCALED: tuple[Scaled, ...] = ("a", "b")

_SOURCE = (
    "PTX ISA 9.1, section 9.7.14.3 (block scaling for mma.sync); the same lanes in CUTLASS 4 "
    "(cute/atom/mma_traits_sm120.hpp, SFALayout and SFBLayout, for thread-id 0)"
)
_WORD_BYTES = 4


class ScaleSelectors(NamedTuple):
    """The legal values of the selectors of an operand's scales; ptxas rejects all others."""

    byte_ids: tuple[int, ...]
    thread_ids: tuple[int, ...]


_BYTE_IDS = {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,)}
_THREAD_IDS: dict[Scaled, tuple[int, ...]] = {"a": (0, 1), "b": (0, 1, 2, 3)}


def scale_selectors_of(instruction: Instruction, operand: Scaled) -> ScaleSelectors:
    """Return the legal values of byte-id and thread-id for an operand's scales.

    Raises
    ------
    UnsupportedInstructionError
        If the instruction has no block scales, or the operand is not a or b.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> instruction = lookup("m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0")
    >>> scale_selectors_of(instruction, "a")
    ScaleSelectors(byte_ids=(0, 2), thread_ids=(0, 1))
    """
    _require_scaled(instruction, operand)
    return ScaleSelectors(_BYTE_IDS[instruction.scale_vec], _THREAD_IDS[operand])


@dataclass(frozen=True, eq=False, repr=False)
class ScaleMap(Sourced):
    """The lane, and the byte of its register, of each scale of one operand, for one choice of the selectors.

    Parameters
    ----------
    operand : {"a", "b"}
    lane, byte : int array, shape (m, scale_vec) of A, (scale_vec, n) of B
        Bytes count from the low end of the register.
    evidence : Evidence

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> instruction = lookup("m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3")
    >>> a = scale_map(instruction, "a", thread_id=1)
    >>> a
    <ScaleMap of A: 16x4 scales in 16 lanes, documented>
    >>> a.locate(9, 2), a.scale_at(7, 2), a.scale_at(5, 2)      # row 9, third quarter of k; lane 5 is not read
    ((7, 2), (9, 2), None)
    """

    operand: Scaled
    lane: Ints
    byte: Ints
    evidence: Evidence

    def __repr__(self) -> str:
        rows, cols = self.matrix_shape
        lanes = len(np.unique(self.lane))
        return f"<ScaleMap of {self.operand.upper()}: {rows}x{cols} scales in {lanes} lanes, {self.status}>"

    @property
    def matrix_shape(self) -> tuple[int, int]:
        """The shape of the matrix of scales."""
        rows, cols = self.lane.shape
        return rows, cols

    def locate(self, row: int, col: int) -> tuple[int, int]:
        """Return the lane and byte of a scale.

        Raises
        ------
        OutOfBoundsError
            If the row or column does not exist.
        FragmentMismatchError
            If a value is not an integer.
        """
        rows, cols = self.matrix_shape
        at = within("row", row, rows), within("column", col, cols)
        return int(self.lane[at]), int(self.byte[at])

    def scale_at(self, lane: int, byte: int) -> tuple[int, int] | None:
        """Return row and column of the scale in a byte of a lane's register, or None if the byte is not read.

        Raises
        ------
        OutOfBoundsError
            If the lane or byte does not exist.
        FragmentMismatchError
            If a value is not an integer.
        """
        lane, byte = within("lane", lane, LANES), within("byte", byte, _WORD_BYTES)
        found = np.argwhere((self.lane == lane) & (self.byte == byte))
        return (int(found[0, 0]), int(found[0, 1])) if len(found) else None


def scale_map(instruction: Instruction, operand: Scaled, byte_id: int = 0, thread_id: int = 0) -> ScaleMap:
    """Return the positions of an operand's block scales in the lanes' registers.

    Parameters
    ----------
    instruction : Instruction
    operand : {"a", "b"}
    byte_id : int
        The bytes that are read: the byte of a row's (or column's) only scale, the lower one of two, 0 for four.
    thread_id : int
        The lanes that are read in every four: for A, lanes 0 and 1 or lanes 2 and 3; for B, one lane.

    Raises
    ------
    UnsupportedInstructionError
        If the instruction has no block scales, or the operand is not a or b.
    FragmentMismatchError
        If a selector is not legal for the instruction.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> instruction = lookup("m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0")
    >>> found = scale_map(instruction, "b", byte_id=3, thread_id=2)
    >>> found.lane.tolist(), found.byte.tolist()
    ([[2, 6, 10, 14, 18, 22, 26, 30]], [[3, 3, 3, 3, 3, 3, 3, 3]])
    """
    legal = scale_selectors_of(instruction, operand)
    byte = _selector(instruction, operand, "byte", byte_id, legal.byte_ids)
    return _scale_map(
        instruction, operand, byte, _selector(instruction, operand, "thread", thread_id, legal.thread_ids)
    )


@cache
def _scale_map(instruction: Instruction, operand: Scaled, byte_id: int, thread_id: int) -> ScaleMap:
    vec = instruction.scale_vec
    if operand == "a":
        row, block = np.indices((instruction.m, vec))
        lane = 4 * (row % 8) + 2 * thread_id + row // 8
    else:
        block, col = np.indices((vec, instruction.n))
        lane = 4 * col + thread_id
    byte = byte_id + block
    for shared in (lane, byte):
        shared.setflags(write=False)
    written = Evidence("documented", _SOURCE, Run("assembled", instruction.archs[0]))
    return ScaleMap(operand, lane, byte, written.of(instruction.mnemonic))


def _selector(instruction: Instruction, operand: Scaled, name: str, given: object, legal: tuple[int, ...]) -> int:
    value = integer_of(given)
    if value is None or value not in legal:
        fix = f"{legal[0]} only" if len(legal) == 1 else f"{', '.join(map(str, legal[:-1]))} or {legal[-1]}"
        count = f"{instruction.scale_vec} byte{'s' if instruction.scale_vec > 1 else ''}"
        why = f" (it reads {count} of a register)" if name == "byte" else ""
        raise ArgumentValueError(
            f"{name}-id-{operand} of {instruction.mnemonic} is {shorten(given)}; it must be {fix}{why}"
        )
    return value


def _require_scaled(instruction: Instruction, operand: object) -> None:
    if not instruction.is_block_scaled:
        raise UnsupportedInstructionError(
            f"{instruction.mnemonic} has no block scales; instructions with .block_scale have scales: kind::mxf8f6f4, "
            "kind::mxf4 and kind::mxf4nvf4"
        )
    if not isinstance(operand, str) or operand not in SCALED:
        raise UnknownNameError(f"operands with block scales are a and b, not {shorten(operand)}")
    if instruction.is_tensor:
        raise UnsupportedInstructionError(
            f"{instruction.mnemonic} reads its block scales from tensor memory, not from registers"
        )
