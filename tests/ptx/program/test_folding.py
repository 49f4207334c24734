# SPDX-License-Identifier: MIT
"""Functions of constants become the numbers that ptxas puts into machine code.

The cases were read on 23 November 2026 from machine code of ptxas 13.0.88 for sm_90a (nvdisasm 13.5); 12.9.86, 13.4.59
and 13.5.37 give the same, also for sm_80, sm_100a and sm_120a.
"""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import entry
from wmma_emu.ptx.machine.known_values import evaluate
from wmma_emu.ptx.program.build import program_of
from wmma_emu.ptx.program.contraction import contract
from wmma_emu.ptx.program.folding import fold
from wmma_emu.ptx.program.program import Immediate
from wmma_emu.scalar.approx import approx

REGISTERS = (
    ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f64 %d<4>; "
    ".reg .f32 %a, %b, %c, %e, %x, %y;"
)
READ = "ld.param.u64 %rd0, [p]; ld.global.f32 %x, [%rd0]; ld.global.f32 %y, [%rd0+4]; ld.global.b32 %r7, [%rd0+8];"
ROOT = "rsqrt.approx.f32 %b, %a;"
OF_128 = 0x3DB504F3


def folded(body, contracts=True):
    text = entry(".param .u64 p", f"{REGISTERS}\n{READ}\n{body}\nst.global.f32 [%rd0+16], %b;\nret;")
    return fold(program_of(text).kernels["k"], evaluate, contracts=contracts)


def stored(body, **options):
    """Return the number that is moved to %b at the end, or None if %b is computed."""
    program, _ = folded(body, **options)
    made = [x for x in program.instructions if x.operands and getattr(x.operands[0], "name", "") == "%b"][-1]
    number = made.operands[1]
    return number.value if made.mnemonic == "mov" and isinstance(number, Immediate) else None


def opcodes(body, **options):
    program, _ = folded(body, **options)
    names = [x.opcode for x in program.instructions]
    return names[names.index("ld.global.b32") + 1 : -2]


FUNCTIONS = [
    ("rcp.approx.f32", 0x40400000, 0x3EAAAAAB),
    ("rcp.approx.f32", 0x42C80000, 0x3C23D70A),
    ("rcp.approx.f32", 0xC0490FDB, 0xBEA2F983),
    ("rcp.approx.f32", 0x00000000, 0x7F800000),
    ("rcp.approx.f32", 0x00400000, 0x7F000000),
    ("rcp.approx.ftz.f32", 0x80400000, 0xFF800000),
    ("rcp.approx.f32", 0x7E800001, 0x007FFFFF),
    ("rcp.approx.f32", 0x7EC00000, 0x00555556),  # twice rounded: of a fourth, and its fourth
    ("rcp.approx.ftz.f32", 0x7E800001, 0x00000000),
    ("rsqrt.approx.f32", 0x43000000, OF_128),
    ("rsqrt.approx.ftz.f32", 0x43000000, OF_128),
    ("rsqrt.approx.f32", 0x40400000, 0x3F13CD3A),
    ("rsqrt.approx.f32", 0x00000001, 0x64B504F3),
    ("rsqrt.approx.ftz.f32", 0x00000001, 0x7F800000),
    ("rsqrt.approx.f32", 0x7F800000, 0x00000000),
    ("sqrt.approx.f32", 0x43000000, 0x413504F3),
    ("sqrt.approx.f32", 0x80000000, 0x80000000),
    ("sqrt.approx.f32", 0x00000001, 0x1A3504F3),
    ("ex2.approx.f32", 0x3EAAAAAB, 0x3FA14518),
    ("ex2.approx.ftz.f32", 0xC0490FDB, 0x3DE8118D),
    ("ex2.approx.f32", 0xC2FD28FF, 0x00559F88),  # the square of a rounded root
    ("ex2.approx.ftz.f32", 0xC2FD28FF, 0x00000000),
    ("ex2.approx.f32", 0xFF800000, 0x00000000),
    ("lg2.approx.f32", 0x40400000, 0x3FCAE00D),
    ("lg2.approx.f32", 0x00000001, 0xC3150000),
    ("lg2.approx.f32", 0x7F800000, 0x7F800000),
    ("sin.approx.f32", 0x40400000, 0x3E1081C3),
    ("sin.approx.f32", 0xC0490FDB, 0x33BBBD2E),
    ("sin.approx.f32", 0x7E800001, 0xBF758D73),
    ("sin.approx.f32", 0x00400000, 0x00000000),
    ("cos.approx.f32", 0x42C80000, 0x3F5CC0EE),
    ("cos.approx.ftz.f32", 0x7E800001, 0xBE90C665),
]

