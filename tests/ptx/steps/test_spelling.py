# SPDX-License-Identifier: MIT
"""Orders of modifiers and kinds of operands are accepted as by ptxas; the messages of refusals."""

import re
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tools.compare_ptx_spellings import TARGET, VERSION, is_deliberate, reasons
from tools.ptxas_oracle import Ptxas, find_ptxas
from wmma_emu.instructions import INSTRUCTIONS
from wmma_emu.ptx.steps.spelling import ordered
from wmma_emu.ptx.steps.values import ALL_VIDEO_ENTRIES, VALUE_ENTRIES
from wmma_emu.scalar.cvt_table import CVT_FORMS

LINES = (Path(__file__).parent / "data" / "spellings.txt").read_text().splitlines()
RECORDED = [(line[2:], line[0] == "+") for line in LINES[1:]]

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def test_statements_are_accepted_and_refused_as_by_ptxas():
    for wanted in (True, False):
        recorded = {re.split(r"[.\s;]", statement)[0] for statement, taken in RECORDED if taken == wanted}
        assert recorded >= {"add", "atom", "bar", "cvt", "ld", "ldmatrix", "mma", "setp", "shfl", "wgmma", "wmma"}
    mine = reasons([statement for statement, _ in RECORDED])
    assert [
        (statement, reason)
        for (statement, taken), reason in zip(RECORDED, mine, strict=True)
        if taken != (reason is None) and not (taken and is_deliberate(statement))
    ] == []


def test_the_mnemonic_of_every_matrix_instruction_is_a_legal_opcode():
    for name in INSTRUCTIONS:
        mnemonic, *modifiers = name.split(".")
        assert ordered(mnemonic, tuple(modifiers)) == tuple(modifiers), name


@pytest.mark.skipif(find_ptxas() is None, reason="ptxas is not installed")
def test_ptxas_accepts_and_refuses_as_recorded():
    some = RECORDED[::7]
    judged = Ptxas(find_ptxas()).judge([statement for statement, _ in some], TARGET, VERSION)
    other = [(x, said) for (x, taken), said in zip(some, judged, strict=True) if taken != (said is None)]
    assert [x for x in other if "Internal compiler error" not in str(x[1])] == []


@pytest.mark.parametrize("opcode", [*VALUE_ENTRIES, *ALL_VIDEO_ENTRIES, *(x.mnemonic for x in CVT_FORMS.values())][::9])
def test_the_order_in_the_tables_is_not_changed(opcode):
    mnemonic, *words = opcode.split(".")
    assert ordered(mnemonic, tuple(words)) == tuple(words)
    has_one_type = len([x for x in words if re.fullmatch(r"b?f(16|32)", x)]) < 2
    if mnemonic not in ("set", "slct", "cvt", "dp4a", "dp2a") and mnemonic[0] != "v" and has_one_type:
        last = words.pop()
        there = ordered(mnemonic, (*words[:1], last, *words[1:]))
        assert there == (*words, last)


