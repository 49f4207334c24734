# SPDX-License-Identifier: MIT
"""Kernels whose rows depend on nothing, on the order of atomic operations, on the grid, or on other launches."""

import numpy as np

import wmma_emu as we

_HEAD = """.version 8.0
.target sm_80
.address_size 64
"""

SUMS = (
    _HEAD
    + """
.visible .entry partial(.param .u64 x, .param .u64 out, .param .u32 columns, .param .u32 step)
{
    .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<5>; .reg .f32 %f<4>;
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [out];
    ld.param.u32 %r1, [columns];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ctaid.y;
    mov.u32 %r4, %nctaid.y;
    div.u32 %r5, %r1, %r4;
    mul.lo.u32 %r6, %r2, %r1;
    mad.lo.u32 %r6, %r3, %r5, %r6;
    mad.wide.u32 %d1, %r6, 4, %d1;
    mov.f32 %f1, 0f00000000;
LOOP:
    ld.global.f32 %f2, [%d1];
    add.rn.f32 %f1, %f1, %f2;
    add.u64 %d1, %d1, 4;
    sub.u32 %r5, %r5, 1;
    setp.ne.u32 %p, %r5, 0;
    @%p bra LOOP;
    ld.param.u32 %r7, [step];
    mul.lo.u32 %r8, %r2, %r7;
    setp.eq.u32 %p, %r7, 1;
    @%p bra ADD;
    add.u32 %r8, %r8, %r3;
    mad.wide.u32 %d2, %r8, 4, %d2;
    st.global.f32 [%d2], %f1;
    ret;
ADD:
    mad.wide.u32 %d2, %r8, 4, %d2;
    red.global.add.f32 [%d2], %f1;
    ret;
}

.visible .entry combine(.param .u64 x, .param .u64 out, .param .u32 parts)
{
    .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<3>; .reg .f32 %f<4>;
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [out];
    ld.param.u32 %r1, [parts];
    mov.u32 %r2, %ctaid.x;
    mad.wide.u32 %d2, %r2, 4, %d2;
    mul.lo.u32 %r3, %r2, %r1;
    mad.wide.u32 %d1, %r3, 4, %d1;
    mov.f32 %f1, 0f00000000;
LOOP:
    ld.global.f32 %f2, [%d1];
    add.rn.f32 %f1, %f1, %f2;
    add.u64 %d1, %d1, 4;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p, %r1, 0;
    @%p bra LOOP;
    st.global.f32 [%d2], %f1;
    ret;
}
"""
)
"""``partial`` sums the columns of a row in as many parts as the grid has in y; it stores the parts, or adds them."""

PRODUCT = (
    _HEAD
    + """
.visible .entry product(.param .u64 a, .param .u64 b, .param .u64 d, .param .u32 k)
{
    .reg .pred %p; .reg .b32 %r<32>; .reg .b64 %d<9>; .reg .f32 %f<5>;
    ld.param.u64 %d1, [a];
    ld.param.u64 %d2, [b];
    ld.param.u64 %d3, [d];
    ld.param.u32 %r1, [k];
    mov.u32 %r2, %laneid;
    shr.u32 %r3, %r2, 2;
    and.b32 %r4, %r2, 3;
    mov.u32 %r5, %ctaid.x;
    mov.u32 %r6, %ctaid.y;
    mov.u32 %r7, %nctaid.y;
    div.u32 %r8, %r1, %r7;
    mad.lo.u32 %r9, %r5, 16, %r3;
    mul.lo.u32 %r10, %r6, %r8;
    mad.lo.u32 %r10, %r4, 2, %r10;
    mad.lo.u32 %r11, %r9, %r1, %r10;
    mad.wide.u32 %d1, %r11, 2, %d1;
    mad.lo.u32 %r12, %r3, %r1, %r10;
    mad.wide.u32 %d2, %r12, 2, %d2;
    mul.wide.u32 %d4, %r1, 16;
    mov.f32 %f1, 0f00000000;
    mov.f32 %f2, 0f00000000;
    mov.f32 %f3, 0f00000000;
    mov.f32 %f4, 0f00000000;
LOOP:
    add.u64 %d5, %d1, %d4;
    ld.global.b32 %r20, [%d1];
    ld.global.b32 %r21, [%d5];
    ld.global.b32 %r22, [%d1+16];
    ld.global.b32 %r23, [%d5+16];
    ld.global.b32 %r24, [%d2];
    ld.global.b32 %r25, [%d2+16];
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4},
        {%r20, %r21, %r22, %r23}, {%r24, %r25}, {%f1, %f2, %f3, %f4};
    add.u64 %d1, %d1, 32;
    add.u64 %d2, %d2, 32;
    sub.u32 %r8, %r8, 16;
    setp.ne.u32 %p, %r8, 0;
    @%p bra LOOP;
    mul.lo.u32 %r13, %r9, 8;
    mad.lo.u32 %r13, %r4, 2, %r13;
    mad.wide.u32 %d3, %r13, 4, %d3;
    red.global.add.f32 [%d3], %f1;
    red.global.add.f32 [%d3+4], %f2;
    red.global.add.f32 [%d3+256], %f3;
    red.global.add.f32 [%d3+260], %f4;
    ret;
}
"""
)
"""D += A B, B of eight columns in column order: a warp for 16 rows, and k in as many parts as the grid has in y."""


def sums():
    module = we.ptx.Module(SUMS, findings="raise")
    return module["partial"], module["combine"]


def row_sums(x, parts_of=lambda rows: 1, two_steps=False):
    """A function of rows that sums them in ``parts_of(number of rows)`` parts."""
    partial, combine = sums()

    def run(rows, parts=0):
        parts = parts or parts_of(len(rows))
        given = np.ascontiguousarray(x[rows])
        out = np.zeros(len(rows), np.float32)
        if two_steps:
            work = np.zeros((len(rows), parts), np.float32)
            partial[(len(rows), parts), 1](given, work, x.shape[1], parts)
            combine[len(rows), 1](work, out, parts)
        else:
            partial[(len(rows), parts), 1](given, out, x.shape[1], 1)
        return out

    return run


def products(a, b, parts_of=lambda rows: 1):
    """A function of rows of A that multiplies them by B, given by columns, in parts of k."""
    kernel = we.ptx.Module(PRODUCT, engine="numpy", findings="raise")["product"]

    def run(rows, parts=0):
        padded = np.zeros((-(-len(rows) // 16) * 16, a.shape[1]), np.float16)
        padded[: len(rows)] = a[rows]
        d = np.zeros((len(padded), 8), np.float32)
        kernel[(len(padded) // 16, parts or parts_of(len(rows))), 32](padded, b, d, a.shape[1])
        return d[: len(rows)]

    return run