STAY = [
    ("rcp.approx.f32", 0x7FC00000),
    ("rsqrt.approx.f32", 0xBF800000),
    ("sqrt.approx.ftz.f32", 0xFF800000),
    ("lg2.approx.f32", 0x00000000),
    ("lg2.approx.ftz.f32", 0x00400000),
    ("sin.approx.f32", 0x7F800000),
    ("tanh.approx.f32", 0x3F800000),
]


@pytest.mark.parametrize(("opcode", "operand", "number"), FUNCTIONS)
def test_a_function_of_a_constant_becomes_the_number_of_ptxas(opcode, operand, number):
    assert stored(f"mov.f32 %a, 0f{operand:08X}; {opcode} %b, %a;") == number
    assert stored(f"{opcode} %b, 0f{operand:08X};") == number


@pytest.mark.parametrize(("opcode", "operand"), STAY)
def test_a_function_that_ptxas_does_not_fold_stays_an_instruction(opcode, operand):
    assert opcodes(f"mov.f32 %a, 0f{operand:08X}; {opcode} %b, %a;") == ["mov.f32", opcode]


@pytest.mark.parametrize("opcode", ["ex2.approx.f16", "tanh.approx.f16", "tanh.approx.bf16", "ex2.approx.ftz.bf16"])
def test_functions_of_halves_stay_instructions(opcode):
    body = f"mov.b16 %h0, 0x3C00; {opcode} %h1, %h0; cvt.f32.{opcode.rpartition('.')[2]} %b, %h1;"
    assert opcode in opcodes(body)


def test_the_chip_computes_a_different_number():
    assert approx("rsqrt", np.array([0x43000000], np.uint32))[0] == OF_128 - 1


QUOTIENTS = [
    ("div.approx.f32", 0x40A00000, 0x43480001, 0x3CCCCCCB),
    ("div.full.f32", 0x41200000, 0x3F99999A, 0x41055555),
    ("div.full.f32", 0x3F800000, 0x7E800001, 0x007FFFFF),
    ("div.approx.f32", 0x3F800000, 0x7E800001, 0x00000000),
    ("div.full.f32", 0x3F800000, 0x00400000, 0x7F000000),
    ("div.full.ftz.f32", 0x3F800000, 0x00400000, 0x7F800000),
]


@pytest.mark.parametrize(("opcode", "a", "b", "number"), QUOTIENTS)
def test_a_quotient_of_constants_becomes_the_number_of_ptxas(opcode, a, b, number):
    assert stored(f"mov.f32 %a, 0f{a:08X}; mov.f32 %c, 0f{b:08X}; {opcode} %b, %a, %c;") == number


BY_CONSTANTS = [
    ("full", "44400000", ["mul.f32"], [0x3AAAAAAB]),
    ("approx", "40400000", ["mul.f32"], [0x3EAAAAAB]),
    ("approx.ftz", "40400000", ["mul.ftz.f32"], [0x3EAAAAAB]),
    ("full", "7E800001", ["mul.f32", "mul.f32"], [0x3E800000, 0x017FFFFE]),
    ("full.ftz", "7E800001", ["mul.ftz.f32", "mul.ftz.f32"], [0x3E800000, 0x017FFFFE]),
    ("approx", "7E800001", ["mul.f32"], [0x00000000]),
    ("full", "00400000", ["mul.f32", "mul.f32"], [0x4B800000, 0x73000000]),
    ("full.ftz", "00400000", ["mul.ftz.f32"], [0x7F800000]),
    ("full", "3F800000", ["mov.b32"], []),
    ("full", "BF800000", ["neg.f32"], []),
    ("approx.ftz", "3F800000", ["add.rn.ftz.f32"], [0x80000000]),
    ("full", "7FC00000", ["div.full.f32"], [0x7FC00000]),
]


