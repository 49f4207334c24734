# SPDX-License-Identifier: MIT
"""An unsupported instruction refuses the kernels that contain it, and no others."""

import time

import pytest

from wmma_emu.errors import PtxSyntaxError, UnsupportedInstructionError
from wmma_emu.ptx.program.build import program_of
from wmma_emu.ptx.program.faults import TextPosition, position_of_name
from wmma_emu.ptx.program.program import Missing

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
GOOD = "\n.entry good() { ret; }"


def refusals(text):
    """Return the refusals of the refused kernels."""
    kernels = program_of(HEAD + text + GOOD).kernels
    assert not kernels["good"].refusals
    return {name: x.refusals for name, x in kernels.items() if x.refusals}


@pytest.mark.parametrize(
    "text",
    [
        ".func f { } .entry k() { L: ret; T: .branchtargets L;\nbrx.idx f, T; }",
        ".func f { } .entry k() {\n@f ret; }",
        ".func f { } .entry k() { .reg .b64 a;\nadd.u64 a, a, f; }",
    ],
)
def test_only_mov_takes_the_address_of_a_function(text):
    with pytest.raises(PtxSyntaxError, match=r"line 5, .*f is a function; mov.u64 takes its address"):
        program_of(HEAD + text)


@pytest.mark.parametrize(
    ("text", "opcode", "line", "reason"),
    [
        (
            ".func f(.reg .b32 n) { call f, (n); } .entry k() { call f, (3); }",
            ".func",
            4,
            "recursion: f may be called while it is running, and has .reg parameters; declare",
        ),
        (".entry k() {\n.reg .b64 a; call a; }", "call", 5, "the call goes to the address in a: a list of functions"),
        (
            ".entry k() { .reg .b64 %rd<2>;\nP: .callprototype _ (.reg .b32 _);\ncall.uni %rd1, (1), P; }",
            "call.uni",
            6,
            "a function with .reg parameters is called through an address; declare them .param",
        ),
        (
            ".func f; .entry k() { .reg .b64 a; T: .calltargets f;\ncall a, (), T; }",
            "call",
            5,
            "f, in a list of functions, is not defined in this source",
        ),
        (
            ".func f; .entry k() { .reg .b64 a;\nmov.b64 a, f; }",
            "mov.b64",
            5,
            "the address of f is used, which is a function without a body; link the PTX that defines it",
        ),
        (
            ".entry j() { } .entry k() { .reg .b64 a; mov.b64 a, j; }",
            "mov.b64",
            4,
            "the address of j is used, which is a kernel; kernels cannot be launched from kernels",
        ),
        (".entry k() { .tex .u64 t; }", ".tex", 4, ".tex variables are not supported"),
        (
            ".func f;\n.global .u64 v[2] = {f, f}; .entry k() { .reg .b64 a; mov.b64 a, v+8; }",
            ".global",
            5,
            "f, in the initial value of v, is a function without a body; link the PTX that defines it",
        ),
        (
            ".shared .b32 x; .const .u64 v = x; .entry k() { .reg .b64 a; ld.const.b64 a, [v]; }",
            ".const",
            4,
            "x, in the initial value of v, is in shared memory",
        ),
    ],
)
def test_a_kernel_is_refused_with_the_line_and_the_reason(text, opcode, line, reason):
    ((name, (found,)),) = refusals(text).items()
    assert (name, found.opcode, found.line) == ("k", opcode, line)
    assert reason in found.reason and "\n" not in found.reason


def test_every_refusal_of_a_kernel_and_of_its_functions_is_listed():
    text = """.func g; .func f { .reg .b64 a;
    call a;
    mov.b64 a, g; }
    .entry k() { .reg .b64 b;
    mov.b64 b, g;
    call f;
    mov.b64 b, 3; }
    .entry l() { call f; }"""
    found = refusals(text)
    assert [(x.opcode, x.line) for x in found["k"]] == [("mov.b64", 8), ("call", 5), ("mov.b64", 6)]
    assert [(x.opcode, x.line) for x in found["l"]] == [("call", 5), ("mov.b64", 6)]


def test_refused_instructions_are_left_out_and_jumps_find_their_labels():
    text = ".entry k() { .reg .b64 a; bra L; call a; mov.b64 a, k; L: T: .branchtargets L; ret; }"
    jump, ret = program_of(HEAD + text).kernels["k"].instructions
    assert (jump.operands[0].index, ret.mnemonic) == (1, "ret")


