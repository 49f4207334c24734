# SPDX-License-Identifier: MIT
"""Launches whose result depends on the order of threads: the bits, the counts and the steps of the NumPy machine."""

import numpy as np
import pytest

from tests.ptx.native.machines import module, require_flag, require_native

pytest.importorskip("llvmlite")

from wmma_emu.ptx.native import run, workers

RETURN = "st.global.u32 [%d1], %r1; ret;"

BODIES = {
    "sums of floats": """
        cvt.rn.f32.u32 %f1, %r0; mul.f32 %f1, %f1, 0f3DCCCCCD; red.global.add.f32 [%d0], %f1; mov.u32 %r1, 0; """,
    "old values": "atom.global.add.u32 %r1, [%d0], 3; atom.global.exch.b32 %r2, [%d0+4], %r1; xor.b32 %r1, %r1, %r2; ",
    "two operations of one basic block": """
        atom.global.exch.b32 %r1, [%d0], %r0; atom.global.inc.u32 %r2, [%d0], 50; xor.b32 %r1, %r1, %r2; """,
    "trip counts differ": """
        and.b32 %r2, %r0, 13; mov.u32 %r1, 0;
        L: setp.eq.u32 %p0, %r2, 0; @%p0 bra E; atom.global.exch.b32 %r3, [%d0], %r0; xor.b32 %r1, %r1, %r3;
        sub.u32 %r2, %r2, 1; bra L;
        E: """,
    "warps take different paths between barriers": """
        .shared .f32 s[2];
        shl.b32 %r3, %r31, 2; and.b32 %r3, %r3, 4; mov.u32 %r4, s; add.u32 %r4, %r4, %r3;
        setp.lt.u32 %p0, %r31, 2; @%p0 st.shared.u32 [%r4], 0; bar.sync 0;
        cvt.rn.f32.u32 %f1, %r0; mul.f32 %f1, %f1, 0f3DCCCCCD; shr.u32 %r5, %r31, 5; and.b32 %r5, %r5, 1;
        setp.eq.u32 %p1, %r5, 1; @%p1 bra A; atom.shared.add.f32 %f2, [%r4], %f1; bra B;
        A: mul.f32 %f1, %f1, 0f40490FDB; atom.shared.add.f32 %f2, [%r4], %f1;
        B: bar.sync 0; ld.shared.f32 %f3, [s]; add.f32 %f2, %f2, %f3; red.global.add.f32 [%d0+8], %f2;
        mov.b32 %r1, %f2; """,
    "turns of loops that run long": """
        mov.u32 %r1, 0; and.b32 %r2, %r0, 63; mul.lo.u32 %r2, %r2, 7;
        L: setp.eq.u32 %p0, %r2, 0; @%p0 bra E; atom.global.exch.b32 %r3, [%d0], %r0; mad.lo.u32 %r1, %r1, 31, %r3;
        sub.u32 %r2, %r2, 1; bra L;
        E: mov.u32 %r4, 99;
        M: setp.eq.u32 %p0, %r4, 0; @%p0 bra F; atom.global.exch.b32 %r3, [%d0], %r1; mad.lo.u32 %r1, %r1, 33, %r3;
        sub.u32 %r4, %r4, 1; bra M;
        F: """,
    "a warp exits before a barrier": """
        mov.u32 %r1, 5; setp.gt.u32 %p0, %r31, 63; @%p0 bra E; bar.sync 1, 64; atom.global.exch.b32 %r1, [%d0], %r0;
        E: """,
    "lanes meet again in a warp": """
        and.b32 %r2, %r0, 1; setp.eq.u32 %p0, %r2, 1; @%p0 bra A; atom.global.exch.b32 %r1, [%d0], %r0; bra B;
        A: atom.global.exch.b32 %r1, [%d0], 77;
        B: bar.warp.sync 0xffffffff; shfl.sync.bfly.b32 %r3, %r1, 1, 0x1f, 0xffffffff;
        atom.global.exch.b32 %r1, [%d0], %r3; """,
    "the mask of active lanes in a loop": """
        and.b32 %r2, %r0, 63; mul.lo.u32 %r2, %r2, 77; mov.u32 %r1, 0;
        L: setp.eq.u32 %p0, %r2, 0; @%p0 bra E; activemask.b32 %r3; add.u32 %r1, %r1, %r3; sub.u32 %r2, %r2, 1; bra L;
        E: """,
    "vectors": """
        cvt.rn.f32.u32 %f1, %r0; mul.f32 %f2, %f1, 0f3DCCCCCD; and.b32 %r2, %r0, 1; mul.wide.u32 %d4, %r2, 16;
        add.u64 %d4, %d4, %d0; red.global.add.v4.f32 [%d4], {%f1, %f2, %f2, %f1};
        atom.global.add.noftz.v2.bf16x2 {%r1, %r3}, [%d4+8], {%r0, %r31}; xor.b32 %r1, %r1, %r3; """,
    "a call": """
        { .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call (b), thrice, (a); ld.param.b32 %r2, [b]; }
        atom.global.exch.b32 %r1, [%d0], %r2; """,
}

BEFORE = """.func (.param .b32 z) thrice(.param .b32 x) {
  .reg .b32 %r<3>; ld.param.b32 %r1, [x]; mul.lo.u32 %r1, %r1, 3; st.param.b32 [z], %r1; ret; }
"""


@pytest.mark.parametrize("name", BODIES)
def test_atomic_operations_have_the_order_of_the_numpy_machine(name):
    threads, blocks = (96, 3)
    x, y = np.zeros(8, np.uint32), np.zeros(threads * blocks, np.uint32)
    launch = module(BODIES[name] + RETURN, before=BEFORE)["k"][blocks, threads]
    native, numpy = require_native(launch, x, y)
    assert native.steps == numpy.steps


def test_lanes_of_one_warp_take_turns_too():
    x, y = np.zeros(8, np.uint32), np.zeros(32, np.uint32)
    native, numpy = require_native(module(BODIES["turns of loops that run long"] + RETURN)["k"][1, 32], x, y)
    assert native.steps == numpy.steps


def test_atomic_operations_of_several_workers_run_in_waves(monkeypatch):
    monkeypatch.setattr(run, "available_cores", lambda: 2)
    monkeypatch.setattr(workers, "FIRST_FUEL", 10)
    monkeypatch.setattr(run, "WORTH_A_THREAD", 1e-9)
    body = """
        mov.u32 %r2, 100000; L: sub.u32 %r2, %r2, 1; setp.ne.u32 %p0, %r2, 0; @%p0 bra L;
        mul.wide.u32 %d4, %r31, 4; add.u64 %d4, %d4, %d0; cvt.rn.f32.u32 %f1, %r0; red.global.add.f32 [%d4], %f1;
        mov.u32 %r1, 0; """
    require_native(module(body + RETURN)["k"][2, 32], np.zeros(32, np.uint32), np.zeros(64, np.uint32))


def test_an_operation_whose_scope_excludes_other_blocks_may_be_a_race():
    body = "atom.cta.global.exch.b32 %r1, [%d0], %r0; " + RETURN
    x, y = np.zeros(8, np.uint32), np.zeros(64, np.uint32)
    report = require_flag(module(body)["k"][2, 32], "order of atomic operations", x, y)
    assert {f.kind for f in report.findings} == {"race"}
