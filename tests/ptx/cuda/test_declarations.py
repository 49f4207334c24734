# SPDX-License-Identifier: MIT
"""Where declarations of a C++ text begin and end, and which names they declare."""

import pytest

from wmma_emu.ptx.cuda.declarations import declarations_of
from wmma_emu.ptx.cuda.tokens import tokens_of


def declared(text):
    return [(x.kind, *sorted(x.names)) for x in declarations_of(tokens_of(text))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("template <auto F = [](int* p) -> int { return *p; }> struct X { int y; }; int z;",
         [("class", "X"), ("variable", "z")]),
        ("template <class T, int N = (3 > 2)> void f(T x); int z;", [("function", "f"), ("variable", "z")]),
        ("struct A { int x; } a, b;", [("class", "A", "a", "b")]),
        ("void N::M::f(int x) { } int z;", [("function", "M", "N"), ("variable", "z")]),
        ("int Box<3>::f() { return 1; }", [("function", "Box")]),
    ],
)  # fmt: skip
def test_a_declaration_ends_where_it_ends_and_declares_its_names(text, found):
    assert declared(text) == found


def test_the_name_of_a_type_of_pointers_to_functions_is_in_parentheses():
    [(kind, *names)] = declared("typedef void (*handler)(int);")
    assert kind == "alias" and "handler" in names
