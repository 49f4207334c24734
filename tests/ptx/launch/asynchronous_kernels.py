# SPDX-License-Identifier: MIT
"""Kernels with asynchronous operations, each with a wait that its faulty twin lacks, and what each computes.

``@WAIT@`` stands for the wait; a faulty kernel has another line there.
"""

from typing import NamedTuple

import numpy as np

from wmma_emu.ptx import tensor_map

_HEAD = ".version 8.4\n.target sm_90a\n.address_size 64\n"

ONE, TWO = 0x3C003C00, 0x40004000
"""Two f16 numbers, 1 and 2."""


class AsynchronousCase(NamedTuple):
    """A kernel, its correct line and its faulty one, its arguments before the output, and the words of its output.

    ``right`` is the result of the correct kernel, and of the faulty one whose operations are done at once; ``late`` is
    the result of the faulty one whose operations are late.
    """

    text: str
    wait: str
    fault: str
    block: int
    arguments: tuple
    right: np.ndarray
    late: np.ndarray
    culprit: str

    @property
    def correct(self):
        """The PTX of the correct kernel."""
        return self.text.replace("@WAIT@", self.wait)

    @property
    def faulty(self):
        """The PTX of the faulty kernel."""
        return self.text.replace("@WAIT@", self.fault)


_X = np.arange(64, dtype=np.uint32) + 100
_BOX = np.arange(16 * 64, dtype=np.uint32).reshape(16, 64)


def _words(*values):
    return np.array(values, np.uint32)


TENSOR = (
    _HEAD
    + """
.shared .align 128 .b8 box[128];
.shared .align 8 .b64 bar;
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) {
.reg .pred %p, %w; .reg .b32 %r<8>; .reg .b64 %rd<8>;
mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x;
setp.eq.u32 %p, %r1, 0; shl.b32 %r4, %r1, 2; mov.u32 %r5, box; add.u32 %r5, %r5, %r4;
mov.u32 %r7, 7; st.shared.u32 [%r5], %r7; fence.proxy.async.shared::cta;
@%p mbarrier.init.shared::cta.b64 [bar], 1;
bar.sync 0;
@!%p bra WAIT;
mov.u32 %r2, 0; mov.u32 %r3, 3;
mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], 128;
cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [box], [%rd1, {%r2, %r3}], [bar];
WAIT:
@WAIT@
mad.wide.u32 %rd4, %r1, 4, %rd2; ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd4], %r6;
ret; }
"""
)

_TRY = "mbarrier.try_wait.parity.shared::cta.b64 %w, [bar], 0; @!%w bra WAIT;"
_LOOK = "mbarrier.test_wait.parity.shared::cta.b64 %w, [bar], 0;"

_STORE = (
    _HEAD
    + """
.shared .align 128 .b8 box[128];
.visible .entry k(.param .u64 out) {
.reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p;
ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; shl.b32 %r4, %r1, 2; mov.u32 %r5, box; add.u32 %r5, %r5, %r4;
setp.eq.u32 %p, %r1, 0; st.shared.u32 [%r5], %r1; fence.proxy.async.shared::cta;
bar.sync 0;
@!%p bra NEXT;
cp.async.bulk.global.shared::cta.bulk_group [%rd2], [box], 128;
cp.async.bulk.commit_group;
@WAIT@
NEXT:
bar.sync 0;
mov.u32 %r6, 9; st.shared.u32 [%r5], %r6;
cp.async.bulk.wait_group 0;
ret; }
"""
)

_READ_BACK = (
    _HEAD
    + """
.shared .align 128 .b8 box[128];
.visible .entry k(.param .u64 y, .param .u64 out) {
.reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p;
ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; shl.b32 %r4, %r1, 2;
mov.u32 %r5, box; add.u32 %r5, %r5, %r4; setp.eq.u32 %p, %r1, 0; st.shared.u32 [%r5], %r1;
fence.proxy.async.shared::cta;
bar.sync 0;
@!%p bra NEXT;
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [box], 128;
cp.async.bulk.commit_group;
@WAIT@
NEXT:
bar.sync 0;
mad.wide.u32 %rd3, %r1, 4, %rd1; mad.wide.u32 %rd4, %r1, 4, %rd2;
ld.global.u32 %r6, [%rd3]; st.global.u32 [%rd4], %r6;
ret; }
"""
)

_COPY = (
    _HEAD
    + """
.shared .align 16 .b8 box[128];
.visible .entry k(.param .u64 x, .param .u64 out) {
.reg .b32 %r<8>; .reg .b64 %rd<8>;
ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; shl.b32 %r4, %r1, 2;
mov.u32 %r5, box; add.u32 %r5, %r5, %r4; mov.u32 %r6, 7; st.shared.u32 [%r5], %r6;
mad.wide.u32 %rd3, %r1, 4, %rd1; mad.wide.u32 %rd4, %r1, 4, %rd2;
cp.async.ca.shared.global [%r5], [%rd3], 4;
cp.async.commit_group;
@WAIT@
ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd4], %r6;
ret; }
"""
)

