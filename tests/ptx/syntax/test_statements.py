# SPDX-License-Identifier: MIT
import pytest

from wmma_emu.ptx.syntax.parser import parse
from wmma_emu.ptx.syntax.tree import (
    Address,
    Call,
    Directive,
    Guard,
    InstructionText,
    Label,
    Literal,
    Name,
    Negated,
    Pair,
    Scope,
    VariableText,
    Vector,
)

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def statements(text):
    return parse(f"{HEAD}.entry k() {{\n{text}\n}}").functions[0].body


def operands(text):
    (found,) = statements(text)
    assert isinstance(found, InstructionText)
    return found.operands


def test_an_instruction_has_its_opcode_operands_guard_line_and_column():
    (found,) = statements("\n  @!%p1 add.rn.f32 \t%f1, %f2, %f3;")
    assert found == InstructionText(
        "add", ("rn", "f32"), (Name("%f1"), Name("%f2"), Name("%f3")), Guard("%p1", True), 6, 3
    )
    assert statements("@p ret;") == (InstructionText("ret", (), (), Guard("p", False), 5, 1),)


def test_an_opcode_may_contain_double_colons_and_whitespace():
    words = [
        ("ld.shared::cta.b32 a, [b];", ("shared::cta", "b32")),
        ("ld.global.L1::no_allocate.L2::128B.v4.f32 a, [b];", ("global", "L1::no_allocate", "L2::128B", "v4", "f32")),
        ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes a, b;",
         ("async", "bulk", "tensor", "2d", "shared::cluster", "global", "mbarrier::complete_tx::bytes")),
        ("add .s32 a, b, c;", ("s32",)),
        ("add .sat\n.s32 a, b, c;", ("sat", "s32")),
    ]  # fmt: skip
    for text, modifiers in words:
        assert statements(text)[0].modifiers == modifiers


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("%r1", Name("%r1")),
        ("_", Name("_")),
        ("%tid.x", Name("%tid.x")),
        ("$L__x", Name("$L__x")),
        ("v.x", Name("v.x")),
        ("WARP_SZ", Name("WARP_SZ")),
        ("!p", Negated(Name("p"))),
        ("!%p1", Negated(Name("%p1"))),
        ("p|q", Pair(Name("p"), Name("q"))),
        ("_|%p2", Pair(Name("_"), Name("%p2"))),
        ("%r1 | %p1", Pair(Name("%r1"), Name("%p1"))),
        ("{a, b}", Vector((Name("a"), Name("b")))),
        ("{%r1,_,-3,x}", Vector((Name("%r1"), Name("_"), Literal("int", -3), Name("x")))),
        ("{%r1}", Vector((Name("%r1"),))),
        ("[%rd1]", Address(Name("%rd1"))),
        ("[%rd1+8]", Address(Name("%rd1"), 8)),
        ("[%rd1+-8]", Address(Name("%rd1"), -8)),
        ("[ %rd1 + 0 ]", Address(Name("%rd1"))),
        ("[%rd1+4-12]", Address(Name("%rd1"), -8)),
        ("[%rd1+0xFFFFFFFFFFFFFFF8]", Address(Name("%rd1"), -8)),
        ("[sym+4*4+1]", Address(Name("sym"), 17)),
        ("[16]", Address(Literal("int", 16))),
        ("[-4]", Address(Literal("int", -4))),
        ("[sym]", Address(Name("sym"))),
        ("x[4]", Address(Name("x"), 4, form="element")),
        ("x+4", Address(Name("x"), 4, form="sum")),
        ("x + -4", Address(Name("x"), -4, form="sum")),
        ("[map, {x, y}]", Address(Name("map"), 0, (Name("x"), Name("y")))),
        ("[map, {%r1, 0, -1}]", Address(Name("map"), 0, (Name("%r1"), Literal("int", 0), Literal("int", -1)))),
        ("[tex, sampler, {x}]", Address(Name("tex"), 0, (Name("sampler"), Vector((Name("x"),))))),
        ("0f3F800000", Literal("f32", 0x3F800000)),
    ],
)
def test_operands_are_read(text, operand):
    assert operands(f"op {text};") == (operand,)
    assert operands(f"op.b32 a, {text}, b;") == (Name("a"), operand, Name("b"))


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("call f;", Call((), Name("f"), ())),
        ("call.uni f, (a);", Call((), Name("f"), (Name("a"),))),
        ("call (retval0), f, (param0, param1);", Call((Name("retval0"),), Name("f"), (Name("param0"), Name("param1")))),
        (
            "call.uni (r, s), f, (1, %r2), proto;",
            Call((Name("r"), Name("s")), Name("f"), (Literal("int", 1), Name("%r2")), Name("proto")),
        ),
        ("call (_), f;", Call((Name("_"),), Name("f"), ())),
        ("call (r), %fptr, (), targets;", Call((Name("r"),), Name("%fptr"), (), Name("targets"))),
        ("call\n(r),\nf,\n(\na\n)\n;", Call((Name("r"),), Name("f"), (Name("a"),))),
    ],
)
def test_calls_are_read(text, call):
    assert operands(text) == (call,)