@pytest.mark.parametrize(("kind", "divisor", "made", "numbers"), BY_CONSTANTS)
def test_a_division_by_a_constant_becomes_a_product(kind, divisor, made, numbers):
    body = f"div.{kind}.f32 %b, %x, 0f{divisor};"
    assert opcodes(body) == made
    program, lines = folded(body)
    places = [x for x in program.instructions if x.opcode in made]
    assert [x.operands[-1].value for x in places if isinstance(x.operands[-1], Immediate)] == numbers
    assert len(lines) == (divisor != "7FC00000")


def test_the_product_of_a_division_by_a_constant_is_fused_into_a_sum():
    program, _ = folded("div.full.f32 %c, %x, 0f44400000; add.f32 %b, %c, 0f3727C5AC;")
    assert "fma.rn.f32" in [x.opcode for x in contract(program).program.instructions]


def test_a_product_of_constants_is_not_fused_into_a_sum():
    program, _ = folded("mov.f32 %a, 0f43000001; mul.f32 %c, %a, 0f3F800001; add.f32 %b, %c, %x;")
    assert contract(program).lines == ()


def test_a_product_with_1_leaves_the_sum_to_another_product():
    body = "mul.f32 %a, %x, 0f3F800000; mul.f32 %c, %y, %y; add.f32 %b, %a, %c;"
    (fused,) = (x for x in contract(folded(body)[0]).program.instructions if x.mnemonic == "fma")
    assert fused.operands[1].name == "%y"


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("mul.f32 %b, %x, 0f3F800000;", "mov.b32"),
        ("mul.f32 %b, 0fBF800000, %x;", "neg.f32"),
        ("mul.ftz.f32 %b, %x, 0f3F800000;", "add.rn.ftz.f32"),
        ("mul.rn.f32 %b, %x, 0f3F800000;", "mul.rn.f32"),
        ("mul.sat.f32 %b, %x, 0f3F800000;", "mul.sat.f32"),
        ("mul.f32 %b, %x, 0f00000000;", "mul.f32"),
        ("fma.rn.f32 %b, %x, 0f3F800000, %y;", "fma.rn.f32"),
        ("max.f32 %b, %x, %x;", "mov.b32"),
        ("min.ftz.f32 %b, %x, %x;", "add.rn.ftz.f32"),
        ("max.NaN.f32 %b, %x, %x;", "max.NaN.f32"),
        ("rcp.approx.ftz.f32 %a, %x; rcp.approx.ftz.f32 %b, %a;", "mov.b32"),
        ("rcp.approx.ftz.f32 %a, %x; mov.f32 %c, %a; rcp.approx.ftz.f32 %b, %c;", "mov.b32"),
        ("rcp.approx.f32 %a, %x; rcp.approx.f32 %b, %a;", "rcp.approx.f32"),
        ("rcp.approx.ftz.f32 %a, %x; neg.f32 %c, %a; rcp.approx.ftz.f32 %b, %c;", "rcp.approx.ftz.f32"),
        ("rcp.approx.ftz.f32 %a, %x; div.approx.ftz.f32 %b, %y, %a;", "mul.ftz.f32"),
        ("rcp.approx.ftz.f32 %a, %x; div.full.ftz.f32 %b, %y, %a;", "div.full.ftz.f32"),
    ],
)
def test_an_instruction_without_effect_becomes_a_copy(body, made):
    assert opcodes(body)[-1] == made


EX2, RCP, DIV = "ex2.approx.ftz.f32", "rcp.approx.ftz.f32", "div.approx.ftz.f32"
INVERTED = ["neg.f32", EX2]
"""MUFU.EX2 of the negative operand."""


