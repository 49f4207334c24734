# SPDX-License-Identifier: MIT
"""First differences through products, shuffles, shared memory, asynchronous copies and other kernels."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.variants.kernels import products, row_sums

A, B = (np.random.default_rng(0).standard_normal((40, 128)).astype(np.float16)[x] for x in (np.s_[:32], np.s_[32:]))
X = np.random.default_rng(1).standard_normal((4, 64)).astype(np.float32)

REDUCTION = """.version 8.0
.target sm_80
.address_size 64
.visible .entry mean(.param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<5>; .reg .f32 %f<4>;
    .shared .align 4 .b8 s[256];
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [y];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mad.lo.u32 %r5, %r3, %r1, %r2;
    mad.wide.u32 %d3, %r5, 4, %d1;
    mul.wide.u32 %d4, %r4, 4;
    mov.f32 %f1, 0f00000000;
    mov.u32 %r6, %r2;
LOOP:
    ld.global.f32 %f2, [%d3];
    add.rn.f32 %f1, %f1, %f2;
    add.u64 %d3, %d3, %d4;
    add.u32 %r6, %r6, %r4;
    setp.lt.u32 %p, %r6, %r1;
    @%p bra LOOP;
    shfl.sync.bfly.b32 %f2, %f1, 1, 31, -1;
    add.rn.f32 %f1, %f1, %f2;
    shl.b32 %r7, %r2, 2;
    mov.u32 %r8, s;
    add.u32 %r8, %r8, %r7;
    st.shared.f32 [%r8], %f1;
    bar.sync 0;
    setp.ne.u32 %p, %r2, 0;
    @%p exit;
    mov.f32 %f1, 0f00000000;
    mov.u32 %r6, 0;
    mov.u32 %r8, s;
SUM:
    ld.shared.f32 %f2, [%r8];
    add.rn.f32 %f1, %f1, %f2;
    add.u32 %r8, %r8, 8;
    add.u32 %r6, %r6, 2;
    setp.lt.u32 %p, %r6, %r4;
    @%p bra SUM;
    mad.wide.u32 %d2, %r3, 4, %d2;
    st.global.f32 [%d2], %f1;
    ret;
}
"""
"""A block sums a row: each thread some columns, then pairs by a shuffle, then thread 0 all pairs from shared memory."""


def test_rows_of_a_matrix_product_do_not_depend_on_their_tile():
    assert we.ptx.invariance(products(A, B), rows=32, batches=[1, 17, [20, 3]], schedules=2).is_invariant


def test_a_product_whose_k_is_divided_differs_where_the_first_part_ends():
    report = we.ptx.invariance(products(A, B, lambda n: 4 if n < 16 else 1), rows=32, batches=[[20, 3]], schedules=0)
    (change,) = report.changes
    first = change.first
    assert change.rows == (20, 3)
    assert first.kind == "other operations"
    assert first.text.startswith("red.global.add.f32")
    assert first.said[0] == "the 2 operations before it have equal results"  # 32 of 128 k, 16 at a time
    assert first.said[2].startswith("in the reference: mma.sync.aligned.m16n8k16")


def test_the_element_of_a_product_has_its_row_of_a_and_its_column_of_b_as_sources():
    # Another batch changes other rows of the tile: nothing that element (0, 0) is made from.
    other = A.copy()
    other[1:] += 1

    def run(rows, given=0):
        return products([A, other][given], B)(rows)

    report = we.ptx.invariance(run, rows=[0], variants=[{"given": 1}], schedules=0)
    assert report.is_invariant


def test_other_inputs_are_found_at_the_product_that_takes_them():
    other = A.copy()
    other[0, 40] += 1  # in the third product of sixteen k

    def run(rows, given=0):
        return products([A, other][given], B)(rows)

    (change,) = we.ptx.invariance(run, rows=16, variants=[{"given": 1}], schedules=0).changes
    assert change.first.kind == "other terms"
    assert change.first.text.startswith("mma.sync")
    assert change.first.said[0] == "the 2 operations before it have equal results"
    assert change.rows == (0,)


@pytest.mark.parametrize(
    ("threads", "begin", "end"),
    [
        # In the first sums, as many as there are threads, every thread adds its first column to zero.
        (64, "%f1 is 0x00000000, in the reference ", ""),
        (16, "%f1 is 0x", ", in the reference 0x00000000"),
    ],
)
def test_a_reduction_with_other_threads_differs_in_the_terms_of_a_thread(threads, begin, end):
    kernel = we.ptx.Module(REDUCTION, findings="raise")["mean"]
    x = np.random.default_rng(2).standard_normal((8, 256)).astype(np.float32)

    def run(rows, threads=32):
        out = np.zeros(len(rows), np.float32)
        kernel[len(rows), threads](np.ascontiguousarray(x[rows]), out, 256)
        return out

    (change,) = we.ptx.invariance(run, rows=8, variants=[{"threads": threads}], schedules=1).changes
    assert str(change.variant) == f"threads={threads}"
    assert (change.first.kind, change.first.place.line) == ("other terms", 21)
    assert change.first.said[0] == f"the {min(threads, 32)} operations before it have equal results"
    assert any(x.startswith(begin) and x.endswith(end) for x in change.first.said)


def test_a_kernel_whose_inputs_depend_on_its_launch_names_the_special_register():
    text = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 y) {
  .reg .b64 %d; .reg .b32 %r<3>; .reg .f32 %f<2>;
  ld.param.u64 %d, [y]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;
  cvt.rn.f32.u32 %f1, %r2;
  mad.wide.u32 %d, %r1, 4, %d; st.global.f32 [%d], %f1; ret; }"""
    kernel = we.ptx.Module(text)["k"]

    def run(rows):
        y = np.zeros(len(rows), np.float32)
        kernel[len(rows), 1](y)
        return y

    (change,) = we.ptx.invariance(run, rows=4, batches=[1], schedules=0).changes
    assert (change.bits, change.reference_bits) == ("0x3f800000 (1.0)", "0x40800000 (4.0)")
    assert change.first.text == "cvt.rn.f32.u32 %f1, %r2;"
    assert change.first.said[1] == "%r2 is 0x00000001, in the reference 0x00000004"


def test_an_output_that_was_copied_is_found_by_its_bytes():
    sums = row_sums(X, lambda n: 4 if n == 1 else 1)
    (change,) = we.ptx.invariance(lambda rows: sums(rows).copy(), rows=4, batches=[1], schedules=0).changes
    assert change.first.kind == "other operations"


def test_a_trace_that_is_too_long_is_said_to_be_so(monkeypatch):
    monkeypatch.setattr("wmma_emu.ptx.variants.trace.MOST_BYTES", 1000)
    (change,) = we.ptx.invariance(row_sums(X, lambda n: 4 // n), rows=4, batches=[1], schedules=0).changes
    assert change.first.kind == "unknown"
    assert change.first.said == ("the trace of the blocks of the element has more than 1000 bytes",)
