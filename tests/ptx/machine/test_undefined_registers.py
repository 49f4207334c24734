# SPDX-License-Identifier: MIT
"""Uninitialised registers: reported where their values are used, and not where they are moved."""

import pytest

from tests.ptx.texts_of_kernels import launch, numbers, put


def found(report):
    return [(x.kind, x.text) for x in report.findings]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("st.global.u32 [%rd1], %r9;", "st.global.u32 [%rd1], %r9;"),
        ("add.u32 %r2, %r9, 1;\nmov.u32 %r3, %r2;\nst.global.u32 [%rd1], %r3;", "st.global.u32 [%rd1], %r3;"),
        ("ld.global.u32 %r2, [%rd9];", "ld.global.u32 %r2, [%rd9];"),
        ("setp.eq.u32 %p1, %r9, 0;\n@%p1 bra L;\nL: ret;", "@%p1 bra L;"),
        ("setp.eq.u32 %p1, %r9, 0;\n@%p1 bra L;\nst.global.u32 [%rd1], 1;\nL: ret;", "@%p1 bra L;"),
        ("@%p3 st.global.u32 [%rd1], 1;", "@%p3 st.global.u32 [%rd1], 1;"),
        ("@%p3 mov.u32 %r0, 1;\nst.global.u32 [%rd1], %r0;", "st.global.u32 [%rd1], %r0;"),
        ("bar.sync %r9;", "bar.sync %r9;"),
    ],
    ids=[
        "stored",
        "stored later",
        "an address",
        "a branch",
        "a branch around a store",
        "a guard",
        "a choice",
        "a barrier",
    ],
)
def test_the_use_of_an_uninitialised_register_is_reported(body, text):
    assert ("uninitialised", text) in found(launch(body, numbers()))


def test_there_is_one_finding_for_a_line_whatever_the_number_of_threads_and_blocks():
    report = launch("st.global.u32 [%rd1], %r9;\nst.global.u32 [%rd1+4], %r9;", numbers(), grid=4)
    assert [(x.line, x.count) for x in report.findings if x.kind == "uninitialised"] == [(15, 128), (16, 128)]


def test_only_threads_that_did_not_write_are_counted():
    body = "setp.lt.u32 %p1, %r0, 12;\n@%p1 mov.u32 %r9, 4;\n" + put("%r9")
    (one,) = launch(body, numbers()).findings
    assert one.kind == "uninitialised" and one.count == 20 and one.thread == (12, 0, 0)


@pytest.mark.parametrize(
    "body",
    [
        "setp.lt.u32 %p1, %r0, 12;\n@%p1 mov.u32 %r9, 4;\nselp.u32 %r2, %r9, 0, %p1;\n" + put("%r2"),
        "setp.lt.u32 %p1, %r0, 12;\n@%p1 setp.eq.u32 %p2, %r0, 3;\nand.pred %p3, %p1, %p2;\n@%p3 bra L;\nL: ret;",
        "setp.lt.u32 %p1, %r0, 12;\n@!%p1 setp.eq.u32 %p2, %r0, 3;\nor.pred %p3, %p1, %p2;\n@%p3 bra L;\nL: ret;",
        "mov.u32 %r9, %r8;\nadd.u32 %r9, %r9, 2;",
        "@%p3 mov.u32 %r2, 1;",
        "@%p3 bra L;\nadd.u32 %r2, %r0, 1;\nL: " + put("%r0"),
        "mov.u32 %r2, 0;\n@%p3 bra E;\nadd.u32 %r2, %r0, 1;\nbra.uni L;\nE: add.u32 %r2, %r0, 2;\n"
        "L: setp.lt.u32 %p1, %r0, 99;\nselp.u32 %r2, %r0, %r2, %p1;\n" + put("%r2"),
        "setp.lt.u32 %p1, %r0, 12;\n@%p1 mov.u32 %r9, 4;\n@%p1 st.global.u32 [%rd1], %r9;",
    ],
    ids=[
        "not chosen",
        "and.pred decided",
        "or.pred decided",
        "never used",
        "an unused choice",
        "a branch around a sum",
        "two paths that meet",
        "used where written",
    ],
)
def test_unused_values_are_not_reported(body):
    assert not launch(body, numbers()).findings
