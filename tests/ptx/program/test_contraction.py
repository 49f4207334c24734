# SPDX-License-Identifier: MIT
"""Products and sums with open roundings are fused as observed with ptxas 12.9 and 13.0."""

import re

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import entry
from wmma_emu.ptx.program.build import program_of
from wmma_emu.ptx.program.contraction import contract

REGISTERS = ".reg .f32 %f<20>; .reg .b32 %r<5>; .reg .b64 %a; .reg .f64 %d<6>; .reg .pred %p;"

CASES = {
    "the first of two products": (
        "mul.f32 %f4, %f0, %f1; mul.f32 %f5, %f2, %f3; add.f32 %f6, %f5, %f4;", ["mul.f32", "fma.rn.f32"], "%f2"),
    "a product that two sums use": (
        "mul.f32 %f4, %f0, %f1; add.f32 %f5, %f4, %f2; add.f32 %f6, %f3, %f4;", ["fma.rn.f32", "fma.rn.f32"], "%f0"),
    "a product that is stored too": (
        "mul.f32 %f4, %f0, %f1; add.f32 %f5, %f4, %f2; st.global.f32 [%a], %f4;",
        ["mul.f32", "add.f32"], None),
    "the product that nothing else uses": (
        "mul.f32 %f4, %f0, %f1; mul.f32 %f5, %f2, %f3; add.f32 %f6, %f4, %f5; add.f32 %f7, %f0, %f4;",
        ["mul.f32", "fma.rn.f32", "add.f32"], "%f2"),
    "a difference from a product": (
        "mul.f32 %f4, %f0, %f1; sub.f32 %f5, %f2, %f4;", ["neg.f32", "fma.rn.f32"], "%contracted"),
    "a product less a number": ("mul.f64 %d2, %d0, %d1; sub.f64 %d3, %d2, %d0;", ["neg.f64", "fma.rn.f64"], "%d0"),
    "a product that is negated before the sum": (
        "mul.f32 %f4, %f0, %f1; neg.f32 %f5, %f4; add.f32 %f6, %f2, %f5;", ["neg.f32", "fma.rn.f32"], "%contracted"),
    "a product that is negated twice": (
        "mul.f32 %f4, %f0, %f1; neg.f32 %f5, %f4; sub.f32 %f6, %f2, %f5;", ["fma.rn.f32"], "%f0"),
    "a product that is copied before the sum": (
        "mul.f32 %f4, %f0, %f1; mov.b32 %f5, %f4; add.f32 %f6, %f2, %f5; add.f32 %f7, %f4, %f3;",
        ["fma.rn.f32", "fma.rn.f32"], "%f0"),
    "a negated product less a number": (
        "mul.f32 %f4, %f0, %f1; neg.f32 %f5, %f4; sub.f32 %f6, %f5, %f2;",
        ["neg.f32", "neg.f32", "fma.rn.f32"], "%contracted"),
    "a product and its copy": (
        "mul.f32 %f4, %f0, %f1; mov.b32 %f5, %f4; add.f32 %f6, %f4, %f5;", ["mul.f32", "mov.b32", "add.f32"], None),
    "pairs of halves": ("mul.f16x2 %r2, %r0, %r1; add.f16x2 %r3, %r2, %r0;", ["fma.rn.f16x2"], "%r0"),
    "saturated sums": ("mul.f32 %f4, %f0, %f1; add.sat.f32 %f5, %f4, %f2;", ["fma.rn.sat.f32"], "%f0"),
    "flushed ones": ("mul.ftz.f32 %f4, %f0, %f1; add.ftz.f32 %f5, %f4, %f2;", ["fma.rn.ftz.f32"], "%f0"),
    "one flushed": ("mul.ftz.f32 %f4, %f0, %f1; add.f32 %f5, %f4, %f2;", ["mul.ftz.f32", "add.f32"], None),
    "a product of a rounding": ("mul.rn.f32 %f4, %f0, %f1; add.f32 %f5, %f4, %f2;", ["mul.rn.f32", "add.f32"], None),
    "a sum of a rounding": ("mul.f32 %f4, %f0, %f1; add.rn.f32 %f5, %f4, %f2;", ["mul.f32", "add.rn.f32"], None),
    "a saturated product": ("mul.sat.f32 %f4, %f0, %f1; add.f32 %f5, %f4, %f2;", ["mul.sat.f32", "add.f32"], None),
    "twice the same product": ("mul.f32 %f4, %f0, %f1; add.f32 %f5, %f4, %f4;", ["mul.f32", "add.f32"], None),
    "a guarded product": ("@%p mul.f32 %f4, %f0, %f1; add.f32 %f5, %f4, %f2;", ["mul.f32", "add.f32"], None),
    "a guarded sum": ("mul.f32 %f4, %f0, %f1; @%p add.f32 %f5, %f4, %f2;", ["fma.rn.f32"], "%f0"),
    "a sum in another block": (
        "mul.f32 %f4, %f0, %f1; @%p bra $x; add.f32 %f5, %f4, %f2; $x:", ["mul.f32", "bra", "add.f32"], None),
    "a factor that is overwritten": (
        "mul.f32 %f4, %f0, %f1; mov.f32 %f0, %f1; mov.f32 %f0, %f2; add.f32 %f5, %f4, %f2;",
        ["mov.b32", "mov.f32", "mov.f32", "fma.rn.f32"], "%contracted"),
}  # fmt: skip


