# SPDX-License-Identifier: MIT
import struct
from itertools import pairwise

import pytest

from wmma_emu.errors import PtxSyntaxError, UnsupportedInstructionError
from wmma_emu.ptx.program.build import program_of
from wmma_emu.ptx.program.program import Parameter, Symbol

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def module(text):
    return program_of(HEAD + text)


def kernel(text):
    return module(text).kernels["k"]


def test_parameters_are_laid_out_by_alignment():
    found = kernel(
        ".entry k(.param .u8 a, .param .u16 b, .param .u64 .ptr .global .align 16 c, .param .u8 d, "
        ".param .align 16 .b8 e[20], .param .f32 f, .param .align 4 .b8 g[3]) { }"
    )
    assert found.parameters == (
        Parameter("a", "u8", 1, 1, 0), Parameter("b", "u16", 2, 2, 2),
        Parameter("c", "u64", 8, 8, 8, True, "global", 16), Parameter("d", "u8", 1, 1, 16),
        Parameter("e", "b8", 20, 16, 32),
        Parameter("f", "f32", 4, 4, 52), Parameter("g", "b8", 3, 4, 56),
    )  # fmt: skip
    assert found.parameter_bytes == 59
    assert kernel(".entry k() { }").parameter_bytes == 0


def test_block_and_cluster_sizes_are_kept():
    found = kernel(".entry k() .reqntid 128 .reqnctapercluster 2, 1, 1 { }")
    assert (found.required_block, found.max_block, found.required_cluster) == ((128, 1, 1), None, (2, 1, 1))
    assert kernel(".entry k() .maxntid 16, 8 { }").max_block == (16, 8, 1)


def test_shared_variables_are_allocated_at_first_use_and_dynamic_ones_come_last():
    text = (
        ".shared .align 4 .b8 a[5]; .shared .f64 unused[100];\n"
        ".extern .shared .align 16 .b8 d[]; .extern .shared .b32 e[]; .shared .align 8 .b8 c[3];\n"
        ".entry k() { .shared .b16 own; op d+4; op c, a, own, [e], d; }\n"
        ".entry j() { op a; } .entry i() { op d; } .entry h() { ret; }"
    )
    found = kernel(text)
    assert [(x.offset, x.name, x.bytes) for x in found.instructions[1].operands[:3]] == [
        (0, "c", 3),
        (132, "a", 5),
        (266, "own", 2),
    ]
    assert found.shared_span == 400
    assert (found.shared_bytes, found.dynamic_offset) == (12, 16)
    assert found.instructions[0].operands == (Symbol("shared", 404, "d+4", 0),)
    assert found.instructions[1].operands[3].base == Symbol("shared", 400, "e", 0)
    assert found.instructions[1].operands[4] == Symbol("shared", 400, "d", 0)
    later = program_of(HEAD + text, 1024).kernels["k"]
    assert {(x.name, x.offset - y.offset) for x, y in zip(later.symbols, found.symbols, strict=True)} == {
        (x.name, 1024) for x in found.symbols
    }
    assert (later.shared_begin, later.shared_span, later.shared_bytes, later.dynamic_offset) == (1024, 1424, 12, 16)
    kernels = module(text).kernels
    assert [(kernels[x].shared_bytes, kernels[x].dynamic_offset) for x in "jih"] == [(5, None), (0, 0), (0, None)]


def test_a_terabyte_of_shared_memory_can_be_declared():
    assert kernel(".shared .b8 s[1099511627776]; .entry k() { op s; }").shared_bytes == 2**40
    assert kernel(".entry k() { .local .b8 s[1099511627776]; }").local_bytes == 2**40


def test_variables_of_the_module_have_offsets_and_initial_bytes():
    found = module(
        ".global .u8 a = 300; .global .align 8 .u16 b[3] = {1, -2}; .global .f32 c[2] = {1.5, 0fC0000000}; "
        ".global .b32 d = 0f3F800000;\n"
        ".global .v2 .f64 e = {0.1, 0d3FF0000000000000}; .const .s32 f[2][3] = {{1}, {2, 3}}; "
        ".const .b64 g = -1; .global .b8 h[4];\n"
        ".const .f32 i[3] = {1e999, 1e-46, 16777217.0};"
    )
    assert [(x.name, x.offset, x.bytes) for x in found.global_symbols] == [
        ("a", 0, 1), ("b", 8, 6), ("c", 16, 8), ("d", 24, 4), ("e", 32, 16), ("h", 48, 4),
    ]  # fmt: skip
    assert found.global_bytes == struct.pack("<B7x3H2x2ff4x2d4x", 44, 1, 65534, 0, 1.5, -2.0, 1.0, 0.1, 1.0)
    assert [(x.name, x.offset, x.bytes) for x in found.const_symbols] == [("f", 0, 24), ("g", 24, 8), ("i", 32, 12)]
    assert found.const_bytes == struct.pack("<6iq3I", 1, 0, 0, 2, 3, 0, -1, 0x7F800000, 0, 0x4B800000)
    assert found.global_relocations == found.const_relocations == ()


def test_addresses_in_initial_values_are_relocations():
    found = module(
        ".global .u64 p[3] = {x, generic(x)+8, 7}; .const .align 8 .b64 q = c - 4; .global .b8 x[16]; .const .b32 c;"
    )
    x, c = Symbol("global", 24, "x", 16), Symbol("const", 8, "c", 4)
    assert found.global_relocations == ((0, x, 0, False), (8, x, 8, True))
    assert found.const_relocations == ((0, c, -4, False),)
    assert found.global_bytes == struct.pack("<3Q16x", 0, 0, 7)


