# SPDX-License-Identifier: MIT
"""``register + number`` as an operand: ptxas 13.0 adds before the instruction, in the width of the register."""

import numpy as np
import pytest

from tests.ptx.texts_of_kernels import launch, text_of
from wmma_emu.errors import PtxSyntaxError
from wmma_emu.ptx.program.build import program_of

GIVEN = "ld.global.v2.u32 {%r2, %r3}, [%rd1];\nld.global.u64 %rd2, [%rd1];\n.reg .b16 h, g;\nld.global.u16 h, [%rd1];\n"


def run(body, first=7, second=9):
    out = np.array([first, second, 0, 0], np.uint32)
    return out, launch(GIVEN + body + "\nret;", out, block=1)


@pytest.mark.parametrize(
    ("body", "first", "expected"),
    [
        ("st.global.u32 [%rd1], %r2 + 1;", 7, 8),
        ("st.global.u32 [%rd1], %r2 + -8;", 7, 0xFFFFFFFF),
        ("st.global.u32 [%rd1], %r2 + (2*3);", 7, 13),
        ("st.global.u32 [%rd1], %r2 + 1 + 2;", 7, 10),
        ("st.global.u32 [%rd1], %r2 + WARP_SZ;", 7, 39),
        ("st.global.u32 [%rd1], %r2 + 0x123456789;", 7, 0x23456790),
        ("st.global.u32 [%rd1], %r2 + 1;", 0xFFFFFFFF, 0),
        ("st.global.u8 [%rd1], %r2 + 1;", 0xFF, 0),
        ("mov.u32 %r4, %r2 + 1;\nst.global.u32 [%rd1], %r4;", 7, 8),
        ("add.s32 %r4, %r2 + 1, %r3 + 2;\nst.global.u32 [%rd1], %r4;", 7, 19),
        ("mul.lo.u32 %r4, %r2 + 1, %r3;\nst.global.u32 [%rd1], %r4;", 7, 72),
        ("shl.b32 %r4, %r2, %r2 + -5;\nst.global.u32 [%rd1], %r4;", 7, 28),
        ("cvt.rn.f32.u32 %r4, %r2 + 1;\nst.global.u32 [%rd1], %r4;", 7, 0x41000000),
        ("cvt.u64.u32 %rd3, %r2 + 1;\nshr.u64 %rd3, %rd3, 32;\nst.global.u32 [%rd1], %rd3;", 0xFFFFFFFF, 0),
        ("cvt.u32.u16 %r4, h + 1;\nst.global.u32 [%rd1], %r4;", 0xFFFF, 0),
        ("mul.wide.u16 %r4, h + 2, h;\nst.global.u32 [%rd1], %r4;", 0xFFFF, 0xFFFF),
        ("setp.eq.u32 %p1, %r2 + 2, %r3;\nselp.u32 %r4, %r3 + 1, 0, %p1;\nst.global.u32 [%rd1], %r4;", 7, 10),
        ("atom.global.add.u32 %r4, [%rd1], %r2 + 1;", 7, 15),
        ("bar.sync %r2 + 1;\nst.global.u32 [%rd1], 3;", 7, 3),
        ("setp.eq.u32 %p1, %r2, 0;\n@%p1 st.global.u32 [%rd1], %r2 + 1;", 7, 7),
        ("cvta.to.global.u64 %rd3, %rd1 + 4;\nst.global.u32 [%rd3+-4], 5;", 7, 5),
    ],
)
def test_the_number_is_added_in_the_width_of_the_register(body, first, expected):
    out, report = run(body, first)
    assert not report.findings
    assert out[0] == expected


def test_a_carry_reaches_the_upper_half_of_a_wide_register():
    out, report = run("st.global.u64 [%rd1], %rd2 + 1;", 0xFFFFFFFF, 9)
    assert not report.findings
    assert out.tolist() == [0, 10, 0, 0]


def test_the_register_in_the_sum_is_not_changed():
    out, _ = run("st.global.u32 [%rd1], %r2 + 1;\nst.global.u32 [%rd1+4], %r2;")
    assert out[:2].tolist() == [8, 7]


def test_a_sum_with_an_uninitialised_register_is_found():
    _, report = run("st.global.u32 [%rd1], %r9 + 1;")
    assert [(x.kind, x.text) for x in report.findings] == [("uninitialised", "st.global.u32 [%rd1], %r9 + 1;")]


def test_a_jump_to_the_instruction_executes_the_sum():
    out, report = run("mov.u32 %r4, 0;\nL: add.u32 %r4, %r4 + 1, 1;\nsetp.lt.u32 %p1, %r4, 6;\n@%p1 bra L;\n"
                      "st.global.u32 [%rd1], %r4;")  # fmt: skip
    assert not report.findings
    assert out[0] == 6


def test_the_sum_precedes_the_instruction_with_the_same_guard_and_line():
    kernel = program_of(text_of("@%p1 st.global.u32 [%rd1],\n %r2 + -1;")).kernels["k"]
    added, stored = kernel.instructions[-3:-1]
    assert (added.opcode, added.operands[2].value) == ("add.u32", 0xFFFFFFFF)
    assert (added.guard, added.line, added.operands[0]) == (stored.guard, stored.line, stored.operands[1])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("add.u32 %r4 + 1, %r2, %r3;", "%r4+1 is a sum, and add writes this operand; expected a register"),
        ("atom.global.add.u32 %r4 + 1, [%rd1], 1;", "%r4+1 is a sum, and atom writes this operand"),
        (".reg .f32 f; st.global.f32 [%rd1], f + 1;", "an offset outside of [ ] is added to the register f (.f32)"),
        (".reg .f16 f; st.global.b16 [%rd1], f + 1;", "an offset outside of [ ] is added to the register f (.f16)"),
        ("selp.u32 %r4, 1, 0, %p1 + 1;", "an offset outside of [ ] is added to the register %p1 (.pred)"),
        ("mov.u32 %r4, %tid.x + 1;", "an offset outside of [ ] is added to the special register %tid.x"),
        ("st.global.u32 [%rd1], %r2[1];", "an offset outside of [ ] is added to the register %r2 (.b32)"),
        ("st.global.u32 [%rd1], %r2 + 1.0;", "expected an offset, an integer"),
        ("st.global.u32 [%rd1], %r2 + %r3;", "an offset that is a number"),
        ("st.global.u32 [%rd1], %r2 - 1;", "expected '+' before the offset, as in [%rd1 + -8]"),
        ("st.global.v2.u32 [%rd1], {%r2 + 1, %r3};", "a name with an offset cannot be an element of a vector"),
    ],
)
def test_sums_other_than_an_integer_register_and_a_number_are_refused(body, why):
    with pytest.raises(PtxSyntaxError) as error:
        run(body)
    assert why in str(error.value)
