# SPDX-License-Identifier: MIT
"""Threads that synchronise by fences and atomic operations, or by barriers of some threads, on both machines."""

import numpy as np
import pytest

from tests.ptx.native.machines import module, require_flag, require_native

pytest.importorskip("llvmlite")

RETURN = "st.global.u32 [%d1], %r1; ret;"
LAST_BLOCK = """
  .shared .b32 f;
  setp.eq.u32 %p0, %r31, 0; add.u64 %d5, %d3, 64; add.u32 %r2, %r0, 5; st.global.u32 [%d5], %r2;
  membar.gl; bar.sync 0;
  @!%p0 bra A; atom.global.add.u32 %r3, [%d0], 1; st.shared.u32 [f], %r3;
  A: bar.sync 0; ld.shared.u32 %r3, [f]; mov.u32 %r1, 1; setp.ne.u32 %p1, %r3, 3; @%p1 bra E;
  membar.gl; mul.wide.u32 %d6, %r31, 4; add.u64 %d6, %d6, %d0;
  ld.global.u32 %r4, [%d6+64]; ld.global.u32 %r5, [%d6+320]; add.u32 %r1, %r4, %r5;
  E: """
HALVES = """
  .shared .b32 s[96];
  mov.u32 %r3, s; shl.b32 %r2, %r31, 2; add.u32 %r4, %r2, %r3; st.shared.u32 [%r4], %r0;
  and.b32 %r5, %r31, 16; setp.eq.u32 %p0, %r5, 0; selp.b32 %r6, 0xffff, 0xffff0000, %p0;
  bar.warp.sync %r6; xor.b32 %r2, %r2, 4; add.u32 %r4, %r2, %r3; ld.shared.u32 %r1, [%r4]; """
PART = """
  .shared .b32 s[96];
  mov.u32 %r3, s; shl.b32 %r2, %r31, 2; add.u32 %r2, %r2, %r3; mov.u32 %r1, 0; setp.ge.u32 %p0, %r31, 64; @%p0 bra E;
  setp.ge.u32 %p1, %r31, 32; @%p1 bra C; st.shared.u32 [%r2], %r0; bar.arrive 1, 64; bra E;
  C: bar.sync 1, 64; ld.shared.u32 %r1, [%r2+-128];
  E: """
WAIT = """
  setp.eq.u32 %p0, %r29, 0; setp.eq.u32 %p1, %r31, 0; mul.wide.u32 %d6, %r31, 4; add.u64 %d6, %d6, %d0; mov.u32 %r1, 5;
  @!%p0 bra W; st.global.u32 [%d6+64], %r0; bar.sync 0; @!%p1 bra E; st.release.gpu.global.u32 [%d0], 1; bra E;
  W: @!%p1 bra V; L: ld.acquire.gpu.global.u32 %r3, [%d0]; setp.eq.u32 %p2, %r3, 0; @%p2 bra L;
  V: bar.sync 0; ld.global.u32 %r1, [%d6+64];
  E: """

RIGHT = {
    "the last block reads data that others wrote before a fence": LAST_BLOCK,
    "a releasing operation of one thread after a barrier": LAST_BLOCK.replace("membar.gl; bar", "bar").replace(
        "atom.global.add", "atom.acq_rel.gpu.global.add"
    ),
    "blocks that wait for a flag": WAIT,
    "halves of warps": HALVES,
    "a barrier of two warps, at which one does not wait": PART,
}
WRONG = {
    "without the fence": LAST_BLOCK.replace("membar.gl; bar", "bar"),
    "without the barrier after the fence": LAST_BLOCK.replace("membar.gl; bar.sync 0;", "membar.gl;"),
    "a fence of the block only": LAST_BLOCK.replace("membar.gl; bar", "membar.cta; bar"),
    "a flag that is not released": WAIT.replace("st.release", "st.relaxed"),
    "a write after the fence": WAIT.replace("st.release.gpu", "membar.gl; st.global.u32 [%d6+64], 7; st.relaxed.gpu"),
    "a weak flag": WAIT.replace("st.release.gpu", "st"),
    "the other half": HALVES.replace("xor.b32 %r2, %r2, 4", "xor.b32 %r2, %r2, 64"),
    "before the barrier": PART.replace("C: bar.sync 1, 64; ", "C: ").replace("E: ", "bar.sync 1, 64; E: "),
}
ARRAYS = np.zeros(512, np.uint32), np.zeros(4 * 96, np.uint32)


@pytest.mark.parametrize("name", RIGHT)
def test_ordered_accesses_have_no_flag(name):
    native, numpy = require_native(module(RIGHT[name] + RETURN)["k"][4, 96], *ARRAYS)
    assert native.steps == numpy.steps


@pytest.mark.parametrize("name", WRONG)
def test_accesses_that_nothing_orders_are_a_finding(name):
    assert require_flag(module(WRONG[name] + RETURN)["k"][4, 96], "there may be a race", *ARRAYS).findings
