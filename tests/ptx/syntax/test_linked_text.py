# SPDX-License-Identifier: MIT
"""Sources that are linked into one: external, weak and local names, files, headers."""

import pytest

from wmma_emu.errors import ArgumentValueError, PtxSyntaxError
from wmma_emu.ptx.syntax.linked_text import linked

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def link(*texts):
    """Link sources called a, b, ..., and return the lines after the first header that are not empty."""
    found = linked([(name, HEAD + text) for name, text in zip("abc", texts, strict=False)])
    assert found.startswith(HEAD)
    return [x for x in found.removeprefix(HEAD).splitlines() if x.strip()]


def test_an_external_name_finds_its_definition_in_another_source():
    assert link(".extern .func f (.param .b32 x);", ".visible .func f (.param .b32 x) { ret; }") == [
        ".visible .func f (.param .b32 x);",
        ".visible .func f (.param .b32 x) { ret; }",
    ]
    assert link(".extern .global .b32 v[4];", ".visible .global .b32 v[4] = {1, 2};") == [
        ".visible .global .b32 v[4] = {1, 2};"
    ]


def test_an_external_name_without_a_definition_stays_external():
    assert link(".extern .func f;", ".extern .shared .b8 s[];") == [".extern .func f;", ".extern .shared .b8 s[];"]


def test_local_names_of_several_sources_are_separate():
    text = '.global .b32 v = 1;\n.func f { .reg .b64 v2; mov.u64 v2, v; call f; } // v stays here: "v"'
    assert link(text, text) == [
        *text.splitlines(),
        ".global .b32 v$1 = 1;",
        '.func f$1 { .reg .b64 v2; mov.u64 v2, v$1; call f$1; } // v stays here: "v"',
    ]


def test_a_local_name_that_another_source_defines_globally_gets_a_number():
    assert link(".func f { ret; }", ".visible .func f { trap; }", ".extern .func f;") == [
        ".func f$0 { ret; }",
        ".visible .func f { trap; }",
        ".visible .func f;",
    ]


def test_a_definition_takes_precedence_over_weak_ones_and_the_first_weak_one_over_others():
    weak, strong = ".weak .func f { ret; }", ".visible .func f { trap; }"
    assert link(weak, strong) == [".weak .func f ;", strong]
    assert link(weak, ".weak .func f { exit; }") == [weak, ".weak .func f ;"]
    assert link(".weak .global .b32 v = 1;", ".weak .global .b32 v = 2;") == [".weak .global .b32 v = 1;"]


@pytest.mark.parametrize("text", [".visible .func f { ret; }", ".visible .global .b32 f;", ".entry f() { ret; }"])
def test_two_definitions_are_refused_with_both_sources(text):
    with pytest.raises(ArgumentValueError, match="f is defined in a and in b, line 4"):
        link(text, text)


def test_lines_keep_their_distance_and_headers_are_joined():
    texts = [f".version {x}\n.target {y}\n.address_size 64\n.func f{y} {{\nret; }}\n" for x, y in
             (("8.0", "sm_80"), ("8.10", "sm_90a"), ("8.6", "sm_90"))]  # fmt: skip
    lines = linked([("x", text) for text in texts]).splitlines()
    assert lines[0:2] == [".version 8.10", ".target sm_90a"]
    assert [lines.index(f".func f{x} {{") for x in ("sm_80", "sm_90a", "sm_90")] == [3, 9, 15]


def test_files_are_numbered_through_all_sources():
    text = '.func f {\n.loc 2 7 1, function_name $L, inlined_at 1 2 3\nret; }\n.file 1 "x.cu"\n.file 2 "y.cuh"'
    assert link(text, text)[5:] == [
        ".func f$1 {", ".loc 4 7 1, function_name $L, inlined_at 3 2 3", "ret; }", '.file 3 "x.cu"', '.file 4 "y.cuh"',
    ]  # fmt: skip


def test_sources_with_other_addresses_and_sources_that_are_not_ptx_are_refused():
    with pytest.raises(ArgumentValueError, match="a has addresses of 64 bits, b of 32"):
        linked([("a", HEAD), ("b", HEAD.replace("64", "32"))])
    with pytest.raises(PtxSyntaxError):
        linked([("a", HEAD), ("b", "int main() {}")])
