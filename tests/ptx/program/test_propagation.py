# SPDX-License-Identifier: MIT
"""Which results one source decides, whatever the others are."""

import pytest

from wmma_emu.ptx.program.program import Immediate, PtxInstruction, Register
from wmma_emu.ptx.program.propagation import is_decided

TARGET, OTHER = (Register(i, f"%r{i}", "b32") for i in range(2))


@pytest.mark.parametrize(
    ("opcode", "number", "decided"),
    [
        ("and.b32", 0, True),
        ("and.b32", 0xFFFF_FFFF, False),
        ("or.b32", 0xFFFF_FFFF, True),
        ("or.b32", 0x7FFF_FFFF, False),
        ("or.b32", 0, False),
        ("xor.b32", 0, False),
        ("shl.b32", 32, True),
        ("shl.b32", 31, False),
        ("shr.u32", 32, True),
        ("shr.s32", 32, False),  # the sign stays
    ],
)
def test_a_number_decides_what_no_other_source_can_change(opcode, number, decided):
    mnemonic, *modifiers = opcode.split(".")
    operands = (TARGET, OTHER, Immediate("int", number))
    assert is_decided(PtxInstruction(opcode, mnemonic, tuple(modifiers), operands, None, 1, 1), {}) == decided
