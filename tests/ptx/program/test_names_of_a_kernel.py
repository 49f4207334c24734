# SPDX-License-Identifier: MIT
import pytest

from wmma_emu.errors import PtxSyntaxError, UnsupportedInstructionError
from wmma_emu.ptx.program.build import program_of
from wmma_emu.ptx.program.program import (
    AddressOperand,
    Immediate,
    PairOperand,
    Predicate,
    Register,
    SpecialRegister,
    Symbol,
    VectorOperand,
)

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def kernel(body, before="", parameters=""):
    text = f"{HEAD}{before}.entry k({parameters}) {{\n{body}\n}}"
    return program_of(text).kernels["k"]


def operands(body, **more):
    return [x.operands for x in kernel(body, **more).instructions]


def test_registers_are_numbered_in_the_order_of_their_use():
    found = kernel(".reg .b32 %r<9>, x; .reg .pred p; .reg .f64 %fd<2>; @!p add.s32 x, %r8, %r3; mov.f64 %fd1, %fd1;")
    assert found.registers == (
        Register(0, "p", "pred"), Register(1, "x", "b32"), Register(2, "%r8", "b32"), Register(3, "%r3", "b32"),
        Register(4, "%fd1", "f64"),
    )  # fmt: skip
    p, x, r8, r3, fd1 = found.registers
    assert found.instructions[0].guard == Predicate(p, True)
    assert found.instructions[0].operands == (x, r8, r3)
    assert found.instructions[1].operands == (fd1, fd1)


def test_an_instruction_keeps_its_opcode_and_its_position():
    found = kernel(".reg .b32 %r<3>;\n  add.sat.s32 %r1, %r2, -7;").instructions[0]
    assert (found.opcode, found.mnemonic, found.modifiers) == ("add.sat.s32", "add", ("sat", "s32"))
    assert (found.line, found.column, found.source, found.guard) == (6, 3, None, None)
    assert found.operands[2] == Immediate("int", -7)


def test_operands_of_every_kind_are_resolved():
    (found,) = operands(
        ".reg .b32 %r<2>; .reg .pred p; op.b32 %r1, %tid.x, 0f3F800000, WARP_SZ, _, !p, p|_, {%r1, 5, _, %laneid}, "
        "[%r1+8], [16], [%r1, {%r1, 3}]; ret;"
    )[:1]
    r1, p = Register(0, "%r1", "b32"), Register(1, "p", "pred")
    assert found == (
        r1,
        SpecialRegister("tid.x"),
        Immediate("f32", 0x3F800000),
        Immediate("int", 32),
        None,
        Predicate(p, True),
        PairOperand(p, None),
        VectorOperand((r1, Immediate("int", 5), None, SpecialRegister("laneid"))),
        AddressOperand(r1, 8),
        AddressOperand(Immediate("int", 16)),
        AddressOperand(r1, 0, (r1, Immediate("int", 3))),
    )


def test_special_registers_are_in_a_table_and_their_vectors_have_four_elements():
    names = (
        "%ctaid.z %ntid.x %nctaid.y %laneid %warpid %nwarpid %smid %clock %clock64 %globaltimer %lanemask_lt %envreg31 "
        "%dynamic_smem_size %total_smem_size %cluster_ctarank %is_explicit_cluster %pm3 %gridid %globaltimer_lo"
    )
    body = "".join(f"op {x};" for x in names.split())
    assert [x[0] for x in operands(body)[:-1]] == [SpecialRegister(x[1:]) for x in names.split()]
    assert operands("op %tid;")[0] == (VectorOperand(tuple(SpecialRegister(f"tid.{x}") for x in "xyzw")),)
    assert operands(".reg .b32 %tid; op %tid;")[0] == (Register(0, "%tid", "b32"),)


def test_a_vector_register_resolves_to_its_elements():
    found = operands(".reg .v4 .f32 v; .reg .v2 .b32 w<3>; op v; op v.y, v.a; op w2.x;")
    v = [Register(i, f"v.{x}", "f32") for i, x in enumerate("xyzw")]
    assert found[:3] == [(VectorOperand(tuple(v)),), (v[1], v[3]), (Register(4, "w2.x", "b32"),)]


def test_an_inner_scope_has_separate_names():
    found = kernel(
        ".reg .b32 a, %r<5>; mov.b32 a, %r1; { mov.b32 a, 1; .reg .b32 a, %r<2>; mov.b32 a, %r1; "
        "mov.b32 a, %r3; } mov.b32 a, %r1;"
    )
    assert [x.name for x in found.registers] == ["a", "%r1", "a#2", "%r1#2", "%r3"]
    assert [tuple(y.index for y in x.operands if isinstance(y, Register)) for x in found.instructions[:-1]] == [
        (0, 1), (0,), (2, 3), (2, 4), (0, 1),
    ]  # fmt: skip


