# SPDX-License-Identifier: MIT
"""Branches, calls, barriers and exits on the native machine: the bits and the counts of the NumPy machine."""

import numpy as np
import pytest

from tests.ptx.native.machines import module, require_flag, require_native

pytest.importorskip("llvmlite")

STORE = "st.global.u32 [%d1], %r1; ret;"

BODIES = {
    "all threads agree": "mov.u32 %r1, %r0; bra L; mov.u32 %r1, 7; L: " + STORE,
    "lanes disagree": """
        and.b32 %r2, %r0, 3; setp.eq.u32 %p0, %r2, 1; mov.u32 %r1, 5;
        @%p0 bra A; setp.eq.u32 %p1, %r2, 2; @%p1 bra B; add.u32 %r1, %r1, %r0; bra C;
        A: mul.lo.u32 %r1, %r0, 3; bra C;
        B: sub.u32 %r1, %r1, %r0;
        C: """
    + STORE,
    "trip counts differ": """
        mov.u32 %r1, 0; and.b32 %r2, %r0, 13;
        L: setp.eq.u32 %p0, %r2, 0; @%p0 bra E; add.u32 %r1, %r1, %r2; sub.u32 %r2, %r2, 1; bra L;
        E: """
    + STORE,
    "some lanes exit": """
        mov.u32 %r1, %r0; and.b32 %r2, %r0, 5; setp.eq.u32 %p0, %r2, 4; @%p0 exit; add.u32 %r1, %r1, 1; """
    + STORE,
    "an indexed branch": """
        and.b32 %r2, %r0, 3; mov.u32 %r1, 1;
        T: .branchtargets A, B, C, A;
        brx.idx %r2, T;
        A: add.u32 %r1, %r1, 10;
        B: mul.lo.u32 %r1, %r1, 7;
        C: add.u32 %r1, %r1, %r0; """
    + STORE,
    "a barrier of all threads": """
        .shared .b32 s[128];
        mov.u32 %r2, s; shl.b32 %r3, %r31, 2; add.u32 %r4, %r2, %r3; st.shared.u32 [%r4], %r0;
        bar.sync 0; sub.u32 %r5, %r30, %r31; sub.u32 %r5, %r5, 1; shl.b32 %r5, %r5, 2; add.u32 %r5, %r2, %r5;
        ld.shared.u32 %r1, [%r5]; """
    + STORE,
    "barriers after some threads have exited": """
        mov.u32 %r1, %r0; setp.ge.u32 %p0, %r31, 32; @%p0 bra E; bar.sync 0; add.u32 %r1, %r1, 1; bar.sync 0;
        E: """
    + STORE,
    "a barrier with a number of threads": """
        mov.u32 %r1, %r0; setp.ge.u32 %p0, %r31, 64; @%p0 bra E; bar.sync 1, 64; add.u32 %r1, %r1, 1;
        E: bar.sync 0; """
    + STORE,
    "a barrier with the number of all threads": """
        .shared .b32 s[64];
        setp.ge.u32 %p0, %r31, 64; mov.u32 %r1, 3; @%p0 bra E;
        mov.u32 %r2, s; shl.b32 %r3, %r31, 2; add.u32 %r4, %r2, %r3; st.shared.u32 [%r4], %r0;
        E: bar.sync 1, %r30; @%p0 bra F; xor.b32 %r3, %r3, 128; add.u32 %r4, %r2, %r3; ld.shared.u32 %r1, [%r4];
        F: """
    + STORE,
    "threads that arrive and do not wait": """
        mov.u32 %r1, %r0; setp.ge.u32 %p0, %r31, 64; @%p0 bra A; bar.sync 1, 128; bra E;
        A: bar.arrive 1, 128;
        E: """
    + STORE,
    "a barrier that counts votes": """
        and.b32 %r2, %r0, 3; setp.eq.u32 %p0, %r2, 1; barrier.cta.red.popc.u32 %r1, 0, %p0; """
    + STORE,
    "barriers that compare votes": """
        setp.lt.u32 %p0, %r31, 100; bar.red.and.pred %p1, 0, %p0; bar.red.or.pred %p2, 1, !%p0;
        selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 2, 0, %p2; add.u32 %r1, %r1, %r2; """
    + STORE,
    "lanes that wait for others of their warp": """
        and.b32 %r2, %r0, 1; setp.eq.u32 %p0, %r2, 1; mov.u32 %r1, 0; @%p0 bra A; add.u32 %r1, %r1, 3;
        A: bar.warp.sync 0xffffffff; add.u32 %r1, %r1, %r0; """
    + STORE,
    "lanes pass by what others execute together": """
        setp.lt.u32 %p0, %r31, 32; setp.lt.u32 %p1, %r31, 16; setp.gt.u32 %p2, %r31, 999; mov.u32 %r1, %r0;
        @%p0 shfl.sync.bfly.b32 %r1, %r0, 1, 0x1f, 0xffffffff;
        @%p1 bar.warp.sync 0xffff; @%p2 bar.sync 0; add.u32 %r1, %r1, %r0; """
    + STORE,
}

