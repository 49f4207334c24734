# SPDX-License-Identifier: MIT
"""Padding of structures, which compilers copy as separate elements, is a warning; missing data are an error."""

import numpy as np
import pytest

import wmma_emu as we

TEXT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry {name}(.param .u64 out)
{{
    .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %a<5>; .reg .f64 %d<3>;
    .shared .align 16 .b8 tile[512];
    ld.param.u64 %a0, [out];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %a1, %r0, 16;
    add.s64 %a2, %a0, %a1;
    add.s64 %a3, %a2, 8;
    mov.u32 %r1, tile;
    shl.b32 %r2, %r0, 4;
    add.s32 %r3, %r1, %r2;
    {body}
    ret;
}}"""

WRITE = {  # four words of a thread
    n: "".join(f"st.shared.u32 [%r3+{4 * i}], %r0;\n" for i in n) for n in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))
}
COPY = "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3];\nst.global.v4.u32 [%a2], {%r4, %r5, %r6, %r7};"
APART = "ld.shared.u32 %r6, [%r3+8];\nld.shared.u32 %r7, [%r3+12];\nst.global.u32 [%a2+8], %r6;\n"
CLASS, VECTOR, BYTES, UNKNOWN = "_Z1kP6Record", "_Z1kP4int4", "_Z1kPh", "k"


def found(body, name):
    module = we.ptx.Module(TEXT.format(name=name, body=body), arch="sm_80", findings="report")
    out = np.zeros((32, 16), np.uint8).view(np.int32 if name == VECTOR else np.uint8)
    return {(x.kind, x.severity) for x in module[name][1, 32](out).findings}


WARNING, ERROR = {("partly uninitialised", "warning")}, {("uninitialised", "error")}


@pytest.mark.parametrize("name", [CLASS, BYTES, UNKNOWN])
def test_the_last_word_of_a_structure_may_be_padding_that_is_copied_with_it(name):
    assert found(WRITE[0, 1, 2] + COPY, name) == WARNING


@pytest.mark.parametrize("name", [CLASS, BYTES, UNKNOWN])
@pytest.mark.parametrize("written", [(0, 1, 3), (1, 2, 3)])
def test_words_before_data_that_need_no_padding_are_errors(name, written):
    assert found(WRITE[written] + COPY, name) == ERROR


@pytest.mark.parametrize("name", [CLASS, BYTES, UNKNOWN])
def test_padding_before_an_aligned_member_is_a_warning(name):
    assert found(WRITE[0, 2, 3] + COPY, name) == WARNING


@pytest.mark.parametrize("written", list(WRITE))
def test_vectors_have_no_padding(written):
    assert found(WRITE[written] + COPY, VECTOR) == ERROR


@pytest.mark.parametrize("name", [CLASS, UNKNOWN])
@pytest.mark.parametrize(
    "store",
    [
        "st.global.u32 [%a2+12], %r7;",
        "st.global.u32 [%a3+4], %r7;",
        "mov.b32 %r8, %r7;\nst.global.u32 [%a3+4], %r8;",
    ],
)
def test_padding_may_be_stored_separately_after_the_data_that_the_thread_copies(name, store):
    assert found(WRITE[0, 1, 2] + APART + store, name) == WARNING


def test_a_word_that_is_copied_alone_may_be_padding_only_of_a_class():
    alone = WRITE[0, 1, 2] + "ld.shared.u32 %r7, [%r3+12];\nst.global.u32 [%a2], %r7;"
    assert found(alone, CLASS) == WARNING
    assert found(alone, UNKNOWN) == ERROR


@pytest.mark.parametrize("name", [CLASS, UNKNOWN])
@pytest.mark.parametrize(
    "change",
    ["add.s32 %r7, %r7, 1;", "shl.b32 %r7, %r7, 8;", "and.b32 %r7, %r7, 255;", "ld.shared.u8 %r7, [%r3+12];",
     "ld.shared.s8 %r7, [%r3+12];", "shr.s32 %r7, %r7, 8;"],
)  # fmt: skip
def test_computed_or_extended_values_are_not_padding(name, change):
    assert found(WRITE[0, 1, 2] + APART + change + "\nst.global.u32 [%a2+12], %r7;", name) == ERROR


def test_uninitialised_registers_may_be_padding_after_others_of_the_same_store():
    store = "st.global.v2.u32 [%a2], {{{}}};"
    assert found(store.format("%r0, %r9"), CLASS) == WARNING
    assert found(store.format("%r0, %r9"), UNKNOWN) == WARNING
    for name, pair in ((CLASS, "%r9, %r0"), (CLASS, "%r9, %r9"), (VECTOR, "%r0, %r9"), (UNKNOWN, "%r9, %r9")):
        assert found(store.format(pair), name) == ERROR


def test_an_entirely_uninitialised_structure_is_an_error():
    assert found(COPY, CLASS) == ERROR
    assert found(COPY, UNKNOWN) == ERROR


def test_bytes_of_padding_may_be_split_and_stored_to_shared_memory_before():
    pieces = "ld.shared.u16 %h0, [%r3+12];\nshr.u16 %h1, %h0, 8;\n"
    pieces += "st.shared.u8 [%r3+12], %h0;\nst.shared.u8 [%r3+13], %h1;\n"
    copy = "ld.shared.v4.u16 {%h2, %h3, %h4, %h5}, [%r3+8];\nst.global.v4.u16 [%a2+8], {%h2, %h3, %h4, %h5};"
    assert found(WRITE[0, 1, 2] + pieces + copy, CLASS) == WARNING


def test_a_structure_aligned_to_32_bytes_has_padding_of_whole_vectors():
    wide = "mul.wide.u32 %a1, %r0, 32;\nadd.s64 %a2, %a0, %a1;\nand.b32 %r10, %r0, 7;\nshl.b32 %r10, %r10, 5;\n"
    wide += "add.s32 %r3, %r1, %r10;\nst.shared.u64 [%r3], 1;\nbar.warp.sync -1;\n"
    wide += "ld.shared.u64 %a4, [%r3];\nst.global.u64 [%a2], %a4;\n"
    wide += "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3+16];\nst.global.v4.u32 [%a2+16], {%r4, %r5, %r6, %r7};"
    for name, expected in ((CLASS, WARNING), (UNKNOWN, ERROR)):
        module = we.ptx.Module(TEXT.format(name=name, body=wide), arch="sm_80", findings="report")
        findings = module[name][1, 32](np.zeros(1024, np.uint8), checks=("undefined",)).findings
        assert {(x.kind, x.severity) for x in findings} == expected