def test_two_scopes_with_the_same_names_have_separate_registers():
    found = kernel("{ .reg .b32 t; mov.b32 t, 1; } { .reg .b32 t; mov.b32 t, 2; }")
    assert [x.operands[0].index for x in found.instructions[:-1]] == [0, 1]


def test_a_variable_with_an_offset_is_a_shifted_symbol():
    before = ".global .align 4 .u32 g[4]; .const .f64 c; .shared .b16 s[8];\n"
    found = operands(
        ".local .b8 l[16]; op g, c, s, l, n; op g+4, s[3], n+1; op [g], [g+8], [s+2], [c], s+-2, g[2];", before=before,
        parameters=".param .u64 m, .param .u32 n",
    )  # fmt: skip
    g, s = Symbol("global", 0, "g", 16), Symbol("shared", 0, "s", 16)
    assert found[0] == (g, Symbol("const", 0, "c", 8), s, Symbol("local", 0, "l", 16), Symbol("param", 8, "n", 4))
    assert found[1] == (Symbol("global", 4, "g+4", 12), Symbol("shared", 6, "s+6", 10), Symbol("param", 9, "n+1", 3))
    assert found[2][:3] == (AddressOperand(g), AddressOperand(g, 8), AddressOperand(s, 2))
    assert found[2][4:] == (Symbol("shared", -2, "s-2", 18), Symbol("global", 8, "g+8", 8))


def test_lines_of_the_source_come_from_loc():
    found = kernel(
        "op; .loc 1 20 3 op; op; { .loc 2 7 1, function_name $x, inlined_at 1 9 2\nop; } op; .loc 1 0 0 op; "
        ".loc 9 1 1\n op;"
        '} .file 1 "a.cu" .file 2 "b.h" .entry j() { op;'
    )
    assert [str(x.source) for x in found.instructions[:-1]] == [
        "None",
        "a.cu:20",
        "a.cu:20",
        "a.cu:9, inlined from b.h:7",
        "a.cu:9, inlined from b.h:7",
        "None",
        "file 9:1",
    ]


def test_nested_inlined_functions_refer_to_the_line_of_the_outermost_call():
    call = ".loc 2 7 1, function_name $x, inlined_at 1 {line} 2\n .loc 3 9 1, function_name $y, inlined_at 2 7 1\n op; "
    found = kernel(
        call.format(line=4) + call.format(line=5) + '} .file 1 "a.cu" .file 2 "b.h" .file 3 "c.h" .entry j() { op;'
    )
    assert [str(x.source) for x in found.instructions[:-1]] == [
        "a.cu:4, inlined from b.h:7, inlined from c.h:9",
        "a.cu:5, inlined from b.h:7, inlined from c.h:9",
    ]