@pytest.mark.parametrize(
    ("body", "made"),
    [
        (f"{EX2} %a, %x; {RCP} %b, %a;", [*INVERTED, "mov.b32"]),
        (f"{EX2} %a, %x; mov.f32 %c, %a; {RCP} %b, %c;", [*INVERTED, "mov.f32", "mov.b32"]),
        (f"{EX2} %a, %x; {DIV} %b, %y, %a;", [*INVERTED, "mul.ftz.f32"]),
        (f"{EX2} %a, %x; {RCP} %c, %a; {RCP} %b, %c;", [EX2, "mov.b32", "mov.b32"]),
        (f"{EX2} %a, %x; {RCP} %c, %a; {DIV} %b, %y, %c;", [EX2, "mov.b32", "mul.ftz.f32"]),
        (f"{EX2} %a, %x; {RCP} %c, %a; {RCP} %e, %c; sub.f32 %b, %e, %c;", [*INVERTED, "mov.b32", RCP, "sub.f32"]),
        (f"{EX2} %a, %x; {RCP} %c, %a; add.f32 %b, %a, %c;", [EX2, RCP, "add.f32"]),
        (f"{EX2} %a, %x; {RCP} %c, %a; {RCP} %e, %a; sub.f32 %b, %e, %c;", [EX2, RCP, RCP, "sub.f32"]),
        (f"{EX2} %a, %x; {DIV} %b, %a, %a;", [EX2, DIV]),
        (f"{EX2} %a, %x; div.full.ftz.f32 %b, %y, %a;", [EX2, "div.full.ftz.f32"]),
        (f"{EX2} %a, %x; rcp.approx.f32 %b, %a;", [EX2, "rcp.approx.f32"]),
        (f"ex2.approx.f32 %a, %x; {RCP} %b, %a;", ["ex2.approx.f32", RCP]),
        (f"{EX2} %a, %x; abs.f32 %c, %a; {RCP} %b, %c;", [*INVERTED, "abs.f32", "mov.b32"]),
        (f"{EX2} %a, %x; abs.ftz.f32 %c, %a; {RCP} %b, %c;", [EX2, "abs.ftz.f32", RCP]),
        (f"{EX2} %a, %x; neg.f32 %c, %a; {RCP} %b, %c;", [EX2, "neg.f32", RCP]),
        (f"mov.f32 %a, %y; @%p1 {EX2} %a, %x; {RCP} %b, %a;", ["mov.f32", EX2, RCP]),
        (f"lg2.approx.ftz.f32 %a, %x; {EX2} %b, %a;", ["lg2.approx.ftz.f32", EX2]),
        (f"sqrt.approx.ftz.f32 %a, %x; {RCP} %b, %a;", ["sqrt.approx.ftz.f32", RCP]),
    ],
)
def test_the_reciprocal_of_an_exponential_that_nothing_else_reads_is_the_exponential_of_the_negative(body, made):
    assert opcodes(body) == made


RSQRT = "rsqrt.approx.ftz.f32"


