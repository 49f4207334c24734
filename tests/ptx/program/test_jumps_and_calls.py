# SPDX-License-Identifier: MIT
import pytest

from wmma_emu.errors import PtxSyntaxError
from wmma_emu.ptx.program.build import program_of
from wmma_emu.ptx.program.program import (
    AddressOperand,
    Immediate,
    LabelTarget,
    ParameterCopy,
    Predicate,
    Register,
    Symbol,
)

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def kernel(text, name="k"):
    return program_of(HEAD + text).kernels[name]


def test_a_label_is_the_index_of_the_next_instruction():
    found = kernel(".entry k() { .reg .pred p; A: B: op; @!p bra.uni C; bra A; op; C: ret; bra B; }").instructions
    assert [x.opcode for x in found] == ["op", "bra.uni", "bra", "op", "ret", "bra"]
    assert [x.operands for x in found if x.mnemonic == "bra"] == [
        (LabelTarget(4, "C"),),
        (LabelTarget(0, "A"),),
        (LabelTarget(0, "B"),),
    ]
    assert found[1].guard == Predicate(Register(0, "p", "pred"), True)


def test_a_jump_goes_to_the_innermost_visible_label():
    found = kernel(".entry k() { bra L; { bra L; L: op; { bra L; bra M; } } L: op; M: ret; }").instructions
    assert [x.operands[0].index for x in found if x.mnemonic == "bra"] == [5, 2, 2, 6]


def test_an_indexed_jump_has_all_targets_of_its_list():
    found = kernel(
        ".entry k() { .reg .b32 i; T: .branchtargets A, B, A; { A: brx.idx.uni i, T; } A: op; B: brx.idx i, T; ret; }"
    ).instructions
    assert [x.targets for x in found] == [(1, 2, 1), (), (1, 2, 1), ()]
    assert found[0].operands == (Register(0, "i", "b32"),)
    assert found[0].targets is found[2].targets


def test_a_body_without_a_final_jump_returns_at_its_closing_brace():
    found = kernel(".entry k() {\nop;\n\n}").instructions
    assert [(x.opcode, x.line) for x in found] == [("op", 5), ("ret", 7)]
    assert [x.opcode for x in kernel(".entry k() { }").instructions] == ["ret"]
    assert [x.opcode for x in kernel(".entry k() { .reg .pred p; @p ret; }").instructions] == ["ret", "ret"]
    assert [x.opcode for x in kernel(".entry k() { A: bra B; { { exit; } } B: }").instructions] == [
        "bra",
        "exit",
        "ret",
    ]
    for last in ("ret", "exit", "trap"):
        assert [x.opcode for x in kernel(f".entry k() {{ {{ {last}; }} }}").instructions] == [last]


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        ("op;\nbra L;", 6, "L is not a label of this scope or an enclosing one"),
        ("bra L;\n{ L: }", 5, "L is not a label of this scope or an enclosing one"),
        (".reg .b32 L;\nbra L;", 6, "L is a variable, not a label"),
        ("bra 5;", 5, "bra expects a label"),
        ("bra;", 5, "bra expects a label"),
        ("bra a, b;", 5, "bra expects a label"),
        (".reg .b32 i;\nbrx.idx i, L;", 6, "L is not a list of labels; declare one with .branchtargets"),
        (".reg .b32 i;\nbrx.idx i, L; A: L: .branchtargets A;", 6, "L is not a list of labels"),
        ("brx.idx L;", 5, "brx expects a register and a list of labels"),
        ("op; T: .branchtargets A,\nB; A:", 6, "B is not a label of this scope or an enclosing one"),
        ("T: .branchtargets A B; A: B:", 5, "found B in a list of labels; expected labels and ','"),
        ("T: .branchtargets A, 5; A:", 5, "found 5 in a list of labels"),
        ("T: T:", 5, "T is declared twice"),
        ("bra second;\nbra first;", 5, "second is not a label"),
    ],
)  # fmt: skip
def test_jumps_without_a_target_are_refused(body, line, message):
    with pytest.raises(PtxSyntaxError) as error:
        kernel(f".entry k() {{\n{body}\n}}")
    assert message in error.value.message
    assert error.value.line == line


IN_MEMORY = """.func (.param .align 8 .b8 r[16]) f(.param .b32 a, .param .b64 b) {
.reg .b32 %r<3>; .local .b32 own; ld.param.b32 %r1, [a]; st.param.b32 [r+8], %r1; st.local.b32 [own], %r1; ret; }
.entry k() { .reg .pred p; .local .b8 l[4]; {
.param .b32 x; .param .b64 y; .param .align 8 .b8 z[16]; @p call.uni (z), f, (x, y); } }
"""