def formal(kind, column):
    return VariableText("param", kind, "_", None, (), None, 1, None, (), 11, column)


def test_labels_scopes_and_directives_are_statements():
    found = statements(
        'A: B:\n{ C: ret; {} }\n.loc 1 20 3\n.loc 2 4 1, function_name $L+8, inlined_at 1 7 9\n.pragma "nounroll";\n'
        "T: .branchtargets A, B;\nP: .callprototype (.param .b32 _) _ (.param .b64 _);\n"
    )
    assert found == (
        Label("A", 5, 1), Label("B", 5, 4),
        Scope((Label("C", 6, 3), InstructionText("ret", (), (), None, 6, 6), Scope((), 6)), 6),
        Directive("loc", ("1", "20", "3"), 7),
        Directive("loc", ("2", "4", "1", "function_name", "$L", "+", "8", "inlined_at", "1", "7", "9"), 8),
        Directive("pragma", ('"nounroll"',), 9),
        Directive("branchtargets", ("A", ",", "B"), 10, "T", 4),
        Directive("callprototype", (), 11, "P", 4, (formal("b32", 32),), (formal("b64", 50),)),
    )  # fmt: skip


def test_names_may_be_ptx_keywords():
    found = statements(".reg .b32 add; add: add.s32 add, add, 5; bra add;")
    assert found[1] == Label("add", 5, 16)
    assert found[2].operands == (Name("add"), Name("add"), Literal("int", 5))


def test_comments_strings_and_line_ends_are_ignored():
    text = 'mov.b32 a, /* 1, \n 2 */ 3; // ret; }\r\n.pragma "no // comment /* here";\r\nret;'
    found = statements(text)
    assert [x.line for x in found] == [5, 7, 8]
    assert found[0].operands == (Name("a"), Literal("int", 3))
    assert found[1].arguments == ('"no // comment /* here"',)
    module = parse(f"{HEAD}.entry k() {{ ret; }}\0\0")
    assert len(module.functions[0].body) == 1
    assert parse(f"/* a */{HEAD}".replace("\n", "\r\n")).lines[0] == "/* a */.version 8.0"


def test_each_source_line_adds_its_statements():
    line = "mov.b32 %r1, {%r2, -7}; L{}: @p bra L{};"
    for count in (1000, 2000):
        text = "\n".join(line.replace("L{}", f"L{i}") for i in range(count))
        assert len(statements(text)) == 3 * count


def test_an_opcode_that_continues_with_two_colons_differs_from_its_prefix():
    text = "fence.proxy.async; fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;"
    short, long = statements(text)
    assert (short.mnemonic, short.modifiers) == ("fence", ("proxy", "async"))
    assert long.modifiers == ("proxy", "async::generic", "acquire", "sync_restrict::shared::cluster", "cluster")
