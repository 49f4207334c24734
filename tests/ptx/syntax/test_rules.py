# SPDX-License-Identifier: MIT
"""The syntax of PTX in the parser's view, one rule for each test."""

import pytest

from wmma_emu.errors import PtxSyntaxError
from wmma_emu.ptx.syntax.parser import parse
from wmma_emu.ptx.syntax.tree import (
    Address,
    Directive,
    Guard,
    InstructionText,
    Label,
    Literal,
    Name,
    Pair,
    Scope,
    Vector,
)

HEAD = ".version 8.0\n.target sm_80\n"


def statements(text):
    return parse(f"{HEAD}.entry k() {{\n{text}\n}}").functions[0].body


def operand(text):
    return statements(f"op {text};")[0].operands[0]


def test_a_module_begins_with_its_version_and_target():
    module = parse(".version 9.1\n.target sm_100a\n")
    assert (module.version, module.target, module.address_size) == ("9.1", ("sm_100a",), 64)
    with pytest.raises(PtxSyntaxError, match=r"expected '\.version' at the start of the source"):
        parse(".target sm_80")


def test_an_entry_is_a_kernel_and_a_func_is_a_function():
    kernel, function = parse(HEAD + ".visible .entry k(.param .u64 p) { ret; }\n.func (.reg .b32 r) f;").functions
    assert (kernel.is_kernel, kernel.name, kernel.attributes) == (True, "k", ("visible",))
    assert (function.is_kernel, function.name, function.body) == (False, "f", None)


def test_an_opcode_is_a_mnemonic_and_its_modifiers():
    (found,) = statements("ld.global.L1::no_allocate.v4.f32 a, b;")
    assert (found.mnemonic, found.modifiers) == ("ld", ("global", "L1::no_allocate", "v4", "f32"))


def test_a_guard_is_a_predicate_register_or_its_complement():
    taken, skipped = statements("@%p1 ret; @!%p1 ret;")
    assert (taken.guard, skipped.guard) == (Guard("%p1", False), Guard("%p1", True))


def test_the_line_and_column_of_an_instruction_are_counted_from_one():
    assert statements("\n  ret;") == (InstructionText("ret", (), (), None, 5, 3),)


def test_an_integer_is_decimal_hexadecimal_octal_or_binary():
    assert [operand(x) for x in ("31", "0x1F", "037", "0b11111")] == [Literal("int", 31)] * 4


def test_a_floating_point_number_is_a_double_or_a_bit_pattern():
    assert operand("1.5") == Literal("f64", 0x3FF8_0000_0000_0000)
    assert operand("0f3F800000") == Literal("f32", 0x3F80_0000)


def test_a_constant_expression_binds_as_in_c():
    assert operand("(1 << 4) | 3 * 2 + 1") == Literal("int", 23)
    assert operand("5 > 3 ? 1 : 2") == Literal("int", 1)


def test_division_of_integers_rounds_toward_zero():
    assert operand("-7 / 2") == Literal("int", -3)
    assert operand("-7 % 3") == Literal("int", -1)


def test_an_address_is_in_brackets_and_its_offset_is_added():
    assert operand("[%rd1 + 16]") == Address(Name("%rd1"), 16)
    assert operand("[tile]") == Address(Name("tile"))
    with pytest.raises(PtxSyntaxError, match=r"expected '\+' before the offset, as in \[%rd1 \+ -8\]"):
        operand("[%rd1 - 8]")


def test_braces_enclose_a_vector_and_a_bar_separates_two_results():
    assert operand("{%r1, _, 3}") == Vector((Name("%r1"), Name("_"), Literal("int", 3)))
    assert operand("%r1|%p1") == Pair(Name("%r1"), Name("%p1"))


def test_one_declaration_may_declare_many_registers():
    (found,) = statements(".reg .b32 %r<5>;")
    assert (found.space, found.type, found.name, found.count) == ("reg", "b32", "%r", 5)


def test_a_variable_has_a_state_space_a_type_an_alignment_and_sizes():
    (found,) = parse(HEAD + ".shared .align 16 .b8 tile[2][64];").variables
    assert (found.space, found.type, found.alignment, found.sizes) == ("shared", "b8", 16, (2, 64))


def test_an_initial_value_names_the_elements_that_it_fills():
    (found,) = parse(HEAD + ".global .u32 x[2][3] = {{1}, {2, 3}};").variables
    assert (found.initial, found.positions) == (tuple(Literal("int", x) for x in (1, 2, 3)), (0, 3, 4))


def test_braces_between_statements_are_a_scope_and_a_name_with_a_colon_is_a_label():
    assert statements("L: { ret; }") == (Label("L", 4, 1), Scope((InstructionText("ret", (), (), None, 4, 6),), 4))


def test_a_loc_directive_keeps_its_words():
    assert statements(".loc 1 20 3") == (Directive("loc", ("1", "20", "3"), 4),)


def test_names_are_not_resolved_and_opcodes_are_not_checked():
    assert statements("frobnicate undeclared;")[0].operands == (Name("undeclared"),)


def test_an_error_states_the_position_the_token_found_and_the_token_expected():
    with pytest.raises(PtxSyntaxError) as error:
        statements("add.s32 %r1, %r2 %r3;")
    assert str(error.value).splitlines()[0] == "line 4, column 18: found '%r3'; expected ',' or ';' after an operand"
    assert (error.value.line, error.value.column) == (4, 18)
