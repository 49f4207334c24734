# SPDX-License-Identifier: MIT
import pytest

from wmma_emu.errors import PtxSyntaxError
from wmma_emu.ptx.syntax.parser import parse
from wmma_emu.ptx.syntax.tree import Address, Directive, Literal, Name

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def one(text):
    (found,) = parse(HEAD + text).variables
    return found


def numbers(*values):
    return tuple(Literal("int", x) for x in values)


def test_the_header_states_version_target_and_address_size():
    module = parse(".version 9.5\n.target sm_90a, texmode_independent, debug\n.address_size 32")
    assert (module.version, module.target, module.address_size) == (
        "9.5",
        ("sm_90a", "texmode_independent", "debug"),
        32,
    )
    assert parse(".version 8.0 .target sm_80").address_size == 64


def test_files_sections_and_aliases_are_read_in_any_order():
    module = parse(
        HEAD + '.file 1 "a b.cu", 1700000000, 4567\n.section .debug_info { .b32 $L__x+4\n .b8 1,2,3 $L: }\n'
        '.section .debug_macinfo {\t}\n.pragma "x";\n.func f;\n.alias g, f;\n.file 2 "c.h"'
    )
    assert module.files == {1: "a b.cu", 2: "c.h"}
    assert module.aliases == (("g", "f", 10, 1),)


def test_variables_have_space_type_alignment_sizes_and_attributes():
    found = one(".visible .global .attribute(.managed) .align 16 .b8 x[2][3*4];")
    assert (found.space, found.type, found.name, found.alignment, found.sizes) == ("global", "b8", "x", 16, (2, 12))
    assert found.attributes == ("visible", "managed")
    assert one(".extern .shared .align 16 .b8 s[];").sizes == (0,)
    assert one(".common .global .v4 .f32 v;").vector == 4
    assert one(".global.u32 x;").type == "u32"
    assert one(".weak .const .attribute(.unified(12, 0x3)) .u32 x;").attributes == ("weak", "unified")
    assert one(".const[2] .u32 x;").attributes == ("bank 2",)
    assert [x.name for x in parse(HEAD + ".shared .b32 a, b[2], c;").variables] == ["a", "b", "c"]
    assert one(".shared .b8 huge[1099511627776];").sizes == (2**40,)


def test_registers_may_be_declared_by_number():
    body = (
        parse(HEAD + ".entry k() { .reg .b32 %r<4294967295>, x; .reg .pred %p<0x10>; .reg.u64 y; }").functions[0].body
    )
    assert [(x.name, x.count, x.type) for x in body] == [
        ("%r", 4294967295, "b32"), ("x", None, "b32"), ("%p", 16, "pred"), ("y", None, "u64"),
    ]  # fmt: skip


def test_initial_values_are_listed_with_their_positions():
    assert one(".global .u32 x = 5;").initial == numbers(5)
    found = one(".global .u32 x[2][3] = { {1}, {2, 3} };")
    assert (found.initial, found.positions) == (numbers(1, 2, 3), (0, 3, 4))
    found = one(".global .u32 x[] = {1, 1+1, ~0 & 7};")
    assert (found.initial, found.sizes) == (numbers(1, 2, 7), (3,))
    found = one(".global .v2 .u32 x[][2] = {{{1, 2}, {3, 4}}, {{5, 6}}};")
    assert (found.sizes, found.positions) == ((2, 2), (0, 1, 2, 3, 4, 5))
    assert one(".global .u32 x[2] = {};").initial == ()
    found = one(".global .u64 x[5] = {a, a+4, generic(a), generic(a) - 8, b};")
    assert found.initial == (
        Name("a"), Address(Name("a"), 4, form="sum"), Address(Name("a"), form="generic"),
        Address(Name("a"), -8, form="generic"), Name("b"),
    )  # fmt: skip


def test_a_sparse_initial_value_takes_time_for_the_written_elements_only():
    found = one(".global .u8 x[3][1000000000] = {{1}, {2}, {3}};")
    assert found.positions == (0, 10**9, 2 * 10**9)