_PRODUCT_BEGIN = f"""
.shared .align 128 .b8 tiles[2304];
.visible .entry k(PARAMETERS.param .u64 out) {{
.reg .b32 %r<12>; .reg .b64 %rd<12>; .reg .f32 %f<4>; .reg .pred %p, %q, %w, %z;
ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r5, tiles; shl.b32 %r4, %r1, 2; add.u32 %r6, %r5, %r4;
mov.u32 %r2, 0; mov.u32 %r3, {ONE}; setp.lt.u32 %q, %r1, 64; setp.ge.u32 %w, %r1, 128; @%w bra FILLED;
FILL: st.shared.u32 [%r6], %r3; add.u32 %r6, %r6, 512; add.u32 %r2, %r2, 1;
setp.lt.u32 %p, %r2, 4; @%p bra FILL;
@%q st.shared.u32 [%r6], %r3;
FILLED:
fence.proxy.async.shared::cta;
"""

_DESCRIPTORS = """
cvt.u64.u32 %rd3, %r5; shr.u64 %rd3, %rd3, 4; and.b64 %rd3, %rd3, 0x3fff;
or.b64 %rd3, %rd3, 0x0000001000080000; add.u64 %rd4, %rd3, 128;
setp.ne.u32 %z, %r5, %r5;
mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, %z, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
"""

_RESULT = """
wgmma.wait_group.sync.aligned 0;
mad.wide.u32 %rd5, %r1, 4, %rd2; st.global.f32 [%rd5], %f0;
"""

_PRODUCT = f"""{_HEAD}{_PRODUCT_BEGIN.replace("PARAMETERS", "")}
bar.sync 0;
{_DESCRIPTORS}
@WAIT@
bar.sync 0;
mov.u32 %r3, {TWO}; @%q st.shared.u32 [%r6], %r3;
{_RESULT}
ret; }}
"""

_STAGES = f"""{_HEAD}
.shared .align 8 .b64 bars[2];
{_PRODUCT_BEGIN.replace("PARAMETERS", ".param .u64 x, ")}
ld.param.u64 %rd1, [x]; setp.eq.u32 %p, %r1, 0;
@%p mbarrier.init.shared::cta.b64 [bars], 1; @%p mbarrier.init.shared::cta.b64 [bars+8], 128;
bar.sync 0;
setp.ge.u32 %w, %r1, 128; @%w bra PRODUCER;
{_DESCRIPTORS}
@WAIT@
mbarrier.arrive.shared::cta.b64 %rd6, [bars+8];
FULL: mbarrier.try_wait.parity.shared::cta.b64 %w, [bars], 0; @!%w bra FULL;
{_RESULT}
ret;
PRODUCER:
setp.ne.u32 %w, %r1, 128; @%w ret;
EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %w, [bars+8], 0; @!%w bra EMPTY;
mbarrier.arrive.expect_tx.shared::cta.b64 %rd6, [bars], 256;
mov.u32 %r7, tiles; add.u32 %r7, %r7, 2048;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r7], [%rd1], 256, [bars];
ret; }}
"""

_GROUP = "wgmma.wait_group.sync.aligned 0;"
_SIXTEEN, _THIRTY_TWO = (np.full(128, x, np.float32).view(np.uint32) for x in (16, 32))
_LANES = np.arange(32, dtype=np.uint32)

CASES = {
    "a tensor's box is read before its phase": AsynchronousCase(
        TENSOR, _TRY, _LOOK, 32, (tensor_map(_BOX, (1, 32)),), _BOX[3, :32], np.full(32, 7, np.uint32), "cp.async.bulk"
    ),
    "a bulk store's source is written before it was read": AsynchronousCase(
        _STORE, "cp.async.bulk.wait_group.read 0;", "", 32, (), _LANES, np.full(32, 9, np.uint32), "cp.async.bulk"
    ),
    "a reduction's result is read after its source was read": AsynchronousCase(
        _READ_BACK, "cp.async.bulk.wait_group 0;", "cp.async.bulk.wait_group.read 0;", 32, (_X[:32],),
        _X[:32] + _LANES, _X[:32], "cp.reduce.async.bulk",
    ),
    "a copy is read before its group": AsynchronousCase(
        _COPY, "cp.async.wait_group 0;", "cp.async.wait_group 1;", 32, (_X[:32],), _X[:32], np.full(32, 7, np.uint32),
        "cp.async.ca",
    ),
    "a store overwrites what a product reads": AsynchronousCase(
        _PRODUCT, _GROUP, "wgmma.wait_group.sync.aligned 1;", 128, (), _SIXTEEN, _THIRTY_TWO, "wgmma.mma_async"
    ),
    "a bulk copy overwrites the stage that a product reads": AsynchronousCase(
        _STAGES, _GROUP, "wgmma.wait_group.sync.aligned 1;", 160, (np.full(64, TWO, np.uint32),), _SIXTEEN, _THIRTY_TWO,
        "wgmma.mma_async",
    ),
}  # fmt: skip


