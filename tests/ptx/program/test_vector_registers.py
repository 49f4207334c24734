# SPDX-License-Identifier: MIT
"""Vector registers: moved, loaded, stored, packed, passed to functions and returned."""

import numpy as np
import pytest

from tests.ptx.texts_of_kernels import launch, numbers
from wmma_emu.errors import PtxSyntaxError, UnsupportedInstructionError

REGISTERS = (
    ".reg .v2 .u32 v, w; .reg .v4 .u32 q; .reg .v2 .f32 f; .reg .v2 .b64 d; .reg .v4 .u16 h; .reg .v2 .s32 %v<3>;\n"
)
FUNCTIONS = """
.func (.reg .v2 .u32 o) swap(.reg .v2 .u32 i) { mov.u32 o.x, i.y; mov.u32 o.y, i.x; ret; }
.func (.reg .v2 .u32 o) same(.reg .v2 .u32 i) { mov.v2.u32 o, i; ret; }
.func (.reg .b64 o) packed(.reg .v4 .u16 i) { mov.b64 o, i; ret; }
.func (.reg .v2 .f32 o) split(.reg .b64 i) { mov.b64 o, i; ret; }
.func first(.reg .b64 a, .reg .v2 .u32 i) { st.global.v2.u32 [a], i; ret; }
"""


def run(body, *arrays, **options):
    given = arrays or (np.arange(1, 33, dtype=np.uint32),)
    report = launch(REGISTERS + body + "\nret;", *given, block=options.pop("block", 1), before=FUNCTIONS, **options)
    return given[0], report


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ld.global.v2.u32 v, [%rd1];\nst.global.v2.u32 [%rd1+8], v;", [1, 2, 1, 2]),
        ("ld.global.v4.u32 q, [%rd1+16];\nst.global.v4.u32 [%rd1], q;", [5, 6, 7, 8]),
        ("ld.global.v4.u32 q, [%rd1];\nst.global.v2.u32 [%rd1], {q.w, q.x};", [4, 1]),
        ("ld.global.v4.u32 q, [%rd1];\nst.global.v2.u32 [%rd1], {q.a, q.b};", [4, 3]),
        ("ld.global.v4.u32 q, [%rd1];\nst.global.v2.u32 [%rd1], {q.g, q.r};", [2, 1]),
        ("ld.global.v4.u32 q, [%rd1];\nadd.u32 q.y, q.x, q.z;\nst.global.v4.u32 [%rd1], q;", [1, 4, 3, 4]),
        ("ld.global.v2.s32 %v2, [%rd1];\nst.global.u32 [%rd1], %v2.y;", [2, 2]),
        ("ld.global.u32 v.y, [%rd1];\nld.global.u32 v.x, [%rd1+4];\nst.global.v2.u32 [%rd1], v;", [2, 1]),
        ("mov.v2.u32 v, {7, 8};\nst.global.v2.u32 [%rd1], v;", [7, 8]),
        ("mov.v2.u32 v, {7, 8};\nmov.v2.u32 w, v;\nst.global.v2.u32 [%rd1], w;", [7, 8]),
        ("mov.v2.u32 v, {7, 8};\nmov.v2.u32 v, {v.y, v.x};\nst.global.v2.u32 [%rd1], v;", [8, 7]),
        ("mov.v2.u32 v, {7, 8};\nmov.v2.u32 {%r2, %r3}, v;\nst.global.v2.u32 [%rd1], {%r3, %r2};", [8, 7]),
        ("mov.v2.u32 v, {7, 8};\nmov.v2.u32 {%r2, _}, v;\nst.global.u32 [%rd1], %r2;", [7, 2]),
        ("mov.v2.u32 {%r2, %r3}, {7, 8};\nmov.v2.u32 {%r2, %r3}, {%r3, %r2};\nst.global.u32 [%rd1], %r2;", [8, 2]),
        ("mov.v2.f32 f, {1.0, 0fC0000000};\nst.global.v2.f32 [%rd1], f;", [0x3F800000, 0xC0000000]),
        ("mov.v2.u32 v, {7, 8};\nmov.v2.b32 f, v;\nst.global.v2.f32 [%rd1], f;", [7, 8]),
        ("mov.v2.b64 d, {7, 8};\nst.global.v2.b64 [%rd1], d;", [7, 0, 8, 0]),
        ("mov.v4.u16 h, {1, 2, 3, 4};\nst.global.v4.u16 [%rd1], h;", [0x20001, 0x40003]),
        ("mov.v4.u16 h, {1, 2, 3, 4};\nmov.b64 %rd2, h;\nst.global.b64 [%rd1], %rd2;", [0x20001, 0x40003]),
        ("mov.b64 v, 0x800000007;\nst.global.v2.u32 [%rd1], {v.y, v.x};", [8, 7]),
        ("mov.v4.u32 q, %ntid;\nst.global.v4.u32 [%rd1], q;", [1, 1, 1, 0]),
        ("mov.v2.u32 v, {7, 8};\ncall (w), swap, (v);\nst.global.v2.u32 [%rd1], w;", [8, 7]),
        ("mov.v2.u32 v, {7, 8};\ncall (v), swap, (v);\nst.global.v2.u32 [%rd1], v;", [8, 7]),
        ("mov.v2.u32 v, {7, 8};\ncall (f), same, (v);\nst.global.v2.f32 [%rd1], f;", [7, 8]),
        ("mov.b64 %rd2, 0x800000007;\ncall (v), swap, (%rd2);\nst.global.v2.u32 [%rd1], v;", [8, 7]),
        ("call (v), swap, (7);\nst.global.v2.u32 [%rd1], v;", [0, 7]),
        ("mov.v2.u32 v, {7, 8};\ncall (%rd2), swap, (v);\nst.global.u64 [%rd1], %rd2;", [8, 7]),
        ("mov.v4.u16 h, {1, 2, 3, 4};\ncall (v), packed, (h);\nst.global.v2.u32 [%rd1], v;", [0x20001, 0x40003]),
        ("mov.v2.u32 v, {7, 8};\ncall (f), split, (v);\nst.global.v2.f32 [%rd1], f;", [7, 8]),
        ("mov.v2.u32 v, {7, 8};\ncall first, (%rd1, v);", [7, 8]),
    ],
)
def test_a_vector_behaves_as_its_elements(body, expected):
    out, report = run(body)
    assert not report.findings
    assert out[: len(expected)].tolist() == expected


