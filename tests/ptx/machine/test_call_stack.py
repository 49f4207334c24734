# SPDX-License-Identifier: MIT
"""Frames of calls: what a call keeps, what its frame contains, and where threads meet again."""

import pytest

from tests.ptx.texts_of_kernels import launch, numbers, put

PROTOTYPE = "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"


def function(name, body):
    return f".func (.param .b32 r) {name}(.param .b32 n)\n{{\n{body}\n}}\n"


def call(name, argument, result="%r2", prototype=""):
    return (
        f"{{ .param .b32 a; .param .b32 b; st.param.b32 [a], {argument};\n"
        f"call (b), {name}, (a){prototype};\nld.param.b32 {result}, [b]; }}\n"
    )


def stored(body, before, block=32, **options):
    words = numbers(block)
    report = launch(body + put("%r2") + "ret;", words, block=block, before=before, **options)
    assert not report.findings
    return words.tolist()


SUM = function(
    "sum",
    """.reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %d;
ld.param.b32 %r1, [n];
setp.eq.u32 %p1, %r1, 0;
and.b32 %r2, %r1, 1;
setp.eq.u32 %p2, %r2, 1;
cvt.u64.u32 %d, %r1;
shl.b64 %d, %d, 33;
@%p1 bra END;
sub.u32 %r3, %r1, 1;
"""
    + call("sum", "%r3", "%r2")
    + """@%p2 add.u32 %r2, %r2, 100;
shr.u64 %d, %d, 33;
cvt.u32.u64 %r3, %d;
add.u32 %r2, %r2, %r3;
END: st.param.b32 [r], %r2; ret;""",
)
"""The sum of the numbers up to n, and 100 for each odd number."""


def test_a_call_keeps_registers_of_every_width_and_predicates():
    expected = [i * (i + 1) // 2 + 100 * ((i + 1) // 2) for i in range(32)]
    assert stored(call("sum", "%r0"), SUM, stack_bytes=2048) == expected


def test_a_call_keeps_which_bits_are_undefined():
    text = function(
        "f",
        """.reg .pred %p1; .reg .b32 %r<5>;
ld.param.b32 %r1, [n];
setp.eq.u32 %p1, %r1, 0;
@%p1 bra END;
sub.u32 %r3, %r1, 1;
"""
        + call("f", "%r3", "%r2")
        + "END: st.param.b32 [r], %r4; ret;",
    )
    report = launch(call("f", "2") + put("%r2") + "ret;", numbers(), before=text)
    (found,) = report.findings
    assert found.kind == "uninitialised" and "%r4" in found.message


def test_the_variables_of_a_new_call_are_uninitialised():
    text = function("leaves", ".local .b32 v[4]; st.local.b32 [v+8], 7; st.param.b32 [r], 1; ret;")
    text += function("reads", ".local .b32 v[4]; .reg .b32 %r1; ld.local.b32 %r1, [v+8]; st.param.b32 [r], %r1; ret;")
    body = f"{PROTOTYPE}mov.u64 %rd5, leaves;\n{call('%rd5', '%r0', prototype=', P')}mov.u64 %rd5, reads;\n"
    report = launch(body + call("%rd5", "%r0", prototype=", P") + put("%r2") + "ret;", numbers(), before=text)
    assert [x.kind for x in report.findings] == ["uninitialised"]


def test_threads_that_called_different_functions_continue_together():
    text = function("f", ".reg .b32 %r1; activemask.b32 %r1; st.param.b32 [r], %r1; ret;")
    text += function("g", ".reg .b32 %r1; activemask.b32 %r1; not.b32 %r1, %r1; st.param.b32 [r], %r1; ret;")
    body = f"{PROTOTYPE}mov.u64 %rd5, f;\nsetp.lt.u32 %p1, %r0, 4;\n@%p1 mov.u64 %rd5, g;\n"
    body += call("%rd5", "%r0", prototype=", P") + "activemask.b32 %r3; xor.b32 %r2, %r2, %r3;"
    assert stored(body, text) == [0xF] * 4 + [0xF] * 28


def test_calltargets_list_the_functions_of_a_call():
    text = function("f", "st.param.b32 [r], 5; ret;") + function("g", "st.param.b32 [r], 6; ret;")
    body = "T: .calltargets f, g;\nmov.u64 %rd5, f;\nsetp.lt.u32 %p1, %r0, 2;\n@%p1 mov.u64 %rd5, g;\n"
    assert stored(body + call("%rd5", "%r0", prototype=", T"), text, block=4) == [6, 6, 5, 5]


def test_an_uninitialised_address_is_a_finding():
    text = function("f", "st.param.b32 [r], 5; ret;")
    body = f"{PROTOTYPE}mov.u64 %rd6, f;\n" + call("%rd5", "%r0", prototype=", P")
    report = launch(body + put("%r2") + "ret;", numbers(), before=text)
    assert sorted(x.kind for x in report.findings) == ["illegal operand", "uninitialised"]
    assert not report.completed


def test_arguments_and_results_may_be_registers():
    text = function("f", ".reg .b32 %r1; ld.param.b32 %r1, [n]; add.u32 %r1, %r1, 40; st.param.b32 [r], %r1; ret;")
    body = f"{PROTOTYPE}mov.u64 %rd5, f;\ncall (%r2), %rd5, (%r0), P;\n"
    assert stored(body, text, block=3) == [40, 41, 42]


@pytest.mark.parametrize("schedule", range(3))
def test_any_order_of_warps_gives_the_same_results(schedule):
    expected = [i * (i + 1) // 2 + 100 * ((i + 1) // 2) for i in range(64)]
    assert stored(call("sum", "%r0"), SUM, block=64, stack_bytes=4096, schedule=schedule) == expected


def test_the_stack_counts_the_arrays_of_all_callers():
    text = function(
        "f",
        """.local .align 4 .b8 v[96]; .reg .pred %p1; .reg .b32 %r<4>;
ld.param.b32 %r1, [n];
mov.b32 %r2, 0;
setp.eq.u32 %p1, %r1, 0;
@%p1 bra END;
sub.u32 %r3, %r1, 1;
"""
        + call("f", "%r3", "%r2")
        + "END: st.param.b32 [r], %r2; ret;",
    )
    body = call("f", "%r0") + put("%r2") + "ret;"
    # Nine calls of 96 bytes and a return address; the kernel has a return address too.
    assert launch(body, numbers(9), block=9, before=text, stack_bytes=9 * 104 + 8).findings == ()
    report = launch(body, numbers(9), block=9, before=text, stack_bytes=9 * 104 + 7)
    assert "the call of f at depth 9 needs 944 bytes; the limit is 943 bytes" in report.findings[0].message
    assert report.findings[0].sightings[0].thread == (8, 0, 0)