OF_WHOLE_WARPS = (
    "lanes that wait for others of their warp", "threads that arrive and do not wait",
    "a barrier with the number of all threads",
)  # fmt: skip

FUNCTIONS = """
.func (.param .b32 z) twice(.param .b32 x) {
  .reg .b32 %r<4>; .reg .pred %p<2>;
  ld.param.b32 %r1, [x]; setp.gt.s32 %p1, %r1, 40; @%p1 bra L; add.s32 %r1, %r1, 1000;
  L: add.s32 %r2, %r1, %r1; st.param.b32 [z], %r2; ret;
}
"""

CALL = """
  and.b32 %r2, %r0, 1; setp.eq.u32 %p0, %r2, 1; mov.u32 %r1, 3; @%p0 bra L;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call (b), twice, (a); ld.param.b32 %r1, [b]; }
  L:
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), twice, (a); ld.param.b32 %r1, [b]; }
"""


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("block", [128, 97])
def test_the_machines_agree_where(name, block):
    if "number of threads" in name and block % 32:
        pytest.skip("the last warp is not whole")
    launch = module(BODIES[name])["k"][3, block]
    y = np.full(3 * block, 99, np.uint32)
    if block == 97 and name in OF_WHOLE_WARPS:
        pytest.skip("the last warp is not whole")
    native, numpy = require_native(launch, y.copy(), y)
    assert native.steps <= numpy.steps


def test_functions_that_only_some_lanes_call_return_to_each_caller():
    launch = module(CALL + STORE, before=FUNCTIONS)["k"][2, 96]
    require_native(launch, np.zeros(192, np.uint32), np.zeros(192, np.uint32))


PADDED = """
.func (.param .align 8 .b8 z[16]) pair(.param .b32 x) {
  .reg .b32 %r<4>; .reg .b64 %d<2>;
  ld.param.b32 %r1, [x]; mul.wide.u32 %d1, %r1, %r1; st.param.b64 [z], %d1; st.param.b32 [z+8], %r1; ret;
}
"""


def test_padding_of_a_result_stays_uninitialised():
    body = """{ .param .b32 a; .param .align 8 .b8 b[16]; st.param.b32 [a], %r0; call (b), pair, (a);
        ld.param.b64 %d4, [b]; ld.param.b32 %r1, [b+8]; cvt.u32.u64 %r2, %d4; add.u32 %r1, %r1, %r2; }"""
    require_native(module(body + STORE, before=PADDED)["k"][1, 64], np.zeros(64, np.uint32), np.zeros(64, np.uint32))


FAULTS = [
    ("uninitialised", "add.u32 %r1, %r2, 1; " + STORE),
    ("trap", "mov.u32 %r1, 1; setp.eq.u32 %p0, %r0, 33; @%p0 trap; " + STORE),
    (
        "progress",
        "mov.u32 %r1, 1; and.b32 %r2, %r0, 1; setp.eq.u32 %p0, %r2, 1; @%p0 bra A; bar.sync 0; bra E; A: bar.sync 0;"
        + f"E: {STORE}",
    ),
    ("progress", "mov.u32 %r1, 1; setp.ge.u32 %p0, %r31, 32; @%p0 bra E; bar.sync 1, 64; E: " + STORE),
    (
        "lanes may be missing",
        "mov.u32 %r1, 1; setp.ge.u32 %p0, %r31, 32; @%p0 bra A; bar.sync 0; bra E; A: bar.sync 0; E: " + STORE,
    ),
]


@pytest.mark.parametrize(("reason", "body"), FAULTS)
def test_a_launch_that_may_be_wrong_runs_again_for_its_findings(reason, body):
    y = np.zeros(64, np.uint32)
    report = require_flag(module(body)["k"][1, 64], reason, y, y)
    assert report.findings


def test_a_register_that_only_some_lanes_write_is_followed():
    body = """
        setp.lt.u32 %p0, %r31, 10; @%p0 mov.u32 %r2, 5; mov.u32 %r1, 1; @%p0 add.u32 %r3, %r2, 1;
        @%p0 add.u32 %r1, %r3, %r0; """
    require_native(module(body + STORE)["k"][1, 64], np.zeros(64, np.uint32), np.zeros(64, np.uint32))