def test_arguments_in_memory_are_copied_into_the_frame_of_the_function():
    found = kernel(IN_MEMORY)
    call, _, load, store = found.instructions[:4]
    assert (call.opcode, call.callee, call.callee_name, call.operands) == ("call.uni", 2, "f", ())
    places = {x.name: (x.offset, x.bytes) for x in found.symbols}
    assert places == {
        "l": (0, 4), "x": (4, 4), "y": (8, 8), "z": (16, 16), "r": (32, 16), "a": (48, 4), "b": (56, 8), "own": (64, 4),
    }  # fmt: skip
    assert call.copies_in == (ParameterCopy(4, 48, 4), ParameterCopy(8, 56, 8))
    assert call.copies_out == (ParameterCopy(32, 16, 16),)
    assert load.operands[1] == AddressOperand(Symbol("local", 48, "a", 4))
    assert store.operands[0] == AddressOperand(Symbol("local", 32, "r", 16), 8)
    assert found.local_bytes == 68
    assert found.functions == (("k", 0, 2), ("f", 2, 6))
    assert call.guard == Predicate(Register(0, "p", "pred"), False)


def test_parameters_of_consecutive_scopes_share_memory():
    text = ".func f(.param .b64 a) { ret; } .entry k() { " + "{ .param .b64 x; call f, (x); } " * 3 + "}"
    found = kernel(text)
    assert [x.copies_in for x in found.instructions[:3]] == [(ParameterCopy(0, 8, 8),)] * 3
    assert found.local_bytes == 16
    inside = kernel(".entry k() { { .param .b64 x; { .param .b64 y; op x, y; } { .param .b64 z; op x, z; } } }")
    assert [[y.offset for y in x.operands] for x in inside.instructions[:2]] == [[0, 8], [0, 8]]


def test_registers_as_parameters_are_moved():
    found = kernel(
        ".func (.reg .b32 r, .reg .pred q) f(.reg .f32 a, .reg .u16 b) { mov.b32 r, a; ret; }\n"
        ".entry k() { .reg .b32 %r<3>; .reg .s16 %h<3>; .reg .pred p;\n@p call (%r1, p), f, (0f3F800000, %h2); ret; }"
    ).instructions
    assert [x.opcode for x in found] == ["mov.f32", "mov.b16", "call", "mov.b32", "mov.pred", "ret", "mov.b32", "ret"]
    assert all(x.guard == found[2].guard and x.line == 6 for x in found[:5])
    assert found[0].operands[1] == Immediate("f32", 0x3F800000)
    assert found[1].operands[1].name == "%h2"
    assert [x.name for x in found[3].operands] == ["%r1", "r"]
    assert [x.name for x in found[4].operands] == ["p", "q"]
    assert found[2].callee == 6
    assert found[6].operands == (found[3].operands[1], found[0].operands[0])


def test_values_pass_between_registers_and_memory_by_loads_and_stores():
    found = kernel(
        ".func (.param .b32 r) f(.param .f32 a) { ret; } .func (.reg .b32 r) g(.reg .b64 a) { ret; }\n"
        ".entry k() { .reg .b32 %r<3>; .param .b64 x; .param .b32 y; call (%r1), f, (1.5); call (y), g, (x); ret; }"
    ).instructions
    assert [x.opcode for x in found[:6]] == [
        "st.param.f32",
        "call",
        "ld.param.b32",
        "ld.param.b64",
        "call",
        "st.param.b32",
    ]
    assert found[0].operands[0].base.name == "a"
    assert found[2].operands[1].base.name == "r"


def test_functions_are_appended_once_and_only_if_they_are_called():
    module = program_of(
        HEAD + ".func a; .func b { call a; ret; } .func a { op; ret; } .func unused { ret; }\n"
        ".entry k() { call b; call a; call b; } .entry j() { ret; } .alias c, a; .entry i() { call c; }"
    )
    k = module.kernels["k"]
    assert k.functions == (("k", 0, 4), ("b", 4, 6), ("a", 6, 8))
    assert [x.callee for x in k.instructions if x.mnemonic == "call"] == [4, 6, 4, 6]
    assert module.kernels["j"].functions == (("j", 0, 1),)
    assert [(x.callee, x.callee_name) for x in module.kernels["i"].instructions[:1]] == [(2, "a")]