def test_cyclic_inlining_is_cut_off():
    found = kernel(".loc 1 5 3, function_name $x, inlined_at 1 5 3\n op; " * 5000 + '} .file 1 "a.cu" .entry j() { op;')
    assert max(str(x.source).count("a.cu:5") for x in found.instructions[:-1]) < 40


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        ("mov.b32 %r1, 5;", 5, "the register %r1 is not declared here"),
        ("mov.b32 x, 5;", 5, "the name x is not declared here, nor is it a special register or a variable"),
        ("mov.b32 %tid.q, 5;", 5, "the register %tid.q is not declared here"),
        (".reg .b32 %r<5>;\nmov.b32 %r5, 5;", 6, "the register %r5 is not declared here"),
        (".reg .b32 %r<50>;\nmov.b32 %r05, 5;", 6, "the register %r05 is not declared here"),
        ("{ .reg .b32 a; }\nmov.b32 a, 5;", 6, "the name a is not declared here"),
        ("mov.b32 a, 5;\n.reg .b32 a;", 5, "the name a is not declared here"),
        (".reg .b32 a;\n.reg .b64 a;", 6, "a is declared twice in this scope"),
        (".reg .b32 %r<5>;\n.reg .b64 %r<2>;", 6, "%r0 is declared twice"),
        (".reg .b32 %r<5>;\n.reg .b64 %r4;", 6, "%r4 is declared twice"),
        (".reg .b64 %r4;\n.reg .b32 %r<5>;", 6, "%r4 is declared twice"),
        (".reg .b32 %r<20>;\n.reg .b32 %r1<5>;", 6, "%r10 is declared twice"),
        (".reg .b32 %r1<5>;\n.reg .b32 %r<20>;", 6, "%r10 is declared twice"),
        (".reg .b32 n;", 5, "n is declared twice"),
        ("L:\n.reg .b32 L;", 6, "L is declared twice"),
        (".reg .b32 L;\nL:", 6, "L is declared twice"),
        ("L:\nL:", 6, "L is declared twice"),
        ("L: ret;\nmov.b64 %r1, L;", 6, "the register %r1 is not declared"),
        (".reg .b64 a; L: ret;\nmov.b64 a, L;", 6, "L is a label; expected a register, a variable or a number"),
        (".reg .b32 a;\n@a ret;", 6, "a is the register a (.b32); expected a predicate register (.pred)"),
        ("@%tid.x ret;", 5, "%tid.x is the special register %tid.x; expected a predicate register"),
        ("@n ret;", 5, "n is the variable n (.param); expected a predicate register"),
        (".reg .b32 a;\nop !a;", 6, "expected a predicate register"),
        (".reg .pred p;\nld.b32 p, [p];", 6, "the register p (.pred) cannot be an address"),
        ("ld.b32 _, [%tid.x];", 5, "the special register %tid.x cannot be an address"),
        ("ld.b32 _, [_];", 5, "_ cannot be an address"),
        ("ld.b32 _, [n, {_, 1}];", 5, "the sink _ cannot be a coordinate"),
        (".reg .b32 a;\nop a+4;", 6, "a+4 is a sum, and op writes this operand; expected a register"),
        ("op n|_;", 5, "n is the variable n (.param); expected a register on each side of '|'"),
        (".reg .v2 .b32 v; op {v, v};", 5, "an element of a vector has to be a register, a variable or a number"),
        (".reg .b32 v; op v.x;", 5, "the name v.x is not declared here"),
        (".reg .v2 .b32 v; op v.z;", 5, "v.z is not an element of v; its elements are .x .y (or .r .g)"),
        (".reg .v4 .f32 v; op v.xy;", 5, "v.xy is not an element of v; its elements are .x .y .z .w (or .r .g .b .a)"),
        (".reg .v2 .b32 v; op 1, v.y + 1;", 5, "an element of a vector, which cannot be an address or have an offset"),
        (".reg .v2 .b32 v; op 1, [v.y];", 5, "an element of a vector, which cannot be an address or have an offset"),
        (".reg .v2 .b32 v; op 1, [v];", 5, "a vector cannot be an address"),
        (".reg .v2 .pred v;", 5, "v, .v2 .pred: a vector cannot have predicates as elements"),
        (".reg .v4 .f64 v;", 5, "v, .v4 .f64: a vector has at most 128 bits"),
        (".shared .v4 .b64 v;", 5, "v, .v4 .b64: a vector has at most 128 bits"),
        (".param .v4 .f32 v;", 5, "v, .v4 .f32: a .param variable cannot be a vector; write .align 16 .b8 [16]"),
        (".reg .f32 a; op 1, a + 1;", 5, "is added to the register a (.f32); expected an integer"),
        (".reg .pred a; op 1, a + 1;", 5, "is added to the register a (.pred); expected an integer"),
        ("op 1, %tid.x + 1;", 5, "is added to the special register %tid.x; expected a variable"),
        (".shared .b8 s[];", 5, "s has no size; expected [number], or .extern before the declaration"),
        (".local .b32 s<5>;", 5, "s<...> is .local; only registers are declared by number"),
        (".shared .pred s;", 5, "s is a predicate, which has to be a register"),
        (".local .b8 s[9223372036854775807][4];", 5, "s is larger than the 64-bit address space"),
    ],
)  # fmt: skip
def test_illegal_names_are_refused_with_their_line(body, line, message):
    with pytest.raises(PtxSyntaxError) as error:
        kernel(body, parameters=".param .u32 n")
    assert message in error.value.message
    assert error.value.line == line


def test_register_ranges_with_different_names_may_be_combined():
    found = kernel(".reg .b32 %r<10>, %r1<0>, %r0<3>, %rs<4>, %r123; op %r9, %r02, %rs3, %r123;")
    assert [x.name for x in found.registers] == ["%r9", "%r02", "%rs3", "%r123"]


def test_a_range_whose_prefix_ends_in_a_digit_is_found():
    found = kernel(".reg .b32 a1b2<12>; { .reg .b64 a1b<30>; op a1b211, a1b29; } op a1b29;")
    assert [(x.name, x.type) for x in found.registers] == [("a1b211", "b32"), ("a1b29", "b64"), ("a1b29#2", "b32")]


def test_32_bit_addresses_are_not_supported():
    with pytest.raises(UnsupportedInstructionError, match=r"\.address_size 32 is not supported"):
        program_of(".version 8.0 .target sm_80 .address_size 32")