@pytest.mark.parametrize(
    ("written", "means"),
    [
        ("add.f32.ftz.rn", "add.rn.ftz.f32"),
        ("setp.f32.lt", "setp.lt.f32"),
        ("cvt.f16.rn.f32", "cvt.rn.f16.f32"),
        ("cvt.f16.f32.rn", "cvt.rn.f16.f32"),
        ("shfl.bfly.sync.b32", "shfl.sync.bfly.b32"),
        ("vote.ballot.sync.b32", "vote.sync.ballot.b32"),
        ("ldmatrix.sync.aligned.trans.m8n8.x4.shared.b16", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"),
        ("cp.async.shared.global.ca", "cp.async.ca.shared.global"),
        ("add.sat.s32.sat", "add.sat.s32"),
    ],
)
def test_modifiers_are_brought_to_the_order_of_the_manual(written, means):
    mnemonic, *words = written.split(".")
    assert ".".join((mnemonic, *ordered(mnemonic, tuple(words)))) == means


@pytest.mark.parametrize(
    "opcode",
    ["mul.s32.lo", "cvt.rn.f32.f16", "cp.async.ca.global.shared", "add.ftz.ftz.f32", "bar.sync.cta", "ld.f32.f32"],
)
def test_modifiers_without_a_legal_order_are_refused(opcode):
    mnemonic, *words = opcode.split(".")
    assert ordered(mnemonic, tuple(words)) is None


def test_another_order_gives_the_same_bits():
    texts = [
        f"""{HEAD}.entry k(.param .u64 p) {{ .reg .b64 %a; .reg .f32 %f<3>; .reg .b16 %h; .reg .pred %q; .reg .b32 %r;
        ld.param.u64 %a, [p]; {load} %f1, [%a]; {add} %f2, %f1, 0f3F000001; {cvt} %h, %f2; {setp} %q, %f2, 0f3FC00000;
        {vote} %r, %q, -1; {store} [%a+8], %h; st.global.b32 [%a+4], %r; ret; }}"""
        for load, add, cvt, setp, vote, store in (
            (
                "ld.global.f32",
                "add.rz.ftz.f32",
                "cvt.rn.f16.f32",
                "setp.gt.f32",
                "vote.sync.ballot.b32",
                "st.global.b16",
            ),
            (
                "ld.f32.global",
                "add.f32.ftz.rz",
                "cvt.f16.rn.f32",
                "setp.f32.gt",
                "vote.b32.ballot.sync",
                "st.b16.global",
            ),
        )
    ]
    found = []
    for text in texts:
        data = np.array([1.0000001, 0, 0], np.float32)
        we.ptx.Module(text)["k"][1, 32](data)
        found.append(data.view(np.uint32).tolist())
    assert found[0] == found[1] and found[0][1] == 0xFFFFFFFF


REGISTERS = (
    ".reg .f32 %f<9>; .reg .b32 %r<9>; .reg .u32 %u<9>; .reg .b64 %rd<9>; .reg .f16 %h<9>; .reg .pred %p<9>; "
    ".shared .b32 sv[4];"
)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("add.f32 %f1, %f2, 4608;", "the integer 4608 cannot be an operand of .f32: write 4608.0, or the bit"),
        ("mov.f32 %f1, 4294967296;", "the integer 4294967296 cannot be an operand of .f32"),
        ("shl.b32 %r1, %r2, 0f00000000;", "a floating-point constant cannot be an operand of .u32"),
        ("sub.f16x2 %r1, %r2, 2;", "a constant cannot be an operand of .f16x2: mov it into a register"),
        ("add.s32 %f1, %f2, %f2;", "%f1 is a register of .f32; expected .s32"),
        ("ld.global.u64 %r1, [%rd1];", "%r1 is a register of .b32, 32 bits; expected .u64, 64 bits"),
        ("cvta.to.global.u64 %r1, %rd1;", "%r1 is a register of .b32, 32 bits"),
        ("atom.global.add.noftz.f16 %r1, [%rd1], %h1;", "%r1 is a register of .b32, 32 bits"),
        ("ld.global.u32 %r1, [%f3];", "%f3 is a register of .f32, which cannot contain an address"),
        ("ld.global.u32 %r1, [%r2];", "%r2 has 32 bits; global and generic addresses have 64 bits"),
        ("ld.relaxed.global.u32 %r1, [%rd1];", "has modifiers that do not exist or exclude each other, or lacks"),
        ("membar.foo;", "has modifiers that do not exist"),
        ("membar.cta %rd1, %rd2;", "expects 0 operands, not 2"),
        ("bra.ca L; L:", "has modifiers that do not exist"),
        ("bar.sync 32;", "barrier 32 does not exist: the barriers of a block are 0 to 15"),
        ("vote.ballot.b32 %r1, %p1;", "is not supported for sm_90 since PTX 6.4: write vote.sync with a membermask"),
        ("wgmma.fence.sync.aligned;", "needs .target sm_90a; the module has .target sm_90"),
        ("add.s32 %r1, %r2, %tid.x;", "the special register %tid.x (.u32) as this operand: read it with mov.u32 first"),
        ("add.s32 %r1, %r2, sv;", "cannot use the variable sv as a value: take its address with mov first"),
        ("mov.u32 %r1;", "mov.u32 expects 2 operands"),
        ("ld.param.u32 %r1;", "expects an address and a register"),
        ("bar.warp.sync;", "expects 1 operand, not 0"),
        ("add.s32 _, %r1, %r2;", "expects a register as its result, not the sink _"),
        ("ld.global.v2.f32 {%u1, %f2}, [%rd1];", "has a vector of registers of different types: .f32, .u32"),
    ],
)  # fmt: skip
def test_a_refusal_gives_the_reason(line, said):
    text = f"{HEAD}.entry k() {{ {REGISTERS}\n{line}\nret; }}\n.entry other() {{ ret; }}"
    module = we.ptx.Module(text)
    (missing,) = module["k"].compiled.missing
    assert said in missing.reason and missing.line == 5
    assert module["other"][1, 1]().completed


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("%f1", "argument or result 1: %f1 is a register of .f32; expected .u32"),
        ("%rd1", "argument or result 1: %rd1 is a register of .b64, 64 bits"),
        ("0f3F800000", "argument or result 1: a floating-point constant cannot be an operand of .u32"),
    ],
)
def test_arguments_of_calls_must_have_the_parameters_type(argument, said):
    function = ".func f(.param .u32 a) { ret; }\n"
    text = f"{HEAD}{function}.entry k() {{ {REGISTERS}\ncall f, ({argument});\nret; }}"
    (missing,) = we.ptx.Module(text)["k"].compiled.missing
    assert said in missing.reason and missing.line == 6


def test_an_instruction_that_the_target_chip_lacks_is_refused_on_a_later_chip():
    text = f"{HEAD}.entry k() {{ {REGISTERS}\nsub.bf16x2 %r1, %r2, %r3;\nret; }}"
    assert we.ptx.Module(text)["k"].compiled.missing == ()
    (missing,) = we.ptx.Module(text.replace("sm_90", "sm_80"))["k"].compiled.missing
    assert "sm_80 (Ampere) has no sub.bf16x2" in missing.reason and "the PTX source has .target sm_80" in missing.reason


def test_an_illegal_instruction_is_not_folded_away():
    """A quotient that is fused into a sum disappears, but its operands are still checked."""
    line = "mov.f32 %f1, 0f3F800000; div.approx.f32 %f2, %f1, 47; add.f32 %f3, %f2, %f1; st.global.f32 [%rd1], %f3;"
    (missing,) = we.ptx.Module(f"{HEAD}.entry k() {{ {REGISTERS}\n{line}\nret; }}")["k"].compiled.missing
    assert "the integer 47 cannot be an operand of .f32" in missing.reason


@pytest.mark.parametrize("number", ["0xEA", "0x1EA", "-22"])
def test_a_table_of_lop3_is_taken_modulo_256(number):
    text = f"""{HEAD}.entry k(.param .u64 p) {{ .reg .b64 %a; .reg .b32 %r<5>; ld.param.u64 %a, [p];
        ld.global.v4.b32 {{%r1, %r2, %r3, %r4}}, [%a]; lop3.b32 %r4, %r1, %r2, %r3, {number};
        st.global.b32 [%a+12], %r4; ret; }}"""
    data = np.array([0xF0, 0xCC, 0xAA, 0], np.uint32)
    we.ptx.Module(text)["k"][1, 1](data)
    assert data[3] & 0xFF == 0xEA