def stores(body):
    """Store each unread number, because the assembler removes dead code before it fuses anything."""
    words = [re.findall(r"%[fdr]\d+", x) for x in body.split(";") if "st." not in x]
    read = {x for found in words for x in found[1:]}
    kinds = {"f": "f32", "d": "f64", "r": "b32"}
    return " ".join(f"st.global.{kinds[x[0][1]]} [%a], {x[0]};" for x in words if x and x[0] not in read)


@pytest.mark.parametrize("name", CASES)
def test_products_are_fused_as_by_ptxas(name):
    body, expected, factor = CASES[name]
    program, lines, _ = contract(program_of(entry("", f"{REGISTERS}\n{body}\n{stores(body)}\nret;")).kernels["k"])
    assert [x.opcode for x in program.instructions if x.mnemonic not in ("ret", "st")] == expected
    fused = [x for x in program.instructions if x.mnemonic == "fma"]
    assert bool(lines) == bool(fused) == (factor is not None)
    if factor is not None:
        assert fused[0].operands[1].name.startswith(factor)


def test_labels_refer_to_the_same_instructions_afterwards():
    sums = "$top: mul.f32 %f4, %f0, %f1;\n sub.f32 %f5, %f2, %f4;\n @%p bra $top;\n"
    body = f"{REGISTERS}\n{sums}$end: @%p bra $end;\n {stores(sums)} ret;"
    program, *_ = contract(program_of(entry("", body)).kernels["k"])
    jumps = [x.operands[0].index for x in program.instructions if x.mnemonic == "bra"]
    assert [program.instructions[x].opcode for x in jumps] == ["neg.f32", "bra"]


MULTIPLY_ADD = entry(
    ".param .u64 x, .param .u64 d",
    """.reg .b64 %a<2>; .reg .f32 %f<6>;
    ld.param.u64 %a0, [x]; ld.param.u64 %a1, [d];
    ld.global.f32 %f0, [%a0]; ld.global.f32 %f1, [%a0+4]; ld.global.f32 %f2, [%a0+8];
    mul.f32 %f3, %f0, %f1;
    sub.f32 %f4, %f2, %f3;
    st.global.f32 [%a1], %f4;
    ret;""",
)


@pytest.mark.parametrize(("policy", "lines"), [("rules", 1), ("never", 0)])
def test_the_contraction_policy_decides_the_bits_and_fused_lines_are_reported(policy, lines):
    one = np.float32(1 + 2**-12)
    x, d = np.array([one, one, 1 + 2**-11], np.float32), np.zeros(1, np.float32)
    report = we.ptx.Module(MULTIPLY_ADD, contraction=policy)["k"][1, 1](x, d)
    exact = float(x[2]) - float(one) * float(one)
    rounded = x[2] - one * one
    assert len(report.contracted) == lines
    assert d[0] == (np.float32(exact) if policy == "rules" else rounded)
    assert np.float32(exact) != rounded
