# SPDX-License-Identifier: MIT
"""Widths of registers against the types of instructions, which only conversions and memory accesses may exceed."""

import pytest

from tests.ptx.texts_of_kernels import launch, numbers
from wmma_emu.errors import UnsupportedInstructionError


@pytest.mark.parametrize(
    ("instruction", "said"),
    [
        ("add.s32 %r2, %h1, 1;", "%h1 is a register of .b16, 16 bits; this operand of add.s32 must be a .s32, 32 bits"),
        ("mov.u32 %r2, %rd0;", "%rd0 is a register of .b64"),
        ("mul.wide.u32 %r2, %r0, 4;", "%r2 is a register of .b32, 32 bits; this operand of mul.wide.u32 must be"),
        ("selp.u32 %r2, %r0, %r1, %r3;", "%r3 is a register of .b32, 32 bits; this operand of selp.u32 must be"),
    ],
)
def test_a_register_of_another_width_is_refused(instruction, said):
    with pytest.raises(UnsupportedInstructionError) as caught:
        launch(f".reg .b16 %h<4>;\n{instruction}", numbers())
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "instruction",
    ["cvt.u16.u32 %r2, %r0;", "cvt.s64.s8 %rd5, %r0;", "add.s64 %rd4, %rd1, %rd0;\nst.global.u8 [%rd4], %r0;"],
)
def test_conversions_and_stores_accept_wider_registers(instruction):
    assert not launch(instruction, numbers()).findings