@pytest.mark.parametrize(
    ("body", "made"),
    [
        (f"{RCP} %a, %x; {RSQRT} %c, %a; {RCP} %b, %c;", [RCP, RSQRT, RSQRT]),
        (f"{RCP} %a, %x; {RSQRT} %c, %a; {RCP} %e, %c; sub.f32 %b, %a, %e;", [RCP, RSQRT, RSQRT, "sub.f32"]),
        (f"{RCP} %a, %x; mov.f32 %e, %a; {RSQRT} %c, %e; {RCP} %b, %c;", [RCP, "mov.f32", RSQRT, RSQRT]),
        (f"{RCP} %a, %x; {RSQRT} %c, %a; {DIV} %b, %y, %c;", [RCP, RSQRT, RSQRT, "mul.ftz.f32"]),
        (f"{RCP} %a, %x; {RSQRT} %c, %a; {RCP} %e, %c; {RCP} %b, %e;", [RCP, RSQRT, RSQRT, RCP]),
        (f"{EX2} %a, %x; {RCP} %c, %a; {RSQRT} %e, %c; {RCP} %b, %e;", [*INVERTED, "mov.b32", RSQRT, RCP]),
        (f"{RCP} %a, %x; {RSQRT} %c, %a; abs.f32 %e, %c; {RCP} %b, %e;", [RCP, RSQRT, "abs.f32", RCP]),
        (f"{RCP} %a, %x; abs.f32 %e, %a; {RSQRT} %c, %e; {RCP} %b, %c;", [RCP, "abs.f32", RSQRT, RCP]),
        (f"{RCP} %a, %x; sqrt.approx.ftz.f32 %c, %a; {RCP} %b, %c;", [RCP, "sqrt.approx.ftz.f32", RCP]),
        (f"rcp.approx.f32 %a, %x; {RSQRT} %c, %a; {RCP} %b, %c;", ["rcp.approx.f32", RSQRT, RCP]),
        (f"{RCP} %a, %x; rsqrt.approx.f32 %c, %a; {RCP} %b, %c;", [RCP, "rsqrt.approx.f32", RCP]),
    ],
)
def test_the_reciprocal_of_a_root_of_a_reciprocal_is_the_root(body, made):
    assert opcodes(body) == made


KNOWN = {
    "an integer": ("mov.b32 %r0, 128; cvt.rn.f32.s32 %a, %r0;", OF_128),
    "a half": ("mov.b16 %h0, 0x5800; cvt.f32.f16 %a, %h0;", OF_128),
    "a double": ("mov.f64 %d0, 0d4060000000000000; cvt.rn.f32.f64 %a, %d0;", OF_128),
    "a sum": ("mov.f32 %c, 0f43000000; add.f32 %a, %c, 0f40000000;", 0x3DB39F19),
    "a quotient": ("div.full.f32 %a, 0f43000000, 0f40400000;", 0x3E1CC470),
    "integer arithmetic": ("mov.b32 %r0, 5; mad.lo.s32 %r1, %r0, %r0, 7; cvt.rn.f32.u32 %a, %r1;", 0x3E3504F3),
    "a choice": ("mov.b32 %r0, 5; setp.eq.s32 %p0, %r0, 5; selp.f32 %a, 0f43000000, %x, %p0;", OF_128),
    "packed and unpacked": ("mov.b32 %r0, 0x43000000; mov.b64 %rd1, {%r0, %r0}; mov.b64 {%r1, %a}, %rd1;", OF_128),
    "written twice": ("mov.f32 %a, 0f40000000; add.f32 %a, %a, 0f42FC0000;", OF_128),
    "guarded by what is known": ("setp.eq.s32 %p0, 5, 5; mov.f32 %a, %x; @%p0 mov.f32 %a, 0f43000000;", OF_128),
    "the same either way": ("setp.eq.s32 %p0, %r7, 5; mov.f32 %a, 0f43000000; @%p0 mov.f32 %a, 0f43000000;", OF_128),
    "a guarded function": ("mov.f32 %a, 0f43000000; setp.eq.s32 %p0, %r7, 5; mov.f32 %b, %x; @%p0 ", OF_128),
    "the same on both branches": (
        "setp.eq.s32 %p0, %r7, 5; @%p0 bra $l; mov.f32 %a, 0f43000000; bra $m; "
        "$l: mov.f32 %c, 0f42800000; add.f32 %a, %c, %c; $m:", OF_128),
    "a branch never taken": (
        "mov.b32 %r0, 5; setp.ne.s32 %p0, %r0, 5; @%p0 bra $l; mov.f32 %a, 0f43000000; bra $m; "
        "$l: mov.f32 %a, %x; $m:", OF_128),
    "nothing on the other branch": (
        "setp.eq.s32 %p0, %r7, 5; @%p0 bra $m; mov.f32 %a, 0f43000000; $m:", OF_128),
    "unchanged by a loop": (
        "mov.f32 %a, 0f43000000; mov.b32 %r0, 0; $l: mul.f32 %a, %a, 0f3F800000; add.s32 %r0, %r0, 1; "
        "setp.lt.s32 %p0, %r0, %r7; @%p0 bra $l;", OF_128),
    "changed by a loop": (
        "mov.f32 %a, 0f43000000; mov.b32 %r0, 0; $l: add.f32 %a, %a, 0f3F800000; add.s32 %r0, %r0, 1; "
        "setp.lt.s32 %p0, %r0, %r7; @%p0 bra $l;", None),
    "different on both branches": (
        "setp.eq.s32 %p0, %r7, 5; @%p0 bra $l; mov.f32 %a, 0f43000000; bra $m; $l: mov.f32 %a, 0f40400000; $m:", None),
    "a choice that is not known": ("setp.eq.s32 %p0, %r7, 5; selp.f32 %a, 0f43000000, 0f40400000, %p0;", None),
    "a product and a sum in one": ("mov.f32 %c, 0f43000000; fma.rn.f32 %a, %c, %c, %c;", None),
    "a sum of doubles, rounded": (
        "mov.f64 %d0, 0d4060000000000000; add.rn.f64 %d1, %d0, %d0; cvt.rn.f32.f64 %a, %d1;", None),
    "a quotient of integers": ("mov.b32 %r0, 256; div.u32 %r1, %r0, 2; cvt.rn.f32.u32 %a, %r1;", None),
    "a long integer": ("mov.b64 %rd1, 128; cvt.rn.f32.s64 %a, %rd1;", None),
    "a sum of halves": ("mov.b16 %h0, 0x5800; add.f16 %h1, %h0, %h0; cvt.f32.f16 %a, %h1;", None),
    "a product with zero": ("mul.f32 %a, %x, 0f00000000;", None),
    "a special register": ("mov.u32 %r0, %ntid.x; cvt.rn.f32.u32 %a, %r0;", None),
    "a value of another thread's uninitialised register": (
        "mov.f32 %a, 0f43000000; setp.eq.s32 %p0, %r7, 5; @%p0 bra $m; shfl.sync.idx.b32 %r1, %r2, 0, 31, -1; "
        "mov.b32 %a, %r1; $m:", None),
    "a product of matrices on one branch": (
        "mov.f32 %a, 0f43000000; setp.eq.s32 %p0, %r7, 5; @%p0 bra $m; "
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%a, %c, %e, %y}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%a, %c, %e, %y}; $m:", None),
    "memory": ("ld.global.f32 %a, [%rd0+12];", None),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_constants_are_propagated_as_by_ptxas(name):
    body, number = KNOWN[name]
    assert stored(body + ROOT) == number