def test_global_variables_inside_functions_belong_to_the_module():
    found = module(".entry k() { .global .u32 g = 5; { .const .u32 g = 7; op g; } op g; }")
    assert found.global_bytes + found.const_bytes == struct.pack("<2I", 5, 7)
    assert [x.operands[0].space for x in found.kernels["k"].instructions[:2]] == ["const", "global"]


def test_extern_variables_take_memory_unless_they_are_defined():
    assert module(".extern .global .b32 a; .global .b32 b = 1; .extern .global .b32 b;").global_symbols == (
        Symbol("global", 0, "a", 4), Symbol("global", 4, "b", 4),
    )  # fmt: skip


def test_the_module_keeps_target_version_and_lines():
    found = module(".entry k() {\n  ret; // end\n}")
    assert (found.target, found.version) == ("sm_80", "8.0")
    assert found.kernels["k"].text(5) == "ret; // end"
    assert found.kernels["k"].text(99) == ""


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (".global .b32 a;\n.global .b32 a;", PtxSyntaxError, "line 5, column 14: a is declared twice, first in line 4"),
        (".global .b8 a[];", PtxSyntaxError, "a has no size"),
        (".global .b32 a<5>;", PtxSyntaxError, "a<...> is .global; only registers are declared by number"),
        (
            ".local .b32 a;",
            PtxSyntaxError,
            "a is .local; outside of functions, a variable is .global, .const or .shared",
        ),
        (".reg .b32 a;", PtxSyntaxError, "a is .reg; outside of functions"),
        (".global .f32 a = 1;", PtxSyntaxError, "an integer cannot initialise a, which is .f32"),
        (
            ".global .u32 a = 1.0;",
            PtxSyntaxError,
            "a floating-point number (f64) cannot initialise a, which is .u32",
        ),
        (".global .b16 a = 0f3F800000;", PtxSyntaxError, "a floating-point number (f32) cannot initialise"),
        (".global .f64 a = 0f3F800000;", PtxSyntaxError, "a floating-point number (f32) cannot initialise"),
        (
            ".global .b32 x; .global .u32 a = x;",
            PtxSyntaxError,
            "a 64-bit address cannot initialise a, which is .u32",
        ),
        (".global .u64 a = x;", PtxSyntaxError, "x, in the initial value of a, is not declared"),
        (
            ".global .b8 a[1099511627776];",
            UnsupportedInstructionError,
            "take 1099511627776 bytes; at most 268435456 are supported",
        ),
        (
            ".const .b8 a[65536]; .const .b8 b;",
            UnsupportedInstructionError,
            "take 65537 bytes; at most 65536 are supported",
        ),
        (
            ".entry k(.param .b8 a[40000]) { }",
            PtxSyntaxError,
            "the parameters up to a take 40000 bytes; a kernel has at most 32764 bytes",
        ),
        (
            ".entry k(.param .b64 a, .param .b8 b[4345]) { }",
            PtxSyntaxError,
            "the parameters up to b take 4353 bytes; in .version 8.0 a kernel has at most 4352 bytes of parameters",
        ),
        (".entry k(.reg .b32 a) { }", PtxSyntaxError, "a parameter of a kernel has to be .param, not .reg"),
        (".entry k(.param .b32 a, .param .b32 a) { }", PtxSyntaxError, "a is declared twice"),
    ],
)
def test_illegal_variables_are_refused(text, error, message):
    with pytest.raises(error) as found:
        module(text)
    assert message in str(found.value)


def test_shared_variables_are_separated_by_gaps_and_as_aligned_as_on_a_gpu():
    sizes = (4, 1024, 100, 1, 4096, 8, 31)
    declared = "".join(f".shared .align {4 if i % 2 else 16} .b8 v{i}[{size}];" for i, size in enumerate(sizes))
    names = ", ".join(f"v{i}" for i in range(len(sizes)))
    found = kernel(f".extern .shared .align 16 .b8 d[]; .entry k() {{ {declared} op {names}, d; }}")
    offsets, end = [], 0
    for i, size in enumerate(sizes):
        offsets.append(-(-end // (alignment := 4 if i % 2 else 16)) * alignment)
        end = offsets[-1] + size
    assert found.shared_bytes == end
    assert found.dynamic_offset == -(-end // 16) * 16
    places = [x.offset for x in found.instructions[0].operands]
    assert [x % 128 for x in places] == [x % 128 for x in (*offsets, found.dynamic_offset)]
    assert all(b - a - size >= min(256, size) for (a, b), size in zip(pairwise(places), sizes, strict=True))
    assert places[-1] == found.shared_span


def test_an_offset_that_is_a_multiple_of_1024_stays_one():
    text = ".shared .align 16 .b8 a[1024]; .shared .align 16 .b8 b[2048]; .extern .shared .align 16 .b8 d[];"
    found = kernel(text + ".entry k() { op a, b, d; }")
    assert [x.offset for x in found.instructions[0].operands] == [0, 2048, 5120]
    assert found.dynamic_offset == 3072
    found = kernel(".shared .b8 a[8]; .shared .align 4096 .b8 b[8]; .entry k() { op a, b; }")
    assert [x.offset for x in found.instructions[0].operands] == [0, 4096]


def test_gaps_of_many_variables_stay_within_the_range_of_descriptors():
    declared = "".join(f".shared .align 4 .b8 v{i}[4];" for i in range(1000))
    found = kernel(declared + f".entry k() {{ op {', '.join(f'v{i}' for i in range(1000))}; }}")
    places = [x.offset for x in found.instructions[0].operands]
    assert min(b - a for a, b in pairwise(places)) >= 4
    assert found.shared_span - found.shared_bytes <= 17 << 10