def test_variables_that_refer_to_the_address_of_a_function_refuse_their_kernels():
    text = """.func f;
    .global .u64 spare = 7;
    .global .u64 table[3] = {1, f, spare};
    .global .u64 outer[2] = {spare, generic(table)+8};
    .const .u64 outermost = outer;
    .entry a() { .reg .b64 x; ld.global.b64 x, [table]; }
    .entry b() { .reg .b64 x; ld.const.b64 x, [outermost]; ld.global.b64 x, [outer]; }
    .entry c() { .reg .b64 x; ld.global.b64 x, [spare]; }
    .func g { .reg .b64 x; ld.global.b64 x, [table]; } .entry d() { call g; }
    .entry e() { .global .u64 inner = outer; .reg .b64 x; ld.global.b64 x, [inner]; }"""
    reason = (
        "f, in the initial value of table, is a function without a body; "
        "link the PTX that defines it: module.link(other)"
    )
    assert refusals(text) == dict.fromkeys("abde", (Missing(".global", 6, reason),))


def test_the_address_of_a_function_is_zero_in_an_initial_value():
    module = program_of(HEAD + ".func f; .global .u64 x; .global .u64 v[4] = {1, f, x, 2};")
    assert module.global_bytes == bytes([0] * 8 + [1] + [0] * 23 + [2] + [0] * 7)
    assert [(offset, symbol.name) for offset, symbol, *_ in module.global_relocations] == [(24, "x")]


def test_names_after_a_refused_instruction_are_still_checked():
    with pytest.raises(PtxSyntaxError, match=r"line 5, .*the name x is not declared"):
        program_of(HEAD + ".func f { .reg .b64 a; call a;\nmov.b64 a, x; } .entry k() { ret; }")
    assert list(program_of(HEAD + ".func f { .reg .b64 a; call a; } .entry k() { ret; }").kernels) == ["k"]


@pytest.mark.thorough
def test_many_refusals_take_linear_time():
    def seconds(count):
        chain = "".join(f".global .u64 v{i} = v{i - 1};" for i in range(1, count))
        calls = ".reg .b64 a;" + "call a;" * count
        loops = "".join(f".func f{i}(.reg .b32 n) {{ call f{i + 1}, (n); call f0, (n); }} " for i in range(count))
        text = f".func f; .global .u64 v0 = f; {chain} .func f{count}(.reg .b32 n); .func f0(.reg .b32 n); {loops} "
        text += f".func f{count}(.reg .b32 n) {{ ret; }} "
        text += f".entry k() {{ {calls} call f0, (1); ld.global.b64 a, [v{count - 1}]; }}"
        started = time.perf_counter()
        found = refusals(text)["k"]
        taken = time.perf_counter() - started
        assert len(found) == 2 * count + 1
        return taken

    small = min(seconds(500) for _ in range(3))
    assert min(seconds(4000) for _ in range(2)) < 8 * 4 * small + 0.2


def test_refusals_of_functions_count_toward_the_limit_of_repeated_instructions(monkeypatch):
    monkeypatch.setattr("wmma_emu.ptx.program.build._MOST_REPEATED", 200)
    text = HEAD + ".func f { .reg .b64 a; " + "call a;" * 49 + "}"  # and a ret
    assert len(program_of(text + "".join(f".entry k{i}() {{ call f; }}" for i in range(4))).kernels) == 4
    with pytest.raises(UnsupportedInstructionError, match="the functions called by 5 kernels have 250 instructions"):
        program_of(text + "".join(f".entry k{i}() {{ call f; }}" for i in range(5)))


def test_a_name_is_searched_only_in_its_own_statement():
    lines = ("add.s32 %r1, %r2,", "  %r3; add.s32 %r4, %r5, %r6;", "add.s32 %r7, %r8, %r9;")
    assert position_of_name(lines, TextPosition(1, 1), "%r3") == TextPosition(2, 3)
    assert position_of_name(lines, TextPosition(1, 1), "%r4") == TextPosition(1, 1)  # after the semicolon
    assert position_of_name(lines, TextPosition(1, 1), "%r9") == TextPosition(1, 1)  # in the next statement
    assert position_of_name(lines, TextPosition(3, 1), "%r9") == TextPosition(3, 19)