def test_threads_that_do_not_execute_keep_both_elements():
    out, report = run(
        "mov.v2.u32 v, {7, 8};\nsetp.lt.u32 %p1, %r0, 4;\n@%p1 mov.v2.u32 v, {v.y, v.x};\nmul.wide.u32 %rd2, %r0, 8;\n"
        "add.u64 %rd2, %rd2, %rd1;\nst.global.v2.u32 [%rd2], v;",
        numbers(64), block=32,
    )  # fmt: skip
    assert not report.findings
    assert out.reshape(32, 2).tolist() == [[8, 7]] * 4 + [[7, 8]] * 28


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("mov.u32 v.x, 7;\nst.global.u32 [%rd1], v.x;", 0),
        ("mov.u32 v.x, 7;\nst.global.u32 [%rd1], v.y;", 1),
        ("mov.u32 v.x, 7;\nmov.v2.u32 w, v;\nst.global.u32 [%rd1], w.x;", 0),
        ("mov.u32 v.x, 7;\nmov.v2.u32 w, v;\nst.global.u32 [%rd1], w.y;", 1),
        ("mov.u32 v.x, 7;\nmov.v2.u32 w, {v.y, v.x};\nst.global.u32 [%rd1], w.y;", 0),
        ("mov.u32 v.x, 7;\ncall (w), swap, (v);\nst.global.u32 [%rd1], w.y;", 0),
        ("mov.u32 v.x, 7;\ncall (w), swap, (v);\nst.global.u32 [%rd1], w.x;", 1),
    ],
)
def test_initialisation_is_tracked_for_each_element(body, found):
    _, report = run(body)
    assert [x.kind for x in report.findings] == ["uninitialised"] * found


def test_an_uninitialised_last_element_may_be_padding_if_its_type_is_unknown():
    _, report = run("mov.u32 v.x, 7;\nst.global.v2.u32 [%rd1], v;")
    assert [x.kind for x in report.findings] == ["partly uninitialised"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("mov.v2.u32 v, q;", r"mov\.v2\.u32 expects a vector of 2 on each side, not of 4"),
        ("mov.v4.u32 q, {%r2, %r3};", r"mov\.v4\.u32 expects a vector of 4 on each side, not of 2"),
        ("mov.v2.u32 v, %r2;", r"mov\.v2\.u32 expects a vector of 2 on each side, not of 1; mov\.b64 packs"),
        ("mov.v2.u32 %r2, %r3;", r"not of 1"),
        ("mov.u32 v, w;", "cannot pack and unpack at once"),
        ("mov.u64 %rd2, v;", r"mov\.u64 does not support a vector of 2"),
        ("mov.v4.b64 {%rd2, %rd3, %rd4, %rd5}, {%rd2, %rd3, %rd4, %rd5};", r"mov\.v4\.b64 does not exist"),
        ("mov.v8.u32 v, v;", r"mov\.v8\.u32 does not exist"),
        ("mov.v2.pred {%p1, %p2}, {%p2, %p1};", r"mov\.v2\.pred does not exist"),
        ("mov.v2.b64 d, v;", "32 bits; this operand of mov.v2.b64 must be a .b64"),
        ("ld.global.v4.u32 v, [%rd1];", "a vector of 2 registers; its modifiers require 4"),
        ("ld.global.u64 v, [%rd1];", "a vector of 2 registers; its modifiers require 1"),
        ("add.u32 v, v, w;", r"add\.u32 expects 3 operands including results, not 6"),
    ],
)
def test_operands_that_do_not_match_a_vector_are_refused(body, why):
    with pytest.raises(UnsupportedInstructionError, match=why):
        run(body)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("call (v), swap, (q);", "argument or result 1: the parameter i is .v2 .u32; expected a vector with the same"),
        ("call (v), swap, (%r2);", "argument or result 1: the parameter i is .v2 .u32"),
        ("call (%r2), swap, (v);", "argument or result 1: the parameter o is .v2 .u32"),
        ("call (v), swap, (%tid);", "%tid is not a register"),
        ("call (v), swap, ({%r2, %r3});", "found '{'"),
        ("{ .param .align 8 .b8 a[8]; call (v), swap, (a); }", "argument or result 1: the parameter i is .v2 .u32"),
    ],
)
def test_arguments_that_do_not_match_a_vector_are_refused(body, why):
    with pytest.raises(PtxSyntaxError) as error:
        run(body)
    assert why in str(error.value)