def test_an_alias_may_be_declared_before_it_is_given():
    found = kernel(
        ".func (.param .b32 r) b(.param .b32 x); .func (.param .b32 r) a(.param .b32 x) { op; ret; } "
        ".entry k() { .reg .b32 %r; call (%r), b, (%r); } .alias b, a;"
    )
    assert [x[0] for x in found.functions] == ["k", "a"]
    with pytest.raises(PtxSyntaxError, match="b is declared twice"):
        program_of(HEAD + ".func b; .func a { } .alias b, a; .alias b, a;")


def test_functions_of_the_driver_have_no_index_and_keep_their_arguments():
    found = kernel(
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a); "
        ".extern .func (.param .b64 p) malloc(.param .b64 n);\n"
        ".entry k() { .reg .b64 %rd<2>; .param .b64 x; .param .b64 y; .param .b32 z;\n"
        "call.uni (z), vprintf, (x, y); call (%rd1), malloc, (64); }"
    ).instructions
    x, y, z = Symbol("local", 0, "x", 8), Symbol("local", 8, "y", 8), Symbol("local", 16, "z", 4)
    assert (found[0].callee, found[0].callee_name, found[0].operands) == (None, "vprintf", (z, x, y))
    assert found[0].copies_in == found[0].copies_out == ()
    assert (found[1].callee_name, found[1].operands) == ("malloc", (Register(0, "%rd1", "b64"), Immediate("int", 64)))


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (".entry k() { call f; }", PtxSyntaxError, "f is not a function; declare it with .func before the call"),
        (".global .b32 g; .entry k() { call g; }", PtxSyntaxError, "g is not a function"),
        (".entry k() { call k; }", PtxSyntaxError, "k is a kernel (.entry), which cannot be called"),
        (".func f(.param .b32 a) { } .entry k() { call f; }", PtxSyntaxError, "the call has 0 arguments; f declares 1"),
        (".func f { } .entry k() { .reg .b32 r; call (r), f; }", PtxSyntaxError, "the call has 1 result; f declares 0"),
        (".extern .func v(.param .b32 a); .entry k() { call v; }", PtxSyntaxError, "0 arguments; v declares 1"),
        (
            ".func f(.param .b32 a) { } .entry k() { .param .b64 x; call f, (x); }",
            PtxSyntaxError,
            "x has 8 bytes, a has 4",
        ),
        (".func f(.param .b32 a) { } .entry k() { call f, (_); }", PtxSyntaxError, "_ cannot be an argument of a call"),
        (
            ".func f(.param .b32 a) { } .entry k(.param .b32 n) { call f, (n); }",
            PtxSyntaxError,
            "n is a parameter of the kernel",
        ),
        (
            ".shared .b32 s; .func f(.param .b32 a) { } .entry k() { call f, (s); }",
            PtxSyntaxError,
            "s is a .shared variable; arguments and results are",
        ),
        (
            ".func f(.param .b32 a) { } .entry k() { .reg .v2 .b32 v; call f, (v); }",
            PtxSyntaxError,
            "the parameter a is .b32; expected a vector with the same elements",
        ),
        (
            ".func (.param .b32 a) f { } .entry k() { call (%tid.x), f; }",
            PtxSyntaxError,
            "the result of a call has to be a register or a .param variable",
        ),
        (
            ".func f(.param .b32 a, .param .b32 a) { } .entry k() { call f, (1, 2); }",
            PtxSyntaxError,
            "a is declared twice",
        ),
        (
            ".func f(.reg .b32 a<5>) { } .entry k() { call f, (1); }",
            PtxSyntaxError,
            "a<...>: a parameter has to be one register",
        ),
        (".func f { } .func f { }", PtxSyntaxError, "f is defined twice, first in line 4"),
        (".func f { } .global .b32 f;", PtxSyntaxError, "f is declared twice, first in line 4"),
        (".alias a, b;", PtxSyntaxError, "the alias a names b; expected a function"),
        (".func f { } .alias f, f;", PtxSyntaxError, "f is declared twice"),
    ],
)
def test_calls_that_cannot_be_made_are_refused(text, error, message):
    with pytest.raises(error) as found:
        program_of(HEAD + text)
    assert message in str(found.value)
    assert str(found.value).startswith("line ")


def test_names_in_uncalled_functions_are_checked_but_unsupported_instructions_are_not_an_error():
    with pytest.raises(PtxSyntaxError, match="the name x is not declared"):
        program_of(HEAD + ".func f { op x; } .entry k() { ret; }")
    assert list(program_of(HEAD + ".func f { .reg .b64 a; call a; } .entry k() { ret; }").kernels) == ["k"]