@pytest.mark.parametrize(
    ("between", "is_product"),
    [
        ("", True),
        ("rsqrt.approx.ftz.f32 %c, %x;", True),
        ("div.full.f32 %c, %x, %y;", True),
        ("st.global.f32 [%rd0+32], %x;", True),
        ("rcp.approx.f32 %c, %x;", False),
        ("bar.sync 0;", False),
        ("div.rn.f32 %c, %x, %y;", False),
        ("setp.eq.s32 %p0, %r7, 5; @%p0 st.global.f32 [%rd0+32], %x;", False),
    ],
)
def test_a_division_with_ftz_uses_only_constants_of_its_block(between, is_product):
    body = f"mov.f32 %a, 0f40400000; {between} div.full.ftz.f32 %b, %x, %a;"
    assert opcodes(body)[-1] == ("mul.ftz.f32" if is_product else "div.full.ftz.f32")
    assert opcodes(body.replace(".ftz", ""))[-1] == "mul.f32"
    assert opcodes(f"{between} div.full.ftz.f32 %b, %x, 0f40400000;")[-1] == "mul.ftz.f32"


def test_labels_refer_to_the_same_instructions_afterwards():
    loop = "$top: div.full.f32 %c, %x, 0f7E800001; @%p0 bra $top; $end: @%p0 bra $end; mov.f32 %b, %c;"
    program, _ = folded(loop)
    jumps = [program.instructions[x.operands[0].index] for x in program.instructions if x.mnemonic == "bra"]
    assert [x.opcode for x in jumps] == ["mul.f32", "bra"]
    assert jumps[0].operands[2].value == 0x3E800000


