# SPDX-License-Identifier: MIT
"""alloca, stacksave and stackrestore."""

import pytest

from tests.ptx.texts_of_kernels import launch, numbers, put
from wmma_emu.errors import UnsupportedInstructionError


def stored(body, block=32, **options):
    words = numbers(block)
    report = launch(body + put("%r2") + "ret;", words, block=block, **options)
    assert not report.findings
    return words.tolist()


def test_memory_is_aligned_and_does_not_overlap():
    body = "alloca.u64 %rd5, 4;\nalloca.u64 %rd6, 1, 64;\nalloca.u32 %r5, 20;\ncvt.u64.u32 %rd7, %r5;\n"
    body += "st.local.b32 [%rd5], 1;\nst.local.b8 [%rd6], 2;\nst.local.b32 [%rd7+16], 3;\n"
    body += "and.b64 %rd8, %rd6, 63;\ncvt.u32.u64 %r2, %rd8;\nld.local.b32 %r3, [%rd5];\nadd.u32 %r2, %r2, %r3;\n"
    assert stored(body, 2) == [1, 1]


def test_each_thread_allocates_its_own_size():
    body = "mul.wide.u32 %rd6, %r0, 4;\nalloca.u64 %rd5, %rd6;\nalloca.u64 %rd7, 8;\nsub.u64 %rd7, %rd7, %rd5;\n"
    assert stored(body + "cvt.u32.u64 %r2, %rd7;\n", 10) == [0, 16, 16, 16, 16, 32, 32, 32, 32, 48]


def test_stackrestore_frees_what_was_allocated_since_stacksave():
    body = "mov.u32 %r2, 0;\nL: stacksave.u64 %rd5;\nalloca.u64 %rd6, 512;\nst.local.b32 [%rd6], %r2;\n"
    body += "stackrestore.u64 %rd5;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 100;\n@%p1 bra L;\n"
    assert stored(body, 2) == [100, 100]
    report = launch(body.replace("stackrestore.u64 %rd5;", "") + "ret;", numbers(), findings="report")
    assert "the stack overflows: alloca of 512 bytes, and 1024 bytes are in use" in report.findings[0].message


def test_the_bytes_are_uninitialised_also_when_they_are_allocated_again():
    body = "stacksave.u64 %rd5;\nalloca.u64 %rd6, 16;\nst.local.b32 [%rd6], 7;\nstackrestore.u64 %rd5;\n"
    body += "alloca.u64 %rd6, 16;\nld.local.b32 %r2, [%rd6];\n"
    report = launch(body + put("%r2") + "ret;", numbers())
    assert [x.kind for x in report.findings] == ["uninitialised"]


def test_stackrestore_of_another_number_is_a_finding():
    report = launch("mov.u64 %rd5, 4096;\nstackrestore.u64 %rd5;\nret;", numbers())
    assert "0x1000 is not a position that stacksave returned in this call" in report.findings[0].message


@pytest.mark.parametrize(
    "text", ["alloca.u64 %rd5, %r0;", "alloca.b64 %rd5, 4;", "stackrestore.u64 8;", "alloca.u64 %rd5, 4, 3;",
             "stacksave.b64 %rd5;", "alloca.u64 %rd5, 4, %r0;", "alloca.u64 %r0, 4;"],
)  # fmt: skip
def test_what_ptxas_refuses_is_refused(text):
    with pytest.raises(UnsupportedInstructionError):
        launch(text + "ret;", numbers())
