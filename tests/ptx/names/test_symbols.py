# SPDX-License-Identifier: MIT
"""Names and types from PTX symbols and declarations alone."""

import pytest

from wmma_emu.ptx.names import ModuleNames, VariableNames
from wmma_emu.ptx.names.symbols import plain_symbol

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("_ZZ8reversedE4tile", "tile"),
        ("_ZZ1kIfLi8EEvPT_PK1PiE2Bs", "Bs"),
        ("_ZZ1kPfE3one_0", "one"),
        ("_ZZ1kPfE3one__10_", "one"),
        ("_ZZN2ns1kEPfE4tile", "tile"),
        ("_ZZZ1kvENKUlvE_clEvE4tile", "tile"),
        ("_ZZN39_GLOBAL__N__4a5d2c1e_4_k_cu_7f1c2d3e_121kEPfE4tile", "tile"),
        ("_ZN3foo3barE", "foo::bar"),
        ("_ZN12_GLOBAL__N_17counterE", "counter"),
        ("_ZL7factors", "factors"),
        ("_ZN4NodeIfLi4EE5countE", "Node<float, 4>::count"),
        ("global_smem", "global_smem"),
        ("_cudapy_smem_1", "_cudapy_smem_1"),
        ("_Z", "_Z"),
        ("_ZZ", "_ZZ"),
        ("_ZZ999999k", "_ZZ999999k"),
    ],
)
def test_a_symbol_gives_the_source_name(symbol, expected):
    assert plain_symbol(symbol) == expected


def names(text, kernel="k"):
    return VariableNames(ModuleNames(HEAD + text), kernel)


@pytest.mark.parametrize(
    ("declaration", "offset", "size", "expected"),
    [
        (".shared .f32 s[64];", 252, 4, "s[63]"),
        (".shared .b32 s[4][16];", 252, 4, "s[3][15]"),
        (".shared .align 4 .b8 s[256];", 252, 4, "s + 252 bytes"),
        (".shared .v4 .f32 s[4];", 36, 4, "s[2].y"),
        (".shared .u64 s;", 0, 8, "s"),
        (".shared .u64 s;", 4, 4, "s + 4 bytes"),
        ("{ .shared .f16 s[8]; }", 4, 2, "s[2]"),
    ],
)
def test_a_ptx_declaration_gives_elements_unless_its_type_is_bytes(declaration, offset, size, expected):
    variable = names(f".visible .entry k() {{ {declaration} ret; }}").variable("shared", "s")
    assert variable.element(offset, size) == expected


def test_dynamic_shared_memory_of_a_type_has_elements():
    text = ".extern .shared .f32 s[]; .extern .shared .align 16 .b8 raw[]; .visible .entry k() { ret; }"
    found = names(text)
    assert found.variable("shared", "s").element(40, 4) == "s[10]"
    assert found.variable("shared", "raw").element(40, 4) == "raw + 40 bytes"


def test_variables_with_one_name_in_two_kernels_are_separate():
    text = ".visible .entry k() { .shared .f32 s[8]; ret; } .visible .entry m() { .shared .f64 s[8]; ret; }"
    assert [names(text, x).variable("shared", "s").element(8, 4) for x in "km"] == ["s[2]", "s[1]"]


def test_variables_with_one_name_and_two_types_in_one_kernel_have_positions_in_bytes():
    text = ".visible .entry k() { { .shared .f32 s[8]; } { .shared .f64 s[8]; } ret; }"
    assert names(text).variable("shared", "s").element(8, 4) == "s + 8 bytes"


def test_an_undeclared_symbol_is_not_a_variable():
    found = names(".global .u32 x; .visible .entry k() { ret; }")
    assert found.variable("shared", "x") is None
    assert found.variable("global", "y") is None
    assert found.parameter(0) is None
    assert names("this is not PTX").variable("global", "x") is None