SCORES = entry(
    ".param .u64 x, .param .u64 d",
    """.reg .b64 %a<2>; .reg .f32 %f<6>;
    ld.param.u64 %a0, [x]; ld.param.u64 %a1, [d]; ld.global.f32 %f0, [%a0];
    mov.f32 %f4, 0f43000000;
    rsqrt.approx.f32 %f1, %f4;
    mul.f32 %f2, %f0, %f1;
    st.global.f32 [%a1], %f2;
    ret;""",
)


@pytest.mark.parametrize("policy", ["rules", "never"])
def test_a_launch_uses_the_folded_number_and_reports_its_line(policy):
    x, d = np.ones(1, np.float32), np.zeros(1, np.float32)
    module = we.ptx.Module(SCORES, contraction=policy)
    report = module["k"][1, 1](x, d)
    assert d.view(np.uint32)[0] == OF_128
    (line,) = report.folded
    assert SCORES.splitlines()[line - 1].strip() == "rsqrt.approx.f32 %f1, %f4;"
    assert f"folded:\n  1 of constants, line {line}" in str(report)
    assert f"folded         1 of constants, line {line}" in str(module.explain())


PARTLY_KNOWN = [
    ("and.b32 %r1, %r7, 0;", True),
    ("mul.lo.s32 %r1, %r7, 0;", True),
    ("mad.lo.s32 %r1, %r7, 0, 0;", True),
    ("xor.b32 %r1, %r7, %r7;", True),
    ("shr.u32 %r1, %r7, 32;", True),
    ("bfe.u32 %r1, %r7, 3, 0;", True),
    ("mov.b64 %rd1, {0, %r7}; mov.b64 {%r1, %r2}, %rd1;", True),
    ("mov.b32 %r2, 0; shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;", True),
    ("setp.ne.s32 %p1, %r7, %r7; selp.b32 %r1, 7, 0, %p1;", True),
    ("sub.s32 %r1, %r7, %r7;", False),
    ("min.u32 %r1, %r7, 0;", False),
    ("div.u32 %r1, 0, %r7;", False),
    ("mad.lo.s32 %r1, %r7, 0, %r7;", False),
    ("shr.s32 %r1, %r7, 32;", False),
    ("setp.eq.f32 %p1, %x, %x; selp.b32 %r1, 7, 0, %p1;", False),
]


@pytest.mark.parametrize(("body", "is_known"), PARTLY_KNOWN, ids=[x for x, _ in PARTLY_KNOWN])
def test_results_decided_by_one_source_are_propagated_as_by_ptxas(body, is_known):
    root = "add.s32 %r1, %r1, 128; cvt.rn.f32.u32 %a, %r1;" + ROOT
    assert stored(body + root) == (OF_128 if is_known else None)


def test_a_tie_in_a_difference_of_constants_is_truncated_as_by_the_driver():
    assert stored("sub.f32 %b, 0f38F896AD, 0f3727C5AC;") == 0x38E39DF7
    assert stored("add.rn.f32 %b, 0f38F896AD, 0fB727C5AC;") == 0x38E39DF7


def test_a_tie_with_a_smaller_exponent_and_a_tie_in_a_sum_are_rounded_to_even():
    assert stored("sub.f32 %b, 0f2A800001, 0f29800001;") == 0x2A400002
    assert stored("add.f32 %b, 0f3F800001, 0f33800000;") == 0x3F800002


def test_a_double_negation_is_removed():
    assert opcodes("neg.f32 %c, %x; neg.f32 %b, %c;") == ["neg.f32", "mov.b32"]
    assert opcodes("neg.ftz.f32 %c, %x; neg.ftz.f32 %b, %c;") == ["neg.ftz.f32", "neg.ftz.f32"]


