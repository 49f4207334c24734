# SPDX-License-Identifier: MIT
"""How far a value is followed from a store to the load that it comes from."""

import pytest

from wmma_emu.ptx.program.program import AddressOperand, KernelProgram, PtxInstruction, Register
from wmma_emu.ptx.program.structure_copies import follows_in_copy

A, B, X, *Y = (Register(i, f"%r{i}", "b32") for i in range(16))


def made(opcode, *operands):
    mnemonic, *modifiers = opcode.split(".")
    return PtxInstruction(opcode, mnemonic, tuple(modifiers), operands, None, 1, 1)


@pytest.mark.parametrize(("copies", "is_followed"), [(0, True), (7, True), (8, False)])
def test_a_value_is_followed_through_seven_copies_to_its_load(copies, is_followed):
    load = made("ld.u32", X, AddressOperand(A, 8)), made("ld.u32", Y[0], AddressOperand(A, 12))
    moves = [made("mov.u32", Y[i + 1], Y[i]) for i in range(copies)]
    stores = made("st.u32", AddressOperand(B, 0), X), made("st.u32", AddressOperand(B, 4), Y[copies])
    program = KernelProgram("k", (), 0, (A, B, X, *Y), (*load, *moves, *stores), (), 0, None, 0, None, None, ())
    assert follows_in_copy(program, stores[1], 16) == (is_followed,)


def test_registers_that_many_instructions_write_are_followed_once():
    some = Y[:10]
    choices = [made("selp.b32", x, some[i - 1], some[i - 2], X) for _ in range(9) for i, x in enumerate(some)]
    loads = [made("ld.u32", x, AddressOperand(A, 4 * i)) for i, x in enumerate(some)]
    stores = [made("st.u32", AddressOperand(B, 4 * i), x) for i, x in enumerate(some)]
    program = KernelProgram("k", (), 0, (A, B, X, *Y), (*loads, *choices, *stores), (), 0, None, 0, None, None, ())
    assert follows_in_copy(program, stores[9], 16) == (True,)
