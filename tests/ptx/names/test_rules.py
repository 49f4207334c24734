# SPDX-License-Identifier: MIT
"""The rules of source names, one fact each: elements, members, bytes, symbols, declarations, references."""

import pytest

from wmma_emu.ptx.names import Member, ModuleNames, Type, Variable, VariableNames
from wmma_emu.ptx.names.references import name_of_reference, with_references
from wmma_emu.ptx.names.symbols import plain_symbol

FLOAT = Type("float", 4)
PAIR = Type("Pair", 8, members=(Member("x", 0, FLOAT), Member("y", 4, FLOAT)))
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def element(kind, offset, size=4):
    return Variable("v", kind).element(offset, size)


def names(text, kernel="k", **keywords):
    return VariableNames(ModuleNames(HEAD + text), kernel, **keywords)


def test_bytes_of_an_array_are_an_element():
    assert element(FLOAT.array(64), 252) == "v[63]"
    assert element(FLOAT.array(4, 16), 4 * (3 * 16 + 15)) == "v[3][15]"


def test_bytes_of_a_structure_are_a_member():
    assert element(PAIR, 4) == "v.y"
    assert element(PAIR.array(5), 20) == "v[2].y"


def test_bytes_of_several_elements_are_a_range():
    assert element(FLOAT.array(64), 32, 16) == "v[8..11]"


def test_bytes_of_several_members_or_rows_name_the_first_and_the_last():
    assert element(PAIR.array(5), 12, 8) == "v[1].y to v[2].x"
    assert element(FLOAT.array(4, 4), 12, 8) == "v[0][3] to v[1][0]"


def test_a_part_of_an_element_is_counted_in_bytes_from_its_start():
    assert element(FLOAT.array(64), 9, 1) == "v[2] + 1 byte"


def test_an_element_beyond_the_bounds_of_an_array_keeps_its_index():
    assert element(FLOAT.array(64), 256) == "v[64]"
    assert element(FLOAT.array(64), -4) == "v[-1]"


def test_a_variable_of_unknown_type_names_positions_in_bytes():
    assert element(None, 0) == "v"
    assert element(None, 252) == "v + 252 bytes"


@pytest.mark.parametrize(("symbol", "name"), [
    ("_ZZ8reversedE4tile", "tile"), ("_ZN3foo3barE", "foo::bar"), ("_ZN12_GLOBAL__N_17counterE", "counter"),
    ("_ZZ1kPfE3one_0", "one"), ("global_smem", "global_smem"),
])  # fmt: skip
def test_the_name_of_a_symbol_has_neither_its_function_nor_an_unnamed_namespace(symbol, name):
    assert plain_symbol(symbol) == name


def test_a_ptx_declaration_gives_elements():
    found = names(".visible .entry k() { .shared .f32 s[4][64]; ret; }").variable("shared", "s")
    assert found.element(508, 4) == "s[1][63]"


def test_an_array_of_bytes_has_no_elements_since_compilers_declare_all_arrays_so():
    found = names(".visible .entry k() { .shared .align 4 .b8 s[256]; ret; }").variable("shared", "s")
    assert found.element(252, 4) == "s + 252 bytes"


def test_variables_of_two_kernels_are_separate_and_a_kernel_hides_the_module():
    text = ".shared .f64 s[8]; .visible .entry k() { .shared .f32 s[8]; ret; } .visible .entry m() { ret; }"
    assert [names(text, x).variable("shared", "s").element(8, 4) for x in "km"] == ["s[2]", "s[1]"]


def test_a_symbol_is_a_variable_only_of_the_space_that_declares_it():
    found = names(".global .u32 x; .visible .entry k() { ret; }")
    assert found.variable("global", "x").name == "x"
    assert found.variable("shared", "x") is None


def test_a_parameter_without_a_name_is_called_by_its_position():
    found = names(".visible .entry k() { ret; }", parameters=[Variable("", FLOAT.array(0))])
    assert found.parameter_names == ("",)
    assert found.parameter(0).element(8, 4) == "argument 0[2]"
    assert found.parameter(1) is None


def test_a_text_that_is_not_ptx_has_no_variables():
    assert names("this is not PTX").variable("global", "x") is None


def test_a_reference_is_added_to_each_shared_variable_of_a_function_in_its_own_line():
    source = "void k() {\n__shared__ float a[4], *b;\n}"
    assert with_references(source).splitlines() == [
        "void k() {",
        "__shared__ float a[4], *b; auto& wmma_emu_0_a = a; auto& wmma_emu_1_b = b;",
        "}",
    ]


@pytest.mark.parametrize("source", [
    "__shared__ int outer[12];", "void k() { extern __shared__ float s[]; }", "void k() { // __shared__ int a;\n}",
])  # fmt: skip
def test_variables_outside_functions_dynamic_memory_and_comments_have_no_references(source):
    assert with_references(source) == source


def test_a_reference_names_its_number_and_its_variable():
    assert name_of_reference("wmma_emu_3_As") == (3, "As")
    assert name_of_reference("As") is None
