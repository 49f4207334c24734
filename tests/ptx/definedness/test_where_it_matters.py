# SPDX-License-Identifier: MIT
"""Uninitialised values in kernels, found where they matter, with their origin; each kernel with a corrected twin."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_kernels import launch, numbers, put

TILE = ".shared .align 16 .b8 tile[1024];"
LOCAL = ".local .align 8 .b8 own[16];\n"
GUARD = "setp.lt.u32 %p1, %r0, 20;\n"
SLOT = "mov.u64 %rd8, tile;\nadd.u64 %rd8, %rd8, %rd0;\n"

PLANTED = {
    "a border of a tile": (
        SLOT + GUARD + "@%p1 st.shared.u32 [%rd8], %r0;\nld.shared.u32 %r2, [%rd8];\n" + put("%r2"),
        SLOT + GUARD + "@%p1 st.shared.u32 [%rd8], %r0;\nld.shared.u32 %r2, [%rd8];\n"
        "selp.u32 %r2, %r2, 0, %p1;\n" + put("%r2"),
        "st.global.u32",
        "4 bytes at 0x450 of shared memory (tile + 80), which was never written; it is loaded at line 19",
    ),
    "the upper half of a pair": (
        "mov.b64 %rd9, {%r0, %r9};\nmov.b64 {%r2, %r3}, %rd9;\n" + put("%r3"),
        "mov.b64 %rd9, {%r0, %r9};\nmov.b64 {%r2, %r3}, %rd9;\n" + put("%r2"),
        "st.global.u32", "%r9, which was never written",
    ),
    "bits within a byte": (
        "bfi.b32 %r2, %r0, %r9, 0, 5;\nst.global.u8 [%rd1], %r2;",
        "bfi.b32 %r2, %r0, %r9, 0, 8;\nst.global.u8 [%rd1], %r2;",
        "st.global.u8", "%r9",
    ),
    "an address of a local array": (
        LOCAL + "st.local.u32 [own], %r0;\nld.local.u64 %rd9, [own];\nst.global.u32 [%rd9], %r0;",
        LOCAL + "st.local.u32 [own], %r0;\nst.local.u32 [own+4], 0;\nld.local.u64 %rd9, [own];\n"
        "add.u64 %rd9, %rd9, %rd1;\nand.b64 %rd9, %rd9, -4;\nst.global.u32 [%rd9], %r0;",
        "st.global.u32", "the address depends on 4 bytes at 0x4 of local memory (own + 4)",
    ),
    "a branch on a sum of lanes": (
        "setp.lt.u32 %p1, %r0, 12;\n@%p1 mov.u32 %r9, 1;\nredux.sync.add.u32 %r2, %r9, -1;\n"
        "setp.gt.u32 %p2, %r2, 3;\n@%p2 bra L;\nL: ret;",
        "setp.lt.u32 %p1, %r0, 12;\nmov.u32 %r9, 0;\n@%p1 mov.u32 %r9, 1;\nredux.sync.add.u32 %r2, %r9, -1;\n"
        "setp.gt.u32 %p2, %r2, 3;\n@%p2 bra L;\nL: ret;",
        "@%p2 bra L;", "the guard depends on %r9",
    ),
    "a ballot used as a mask": (
        GUARD + "@%p1 setp.eq.u32 %p2, %r0, %r0;\nvote.sync.ballot.b32 %r2, %p2, -1;\n"
        "shfl.sync.idx.b32 %r3, %r0, 0, 31, %r2;",
        GUARD + "setp.eq.u32 %p2, %r0, %r0;\nvote.sync.ballot.b32 %r2, %p2, -1;\n"
        "shfl.sync.idx.b32 %r3, %r0, 0, 31, %r2;",
        "shfl.sync", "the membermask depends on %p2",
    ),
    "the operand of an atomic": (
        "red.global.add.u32 [%rd1], %r9;", "mov.u32 %r9, 1;\nred.global.add.u32 [%rd1], %r9;",
        "red.global", "the operand depends on %r9",
    ),
    "a total that was not set to zero": (
        "atom.shared.add.u32 %r2, [tile], 1;",
        "setp.eq.u32 %p1, %r0, 0;\n@%p1 st.shared.u32 [tile], 0;\nbar.sync 0;\natom.shared.add.u32 %r2, [tile], 1;",
        "atom.shared", "the old value of the atomic operation depends on 4 bytes at 0x400 of shared memory (tile + 0)",
    ),
    "what an exchange finds": (
        "setp.eq.u32 %p1, %r0, 0;\n@%p1 atom.shared.exch.b32 %r2, [tile], 1;\n@%p1 st.global.u32 [%rd1], %r2;",
        "setp.eq.u32 %p1, %r0, 0;\n@%p1 atom.shared.exch.b32 %r2, [tile], 1;\n"
        "@%p1 atom.shared.exch.b32 %r2, [tile], 1;\n@%p1 st.global.u32 [%rd1], %r2;",
        "st.global.u32", "4 bytes at 0x400 of shared memory (tile + 0)",
    ),
    "the condition of a trap": (
        "@%p3 trap;", "setp.eq.u32 %p3, %r0, 99;\n@%p3 trap;", "trap", "the guard depends on %p3",
    ),
    "the number of a barrier": (
        "bar.sync %r9;", "mov.u32 %r9, 1;\nbar.sync %r9;", "bar.sync", "an operand of the barrier",
    ),
    "a size of a copy": (
        "cp.async.ca.shared.global [tile], [%rd1], 4, %r9;\ncp.async.wait_all;",
        "mov.u32 %r9, 4;\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 cp.async.ca.shared.global [tile], [%rd1], 4, %r9;\n"
        "cp.async.wait_all;",
        "cp.async", "an operand depends on %r9",
    ),
}  # fmt: skip


def run(body):
    return launch(body, numbers(64), before=TILE)


@pytest.mark.parametrize("name", PLANTED)
def test_uninitialised_data_is_found_where_it_matters_with_its_origin(name):
    wrong, right, text, origin = PLANTED[name]
    found = [x for x in run(wrong).findings if x.kind == "uninitialised"]
    assert len(found) == 1, found
    assert text in found[0].text
    assert [origin in x.message for x in found[0].sightings] == [True]
    assert [x for x in run(right).findings if x.kind == "uninitialised"] == []


@pytest.mark.parametrize(
    "body",
    [
        "mov.b32 {%h1, %h2}, %r0;\nmov.b32 %r2, {%h1, %h7};\nand.b32 %r2, %r2, 0xffff;\n" + put("%r2"),
        "st.shared.u8 [tile], 7;\nbar.warp.sync -1;\nld.shared.u32 %r2, [tile];\nprmt.b32 %r2, %r2, 0, 0x4440;\n"
        + put("%r2"),
        "bfi.b32 %r2, %r0, %r9, 3, 5;\n" + LOCAL + "st.local.u32 [own], %r2;\nld.local.u32 %r3, [own];\n"
        "bfe.u32 %r4, %r3, 3, 5;\n" + put("%r4"),
        "cvt.rn.f32.u32 %f1, %r0;\ncvt.rn.satfinite.e4m3x2.f32 %h1, %f9, %f1;\nadd.s64 %rd9, %rd1, %rd0;\n"
        "st.global.u8 [%rd9], %h1;",
        "cvt.rn.f32.u32 %f1, %r0;\ncvt.rn.f16x2.f32 %r2, %f9, %f1;\nadd.rn.f16x2 %r3, %r2, %r2;\n"
        "mov.b32 {%h1, %h2}, %r3;\nadd.s64 %rd9, %rd1, %rd0;\nst.global.b16 [%rd9], %h1;",
        "mul.lo.u32 %r2, %r9, 0;\n" + put("%r2"),
        "xor.b32 %r2, %r9, %r9;\n" + put("%r2"),
        "shl.b32 %r2, %r9, 16;\nsetp.ne.u16 %p1, %h7, %h7;\nmov.b32 {%h1, %h2}, %r2;\nst.global.b16 [%rd1], %h1;",
        "or.b32 %r2, %r9, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra L;\nL: ret;",
        "or.b32 %r2, %r9, 1;\nand.b32 %r2, %r2, 1;\nsetp.eq.u32 %p1, %r2, 1;\n@%p1 bra L;\nL: ret;",
        "bfi.b32 %r2, %r9, 0, 0, 8;\nsetp.lt.u32 %p1, %r2, 256;\n@%p1 bra L;\nL: ret;",
        "bfi.b32 %r2, 0x3210, %r9, 0, 16;\nprmt.b32 %r2, %r0, %r0, %r2;\n" + put("%r2"),
        "bfi.b32 %r2, 1, %r9, 0, 2;\nprmt.b32.f4e %r2, %r0, %r0, %r2;\n" + put("%r2"),
        "bfi.b32 %r2, 8, %r9, 0, 5;\nshf.l.wrap.b32 %r2, %r0, %r0, %r2;\n" + put("%r2"),
    ],
    ids=[
        "the low half of a packed word", "a byte of a word", "a bit field in local memory", "one fp8 of two",
        "one half of two, through a sum", "times zero", "against itself", "shifted out", "decided by a defined bit",
        "masked", "below a bound whatever the low byte is", "above the selectors of prmt", "above a mode's selector",
        "above a shift that wraps",
    ],
)  # fmt: skip
def test_harmless_uses_are_not_reported(body):
    registers = ".reg .b16 %h<8>;\n.reg .f32 %f<16>;\n"
    assert not launch(registers + body, numbers(64), before=TILE, checks=("undefined",)).findings


def test_a_missing_byte_of_an_element_is_a_warning():
    body = "st.shared.u8 [tile], 7;\nld.shared.u32 %r2, [tile];\nst.global.u32 [%rd1], %r2;"
    found = [x for x in launch(body, numbers(), block=1, before=TILE).findings]
    assert [(x.kind, x.severity) for x in found] == [("partly uninitialised", "warning")]
    assert "3 bytes at 0x401 of shared memory (tile + 1), which was never written" in found[0].first.message
    assert found[0].element == "tile + 1 byte"
    assert "tile + 1 byte (3 bytes), which was never written" in found[0].message
    whole = "st.shared.u32 [tile], 7;\nld.shared.u32 %r2, [tile];\nst.global.u32 [%rd1], %r2;"
    assert not launch(whole, numbers(), block=1, before=TILE).findings


@pytest.mark.parametrize(
    "body",
    [
        "ld.shared.u8 %r2, [tile];",
        "ld.shared.u16 %r2, [tile];",
        "ld.shared.u32 %r2, [tile];\nshl.b32 %r2, %r2, 16;",
        "ld.shared.u32 %r2, [tile];\nmul.lo.u32 %r2, %r2, 256;",
        "ld.shared.u32 %r2, [tile];\nand.b32 %r2, %r2, 255;",
    ],
    ids=["a byte", "a half", "shifted", "multiplied", "masked"],
)
def test_a_value_without_an_initialised_byte_is_an_error_whatever_it_is_extended_with(body):
    found = launch(body + "\nst.global.u32 [%rd1], %r2;", numbers(), block=1, before=TILE).findings
    assert [(x.kind, x.severity) for x in found] == [("uninitialised", "error")]


def test_a_stored_uninitialised_byte_is_tracked_through_global_memory():
    body = (
        "st.shared.u8 [tile], 7;\nld.shared.u32 %r2, [tile];\nst.global.u32 [%rd1], %r2;\nld.global.u32 %r3, [%rd1];\n"
        "setp.eq.u32 %p1, %r3, 7;\n@%p1 bra L;\nL: ret;"
    )
    kinds = [(x.kind, x.text) for x in launch(body, numbers(), block=1, before=TILE).findings]
    assert kinds == [("partly uninitialised", "st.global.u32 [%rd1], %r2;"), ("uninitialised", "@%p1 bra L;")]


def test_copied_bytes_are_as_undefined_as_their_source():
    body = (
        SLOT + "add.u64 %rd9, %rd1, %rd0;\ncp.async.ca.shared.global [%rd8], [%rd9], 4;\ncp.async.wait_all;\n"
        "ld.shared.u32 %r2, [%rd8];\n" + put("%r2", "%rd2")
    )
    x = we.ptx.empty(32, np.uint32)
    x[:30] = 4
    (finding,) = launch(body, x, numbers(), before=TILE).findings
    assert (finding.kind, finding.count, finding.thread) == ("uninitialised", 2, (30, 0, 0))
    assert "of global memory (argument 0 (p1) of k + 120), which was never written" in finding.first.message
    assert (finding.variable, finding.element) == ("p1", "p1 + 120 bytes")
    x[30:] = 4
    assert not launch(body, x, numbers(), before=TILE).findings


FRAGMENTS = """mov.u64 %rd8, tile;
    shl.b64 %rd9, %rd0, 2;
    add.u64 %rd9, %rd8, %rd9;
    setp.lt.u32 %p1, %r0, {rows};
    @%p1 st.shared.v4.u32 [%rd9], {{0, 0, 0, 0}};
    bar.warp.sync -1;
    and.b64 %rd10, %rd0, 28;
    shl.b64 %rd10, %rd10, 2;
    add.u64 %rd10, %rd8, %rd10;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r2}}, [%rd10];
    mov.u32 %r3, 0;
    mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {{%f0, %f1, %f2, %f3}}, {{%r3, %r3}}, {{%r2}},
        {{%r3, %r3, %r3, %r3}};
    and.b32 %r4, %r0, 3;
    setp.lt.u32 %p2, %r4, 3;
    add.u64 %rd11, %rd1, %rd0;
    {guard} st.global.f32 [%rd11], %f1;"""


@pytest.mark.parametrize(
    ("rows", "guard", "count"), [(7, "", 8), (7, "@%p2", 0), (8, "", 0)], ids=["stored", "not stored", "written"]
)
def test_a_row_beyond_the_edge_is_a_column_of_the_product(rows, guard, count):
    body = ".reg .f32 %f<4>;\n" + FRAGMENTS.format(rows=rows, guard=guard)
    found = launch(body, numbers(), before=TILE).findings
    assert sum(x.count for x in found) == count
    if count:  # lanes with lane % 4 == 3 hold columns 6 and 7; %f1 is the odd one
        assert found[0].thread == (3, 0, 0)
        assert "4 bytes at 0x470 of shared memory (tile + 112), which was never written" in found[0].first.message
        assert (found[0].variable, found[0].element) == ("tile", "tile + 112 bytes")


INITCHECK = """add.u64 %rd9, %rd1, %rd0;
    ld.global.u32 %r2, [%rd9];
    add.u32 %r3, %r2, %r0;
    st.global.u32 [%rd9], %r3;"""


@pytest.mark.parametrize("cleared", [0, 32 // 4], ids=["never", "as many bytes as there are elements"])
def test_reads_of_uninitialised_global_memory_are_found(cleared):
    x = we.ptx.empty(32, np.uint32)
    x[:cleared] = 0
    (finding,) = launch(INITCHECK, x).findings
    assert (finding.kind, finding.count, finding.thread) == ("uninitialised", 32 - cleared, (cleared, 0, 0))
    repaired = we.ptx.empty(32, np.uint32)
    repaired[:] = 0
    assert not launch(INITCHECK, repaired).findings


def test_without_the_check_nothing_is_tracked():
    x = we.ptx.empty(32, np.uint32)
    assert not launch(INITCHECK, x, checks=("memory", "races", "synchronisation")).findings