@pytest.mark.parametrize(("number", "made"), [("0dBFF0000000000000", "mov.b64"), ("0d3FE0000000000000", "neg.f64")])
def test_a_product_by_minus_one_is_a_negative_in_f64_too(number, made):
    body = f"cvt.f64.f32 %d0, %x; mul.f64 %d1, %d0, {number}; neg.f64 %d2, %d1; cvt.rn.f32.f64 %b, %d2;"
    assert opcodes(body)[2] == made


LOOP = "mov.b32 %r1, 1; $m: cvt.rn.f32.s32 %a, %r1; rsqrt.approx.f32 %b, %a; st.global.f32 [%rd0+32], %b; {} $n:"
COUNTED = LOOP.format("add.s32 %r1, %r1, {}; setp.lt.s32 %p0, %r1, {}; @%p0 bra $m;")


def test_a_loop_with_a_known_count_is_unrolled_if_functions_become_constants():
    program, lines = folded(COUNTED.format(1, 5))
    assert len(lines) == 1
    assert not program.caveats
    assert [x.mnemonic for x in program.instructions].count("st") == 5  # including the final store of every case
    assert "rsqrt" not in [x.mnemonic for x in program.instructions]


def test_a_shorter_loop_without_functions_before_it_leaves_a_loop_to_be_unrolled():
    before = "mov.b32 %r2, 0; $a: add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r7; @%p1 bra $a;"
    program, lines = folded(before + COUNTED.format(1, 5))
    assert len(lines) == 1
    assert "rsqrt" not in [x.mnemonic for x in program.instructions]


def test_a_loop_of_unknown_count_or_with_a_shifted_counter_is_not_unrolled():
    for rest in ("add.s32 %r1, %r1, 1; setp.lt.s32 %p0, %r1, %r7; @%p0 bra $m;",
                 "shl.b32 %r1, %r1, 1; setp.lt.s32 %p0, %r1, 64; @%p0 bra $m;"):  # fmt: skip
        program, lines = folded(LOOP.format(rest))
        assert not lines
        assert not program.caveats


def test_a_loop_whose_counter_is_not_reset_by_an_outer_loop_is_not_unrolled():
    outer = "$o: " + COUNTED.format(1, 5).replace("mov.b32 %r1, 1;", "") + " bar.sync 0; @%p1 bra $o;"
    _, lines = folded("mov.b32 %r1, 1; setp.eq.s32 %p1, %r7, 3;" + outer)
    assert not lines


def test_a_loop_longer_than_those_that_ptxas_unrolls_gets_a_caveat():
    program, lines = folded(COUNTED.format(1, 1000))
    assert not lines
    assert [x.opcode for x in program.caveats] == ["rsqrt.approx.f32"]


def test_a_local_variable_has_the_value_of_its_only_store_unless_it_is_indexed():
    declared = ".local .align 4 .b8 lv[16]; st.local.f32 [lv], 0f43000000; ld.local.f32 %a, [lv];"
    assert stored(declared + ROOT) == OF_128
    indexed = declared + "mov.u64 %rd1, lv; st.local.u32 [%rd1+4], %r7;"
    assert stored(indexed + ROOT) is None


def test_a_local_variable_that_a_vector_overwrites_is_not_known():
    body = ".local .align 8 .b8 lv[16]; st.local.f32 [lv+4], 0f43000000; {} ld.local.f32 %a, [lv+4];" + ROOT
    assert stored(body.format("")) == OF_128
    assert stored(body.format("st.local.v2.f32 [lv], {%x, %y};")) is None


@pytest.mark.parametrize(
    "body",
    [
        "mov.f32 %a, %b; mov.f32 %b, %a; rcp.approx.ftz.f32 %c, %a;",
        "add.ftz.f32 %a, %x, %x;" + "add.ftz.f32 %a, %a, %a;" * 60 + "neg.ftz.f32 %b, %a; rcp.approx.ftz.f32 %c, %b;",
    ],
    ids=["copies of each other", "sums of sums"],
)
def test_cyclic_and_exponential_dependences_are_followed_once(body):
    assert folded(body)[1] == ()
