# SPDX-License-Identifier: MIT
"""Sources that are linked declare a name alike; nvlink 13.0 accepts and refuses the same pairs."""

import pytest

from wmma_emu.errors import ArgumentValueError
from wmma_emu.ptx.program.linked_declarations import require_compatible

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def check(*texts):
    require_compatible([(name, HEAD + text) for name, text in zip("ab", texts, strict=True)])


@pytest.mark.parametrize(("one", "other"), [
    (".extern .global .b32 f;", ".visible .global .align 4 .f32 f;"),
    (".extern .global .b8 f[];", ".visible .global .b8 f[16];"),
    (".extern .func (.param .b32 r) f(.param .b32 x);", ".visible .func (.param .s32 r) f(.param .f32 x) { ret; }"),
    (".weak .entry f() { ret; }", ".weak .entry f() { ret; }"),
    (".global .b32 f;", ".visible .func f { ret; }"),
])  # fmt: skip
def test_equal_declarations_and_names_of_one_source_are_compatible(one, other):
    check(one, other)
    check(other, one)


@pytest.mark.parametrize(("one", "other", "why"), [
    (".extern .global .b8 f[16];", ".visible .global .b32 f;", "variable of 16 bytes in a, .* of 4 bytes in b"),
    (".weak .global .b32 f;", ".weak .global .b32 f[2];", "of 4 bytes in a, line 4, and a .global variable of 8 bytes"),
    (".extern .global .b32 f;", ".visible .const .b32 f;", "a .global variable of 4 bytes in a, .* a .const variable"),
    (".extern .global .b32 f;", ".visible .func f { ret; }", "a .global variable .* a function with no parameters"),
    (".weak .entry f() { ret; }", ".visible .func f { ret; }", "a kernel in a, line 4, and a function"),
    (
        ".extern .func (.param .b32 r) f(.param .b32 x);", ".visible .func (.param .b32 r) f(.param .b64 x) { ret; }",
        "parameters of 4 bytes and results of 4 bytes in a, .* parameters of 8 bytes and results of 4 bytes in b",
    ),
    (".extern .shared .b8 f[];", ".visible .global .b32 f;", "a .shared variable in a, .* a .global variable of 4"),
])  # fmt: skip
def test_other_declarations_are_refused_with_both_sources(one, other, why):
    with pytest.raises(ArgumentValueError, match=f"f is {why}.*; sources that are linked have to declare it alike" if
                       why[0] == "a" else why):  # fmt: skip
        check(one, other)
    with pytest.raises(ArgumentValueError, match="have to declare it alike"):
        check(other, one)