_PIPELINE_LOAD = """
EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %w, [%r8+16], %r9; @!%w bra EMPTY;
mbarrier.arrive.expect_tx.shared::cta.b64 %rd6, [%r8], 256;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r7], [%rd1], 256, [%r8];
"""

PIPELINE = f"""{_HEAD}
.shared .align 8 .b64 bars[4];
.shared .align 128 .b8 tiles[2560];
.visible .entry k(.param .u64 x, .param .u64 out) .maxntid 256 {{
.reg .b32 %r<16>; .reg .b64 %rd<12>; .reg .f32 %f<4>; .reg .pred %p, %q, %w, %z;
ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r5, tiles; shl.b32 %r4, %r1, 2;
add.u32 %r6, %r5, %r4; mov.u32 %r3, {ONE}; mov.u32 %r2, 0;
setp.ge.u32 %p, %r1, 128; @%p bra FILLED;
FILL: st.shared.u32 [%r6], %r3; add.u32 %r6, %r6, 512; add.u32 %r2, %r2, 1; setp.lt.u32 %q, %r2, 4; @%q bra FILL;
FILLED: fence.proxy.async.shared::cta;
setp.eq.u32 %q, %r1, 0; mov.u32 %r8, bars;
@%q mbarrier.init.shared::cta.b64 [%r8], 1; @%q mbarrier.init.shared::cta.b64 [%r8+8], 1;
@%q mbarrier.init.shared::cta.b64 [%r8+16], 128; @%q mbarrier.init.shared::cta.b64 [%r8+24], 128;
fence.mbarrier_init.release.cluster;
bar.sync 0;
mov.u32 %r2, 0;
@%p bra PRODUCER;
setmaxnreg.inc.sync.aligned.u32 232;
mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
cvt.u64.u32 %rd3, %r5; shr.u64 %rd3, %rd3, 4; and.b64 %rd3, %rd3, 0x3fff; or.b64 %rd3, %rd3, 0x0000001000080000;
LOOP: and.b32 %r10, %r2, 1; shr.u32 %r9, %r2, 1; and.b32 %r9, %r9, 1;
mov.u32 %r8, bars; mad.lo.u32 %r8, %r10, 8, %r8;
FULL: mbarrier.try_wait.parity.shared::cta.b64 %w, [%r8], %r9; @!%w bra FULL;
cvt.u64.u32 %rd7, %r10; mad.lo.u64 %rd4, %rd7, 16, %rd3; add.u64 %rd4, %rd4, 128;
wgmma.fence.sync.aligned;
setp.ne.u32 %z, %r2, 0;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %rd3, %rd4, %z, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
setp.eq.u32 %q, %r2, 0; @%q bra NEXT;
wgmma.wait_group.sync.aligned @PENDING@;
xor.b32 %r11, %r10, 1; mov.u32 %r12, bars; mad.lo.u32 %r12, %r11, 8, %r12;
mbarrier.arrive.shared::cta.b64 %rd6, [%r12+16];
NEXT: add.u32 %r2, %r2, 1; setp.lt.u32 %q, %r2, 8; @%q bra LOOP;
wgmma.wait_group.sync.aligned 0;
mad.wide.u32 %rd5, %r1, 4, %rd2; st.global.f32 [%rd5], %f0;
ret;
PRODUCER: setmaxnreg.dec.sync.aligned.u32 40;
setp.ne.u32 %q, %r1, 128; @%q ret;
SEND: and.b32 %r10, %r2, 1; shr.u32 %r9, %r2, 1; and.b32 %r9, %r9, 1; xor.b32 %r9, %r9, 1;
mov.u32 %r8, bars; mad.lo.u32 %r8, %r10, 8, %r8; mov.u32 %r7, tiles; mad.lo.u32 %r7, %r10, 256, %r7;
add.u32 %r7, %r7, 2048;
{_PIPELINE_LOAD}
add.u64 %rd1, %rd1, 256; add.u32 %r2, %r2, 1; setp.lt.u32 %q, %r2, 8; @%q bra SEND;
ret; }}
"""
"""A producer and a consumer warpgroup with two stages, eight tiles of B: the loop of a Hopper GEMM.

After a product, the consumer waits for all but ``@PENDING@`` groups, and returns the stage of the product before it:
with 1, that product is over; with 2, it may still read the stage.
"""
