# SPDX-License-Identifier: MIT
"""Kernels for the tests of profiles."""

import numpy as np

import wmma_emu as we

HEAD = """.version 8.0
.target sm_90
.address_size 64
"""

TRANSPOSED = (
    HEAD
    + """
.visible .entry transposed(.param .u64 x)
{
  .reg .b32 %r<6>; .reg .b64 %d<4>;
  .shared .align 16 .b8 s[SHARED];
  ld.param.u64 %d1, [x];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d1, %d1, %d2;
  ld.global.u32 %r2, [%d1];
  mov.u32 %r3, s;
  mad.lo.u32 %r3, %r1, PITCH, %r3;
  .loc 1 7 3
  st.shared.u32 [%r3], %r2;
  .loc 1 8 3
  bar.sync 0;
  ld.shared.u32 %r4, [%r3];
  .loc 1 9 3
  st.global.u32 [%d1], %r4;
  ret;
}
.file 1 "transposed.cu"
"""
)
"""A kernel whose lanes store and load shared memory at a pitch: 128 bytes is a 32-way conflict."""

DIVERGING = (
    HEAD
    + """
.visible .entry diverging(.param .u64 x, .param .u32 n)
{
  .reg .pred %p<4>; .reg .b32 %r<6>; .reg .b64 %d<4>;
  ld.param.u64 %d1, [x];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %d2, %r2, 4;
  add.u64 %d1, %d1, %d2;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra DONE;
  st.global.u32 [%d1], %r2;
DONE:
  setp.eq.u32 %p2, %r2, 0;
  @%p2 red.global.add.u32 [%d1], 1;
  ret;
}
"""
)
"""A kernel whose first n threads store."""


def profile_of(text, kernel, grid, block, *arguments):
    module = we.ptx.Module(text, arch="sm_90", findings="report")
    return module[kernel][grid, block](*arguments, profile=True).profile


def transposed(pitch, warps=1):
    text = TRANSPOSED.replace("PITCH", str(pitch)).replace("SHARED", str(max(pitch * 32 * warps, 128)))
    return profile_of(text, "transposed", 1, 32 * warps, np.arange(32 * warps, dtype=np.uint32))


GUARDED_BARRIER = (
    HEAD
    + """
.visible .entry guarded(.param .u64 x)
{
  .reg .pred %p; .reg .b32 %r<3>; .reg .b64 %d;
  ld.param.u64 %d, [x];
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p, %r1, 32;
  @%p bar.sync 0, 32;
  ld.global.u32 %r2, [%d];
  ret;
}
"""
)
"""A kernel in which the first warp arrives at a barrier, and all threads load one word."""
