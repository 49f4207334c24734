# SPDX-License-Identifier: MIT
"""The source of a ``cp.async`` must not be overwritten before the copy has been waited for."""

import numpy as np
import pytest

import wmma_emu as we

TEXT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x)
{{
    .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %a<5>;
    .shared .align 16 .b8 tile[1024];
    ld.param.u64 %a0, [x];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %a1, %r0, 16;
    add.s64 %a2, %a0, %a1;
    mov.u32 %r1, tile;
    shl.b32 %r2, %r0, 4;
    add.s32 %r3, %r1, %r2;
    setp.lt.u32 %p1, %r0, 8;
    mov.u32 %r4, 12;
    {body}
    ret;
}}"""
COPY = "cp.async.cg.shared.global [%r3], [%a2], 16;\n"
WAIT = "cp.async.wait_all;\n"


def findings(body, **options):
    x = np.arange(256, dtype=np.int32)
    return we.ptx.Module(TEXT.format(body=body), arch="sm_80", findings="report")["k"][1, 32](x, **options).findings


@pytest.mark.parametrize(
    "write",
    ["st.global.u32 [%a2+12], %r0;", "st.global.u8 [%a2+15], %r0;", "st.global.v2.u32 [%a2+8], {%r0, %r0};",
     "red.global.add.u32 [%a2], %r0;", "cp.async.commit_group;\nst.global.u32 [%a2], %r0;"],
)  # fmt: skip
def test_a_write_to_the_source_of_a_copy_is_found_before_the_wait_and_not_after_it(write):
    (finding,) = findings(COPY + write + "\n" + WAIT)
    assert (finding.kind, finding.severity, finding.count) == ("missing wait", "error", 32)
    (sighting,) = finding.sightings
    assert "(argument 0 (x) of k + " in sighting.message
    assert "which cp.async.cg.shared.global of line 18 may still read: no cp.async." in sighting.message
    assert [x.where for x in finding.sides] == ["line 18", f"line {sighting.line}"]
    assert finding.sides[1].role == ("updates" if write.startswith("red") else "writes")
    assert not findings(COPY + WAIT + write)


@pytest.mark.parametrize(
    "write",
    [
        "cp.async.cg.shared.global [%r3], [%a2], 16, %r4;\nst.global.u32 [%a2+12], %r0;",
        "cp.async.cg.shared.global [%r3], [%a2], 16, 0;\nst.global.u32 [%a2], %r0;",
        "@%p1 cp.async.cg.shared.global [%r3], [%a2], 16;\n@!%p1 st.global.u32 [%a2], %r0;",
        COPY + "st.global.u32 [%a2+512], %r0;",
        COPY + "cp.async.commit_group;\ncp.async.wait_group 0;\nst.global.u32 [%a2], %r0;",
    ],
)
def test_bytes_that_no_copy_reads_any_more_may_be_written(write):
    assert not findings(write + "\n" + WAIT)


def test_only_threads_that_have_waited_may_write_to_their_sources():
    (finding,) = findings(COPY + "@%p1 cp.async.wait_all;\nst.global.u32 [%a2], %r0;\n")
    assert (finding.kind, finding.count, finding.thread) == ("missing wait", 24, (8, 0, 0))


def test_a_barrier_does_not_replace_the_wait():
    other = "xor.b64 %a2, %a2, 16;\nst.global.u32 [%a2], %r0;\n"
    assert {x.kind for x in findings(COPY + "bar.sync 0;\n" + other + WAIT)} == {"missing wait"}
    assert not findings(COPY + WAIT + "bar.sync 0;\n" + other)


def test_nothing_is_reported_if_the_check_is_off():
    assert not findings(COPY + "st.global.u32 [%a2], %r0;\n", checks=("memory", "races"))


def test_a_copy_of_one_byte_reads_only_that_byte():
    (finding,) = findings(COPY + "st.global.u8 [%a2+15], %r0;\n" + WAIT)
    assert finding.first.message.startswith("writes 1 byte at 0x17f000001000f of global memory")
    assert finding.message.startswith("writes x + 15 bytes (1 byte), which ")