def test_kernels_and_functions_have_parameters_results_and_directives():
    module = parse(
        HEAD
        + ".visible .entry k(.param .u64 .ptr .global .align 16 a, .param .align 8 .b8 b[32], .param .u64 .ptr c)\n"
        '.reqntid 128, 1\n.maxntid 256, 1, 1 .minnctapersm 2 .maxnreg 64 .pragma "p";\n{ ret;\n}\n'
        ".weak .func (.param .b32 r) f (.reg .b32 x, .param .b64 y[]) .noreturn;\n"
        ".func .attribute(.unified(1, 2)) g { }\n.entry e;\n"
    )
    k, f, g, e = module.functions
    assert k.is_kernel
    assert [(x.name, x.alignment, x.sizes, x.attributes) for x in k.parameters] == [
        ("a", None, (), ("ptr", "ptr global", "ptr align 16")), ("b", 8, (32,), ()), ("c", None, (), ("ptr",)),
    ]  # fmt: skip
    assert [(x.name, x.arguments) for x in k.directives] == [
        ("reqntid", ("128", "1")), ("maxntid", ("256", "1", "1")), ("minnctapersm", ("2",)), ("maxnreg", ("64",)),
        ("pragma", ("p",)),
    ]  # fmt: skip
    assert (k.line, k.column, k.last_line) == (4, 10, 8)
    assert f.body is None and f.attributes == ("weak",) and f.directives == (Directive("noreturn", (), 9, None, 62),)
    assert [x.space for x in (*f.results, *f.parameters)] == ["param", "reg", "param"]
    assert g.body == () and g.attributes == ("unified",) and e.body is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: found the end of the source; expected '.version' at the start of the source"),
        ("ret;", "line 1, column 1: found 'ret'; expected '.version'"),
        (".version 8", "found '8'; expected a version of PTX"),
        (".version 8.0 .address_size 64", "expected '.target' after .version"),
        (".version 8.0 .target sm_80 .address_size 48", "found 48; expected an address size, 32 or 64"),
        (
            HEAD + "#include <x>",
            "line 4, column 1: found '#'; expected a kernel (.entry), a function (.func), a variable",
        ),
        (
            HEAD + ".entry k() {",
            "line 4, column 13: found the end of the source; expected '}' at the end of the function",
        ),
        (
            HEAD + ".entry k() { add.s32 %r1, %r2 %r3; }",
            "line 4, column 31: found '%r3'; expected ',' or ';' after an operand",
        ),
        (HEAD + ".entry k() { add..s32 a; }", "expected an opcode"),
        (HEAD + ".entry k() { add.s32 , a; }", "found ','; expected an operand"),
        (HEAD + ".entry k() { Add a; }", "found 'Add'; expected an opcode, such as add.s32"),
        (
            HEAD + ".entry k() { .b32 a; }",
            "found '.b32'; expected an instruction, or a directive of function bodies",
        ),
        (HEAD + ".entry k() { ; }", "found ';'; expected an instruction, a label"),
        (HEAD + ".entry k() { ld.b32 a, [%r1+%r2]; }", "found '%r2'; expected an offset that is a number"),
        (HEAD + ".entry k() { ld.b32 a, [%r1; }", "found ';'; expected ']'"),
        (HEAD + ".entry k() { ld.b32 a, x[%r1]; }", "found '%r1'; expected an index that is a number"),
        (HEAD + ".entry k() { mov a, {b, {c}}; }", "found '{'; expected an element of a vector"),
        (HEAD + ".entry k() { mov a, {b; }", "found ';'; expected '}' or ','"),
        (HEAD + ".entry k() { @5 ret; }", "found '5'; expected the predicate of a guard"),
        (HEAD + ".entry k() { call (5), f; }", "results of a call are registers or variables"),
        (HEAD + ".entry k() { call f, ([a]); }", "found '['; expected a register, a variable or a number"),
        (HEAD + ".entry k() { .branchtargets a; }", "expected a label before .branchtargets"),
        (HEAD + ".entry k() { .loc 1 x 3 }", "found 'x'; expected a number after .loc"),
        (HEAD + '.entry k() { .pragma "x" ret }', "expected ';' after a directive"),
        (HEAD + ".entry k() " + "{" * 300 + "}" * 300, "scopes nested more than 200 deep"),
        (
            HEAD + ".entry k() { .reg .b32 a[4]; }",
            "registers cannot be arrays; use a .local array, or declare %r<5> for five registers",
        ),
        (HEAD + ".entry k() { .reg a; }", "found 'a'; expected a type of a .reg variable"),
        (HEAD + ".entry k() { .reg .b33 a; }", "found '.b33'; expected an alignment, .v2, .v4, a type or a name"),
        (HEAD + ".entry k() { .reg .v8 .b32 a; }", "found '.v8'; expected an alignment, .v2, .v4, a type or a name"),
        (HEAD + ".entry k() { .reg .v2 .v2 .b32 a; }", "found '.v2'; expected an alignment"),
        (HEAD + ".entry k() { .reg .b32 .v2 a; }", "found '.v2'; expected the name of a variable"),
        (HEAD + ".entry k() { mov a, b - 1; }", "found '-'; expected '+' before the offset, as in [%rd1 + -8]"),
        (HEAD + ".entry k() { ld.b32 a, [b - 1]; }", "found '-'; expected '+' before the offset, as in [%rd1 + -8]"),
        (HEAD + ".entry k() { mov a, {b + 1, c}; }", "a name with an offset cannot be an element of a vector; add the"),
        (HEAD + ".entry k() { call f, (a + 1); }", "a name with an offset cannot be an argument of a call; add the"),
        (HEAD + ".entry k() { .reg .b32 %r<-1>; }", "found '-'; expected a number of registers"),
        (HEAD + ".entry k() { .reg .b32 %r<5; }", "found ';'; expected '>'"),
        (
            HEAD + ".entry k() { .reg .b32 a = 5; }",
            "found '='; expected ';': a .reg variable cannot have an initial value",
        ),
        (HEAD + ".entry k(.b32 a) {}", "found '.b32'; expected a parameter, .param or .reg"),
        (HEAD + ".entry k() .foo 5 {}", "found '.foo'; expected '{' and the body of the function"),
        (HEAD + ".global .align 3 .b8 x;", "found 3; expected an alignment, a power of two"),
        (HEAD + ".global .b8 x[-1];", "found -1; expected the size of an array, from 0"),
        (HEAD + ".global .b8 x[1.5];", "found a floating-point number; expected the size of an array, an integer"),
        (HEAD + ".global .b8 x[2][];", "only the first size of an array may be missing"),
        (HEAD + ".global .b8 x" + "[1]" * 33 + ";", "an array of more than 32 dimensions"),
        (
            HEAD + ".global .b8 x[2] = {1, 2, 3};",
            "line 4, column 27: too many initial values: the array has 2 elements",
        ),
        (HEAD + ".global .b8 x[2] = 5;", "found '5'; expected '{' of initial values"),
        (HEAD + ".global .b8 x[2][2] = {1, {2}};", "found '1'; expected '{' of initial values"),
        (HEAD + ".global .b8 x[2] = {0xFF(y)};", "masked addresses, as in 0xFF(name), are not supported"),
        (HEAD + ".section .debug {", "found the end of the source; expected '}' at the end of a section"),
        (HEAD + "/* open", "line 4, column 1: this comment is not closed; expected */"),
        (HEAD + '.pragma "open;', "found '\"'; expected a pragma"),
        (HEAD + "\u00a0", "line 4, column 1: found '\\xa0'"),
    ],
)
def test_source_that_is_not_ptx_is_refused_with_position_and_reason(text, message):
    with pytest.raises(PtxSyntaxError) as error:
        parse(text)
    assert message in str(error.value)


def test_an_error_shows_the_line_with_a_caret_below_the_position():
    with pytest.raises(PtxSyntaxError) as error:
        parse(HEAD + "\n.entry k() {\n\tadd.s32 %r1 %r2;\n}")
    assert (error.value.line, error.value.column, error.value.text) == (6, 14, "\tadd.s32 %r1 %r2;")
    assert str(error.value).split("\n")[1:] == ["    add.s32 %r1 %r2;", "                ^"]
    assert isinstance(error.value, ValueError)


@pytest.mark.thorough
def test_an_error_on_a_long_line_shows_the_text_around_it():
    with pytest.raises(PtxSyntaxError) as error:
        parse(HEAD + ".entry k() { " + "nop; " * 10**5 + "? " + "nop; " * 10**5)
    message = str(error.value).split("\n")
    assert len(max(message, key=len)) < 200
    assert message[1][message[2].index("^")] == "?"


def test_bytes_are_refused():
    with pytest.raises(PtxSyntaxError, match="expected PTX as a string, found bytes; decode bytes first"):
        parse(HEAD.encode())
