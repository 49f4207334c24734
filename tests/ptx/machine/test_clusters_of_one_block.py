# SPDX-License-Identifier: MIT
"""Clusters of one block: addresses, ranks, barriers, and asynchronous writes to the block's own shared memory."""

import numpy as np
import pytest

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx import Module

HEAD = """.version 8.6
.target sm_90a
.address_size 64
.shared .align 128 .b8 box[256];
.shared .align 8 .b64 bar;
.visible .entry k(.param .u64 out) DIRECTIVES {
.reg .pred %p<4>; .reg .b16 %h<2>; .reg .b32 %r<12>; .reg .b64 %rd<12>;
ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, box; mov.u32 %r3, bar; setp.eq.u32 %p1, %r1, 0;
shl.b32 %r4, %r1, 2; add.u32 %r4, %r2, %r4; cvt.u64.u32 %rd2, %r4; cvta.shared.u64 %rd3, %rd2;
mad.wide.u32 %rd4, %r1, 4, %rd1; mov.u16 %h1, 1;
"""

STORED = "\nst.global.u32 [%rd4], %r5;\nret; }"


def results(body, threads=32, directives="", **options):
    out = np.zeros(threads, np.uint32)
    text = HEAD.replace("DIRECTIVES", directives) + body + STORED
    report = Module(text, arch="sm_90a")["k"][1, threads](out, findings="report", **options)
    return out.tolist(), [x.kind for x in report.findings]


LANES = list(range(32))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("st.shared.u32 [%r4], %r1; mapa.shared::cluster.u32 %r6, %r4, 0; ld.shared::cluster.u32 %r5, [%r6];", LANES),
        ("mapa.u64 %rd5, %rd3, 0; st.u32 [%rd5], %r1; ld.shared.u32 %r5, [%r4];", LANES),
        ("getctarank.shared::cluster.u32 %r5, %r4;", [0] * 32),
        ("getctarank.u64 %r5, %rd3;", [0] * 32),
        ("isspacep.shared::cluster %p2, %rd3; selp.u32 %r5, 1, 0, %p2;", [1] * 32),
        ("isspacep.shared::cluster %p2, %rd1; selp.u32 %r5, 1, 0, %p2;", [0] * 32),
        ("mov.u32 %r5, %cluster_nctarank; mov.u32 %r6, %cluster_ctarank; add.u32 %r5, %r5, %r6;", [1] * 32),
        ("mov.u32 %r5, %nclusterid.x; mov.u32 %r6, %clusterid.y; add.u32 %r5, %r5, %r6;", [1] * 32),
        ("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; mov.u32 %r5, 2;", [2] * 32),
        ("elect.sync %r5|%p2, 0xffffffff;", [0] * 32),
        ("griddepcontrol.launch_dependents; griddepcontrol.wait; mov.u32 %r5, 3;", [3] * 32),
    ],
)
def test_a_cluster_of_one_block_is_the_block(body, expected):
    assert results(body) == (expected, [])


@pytest.mark.parametrize(
    ("directives", "expected"),
    [
        ("", 0),
        (".explicitcluster .reqnctapercluster 1, 1, 1", 1),
        (".reqnctapercluster 1", 1),
        (".maxclusterrank 8", 0),
    ],
)
def test_a_launch_is_of_clusters_if_the_kernel_states_their_size(directives, expected):
    body = "mov.pred %p2, %is_explicit_cluster; selp.u32 %r5, 1, 0, %p2;"
    assert results(body, directives=directives) == ([expected] * 32, [])


@pytest.mark.parametrize(
    "fence",
    [
        "fence.mbarrier_init.release.cluster", "fence.proxy.alias", "fence.proxy.async", "fence.proxy.async.global",
        "fence.proxy.async.shared::cta", "fence.proxy.async.shared::cluster",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
        "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster",
        "fence.acquire.sync_restrict::shared::cluster.cluster", "fence.release.sync_restrict::shared::cta.cluster",
        *(f"fence.proxy.tensormap::generic.release.{x}" for x in ("cta", "cluster", "gpu", "sys")),
        *(f"fence.proxy.tensormap::generic.acquire.{x} [%rd1], 128" for x in ("cta", "cluster", "gpu", "sys")),
    ],
)  # fmt: skip
def test_every_fence_of_a_proxy_is_accepted(fence):
    assert results(f"{fence}; mov.u32 %r5, 1;") == ([1] * 32, [])


BEGIN = """@%p1 mbarrier.init.shared::cta.b64 [%r3], COUNT;
st.shared.u32 [%r4], %r1; st.shared.u32 [%r4+128], 100; fence.proxy.async.shared::cta;
bar.sync 0;
"""
WAIT = """
W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra W;
ld.shared.u32 %r5, [%r4+128];"""

ONE_THREAD = (
    BEGIN.replace("COUNT", "1")
    + """@!%p1 bra W;
mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd5, [%r3], 128; add.u32 %r7, %r2, 128;
"""
)


@pytest.mark.parametrize("asynchrony", ["eager", "late", "both"])
@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        ("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r7], [%r2], 128, [%r3];", LANES),
        (
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r7], [%r2], 128, "
            "[%r3];", [100 + x for x in LANES],
        ),
        (
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.xor.b32 [%r7], [%r2], 128, "
            "[%r3];", [100 ^ x for x in LANES],
        ),
        (
            "mapa.shared::cluster.u32 %r7, %r7, 0; mapa.shared::cluster.u32 %r8, %r3, 0; "
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r7], [%r2], 128, [%r8];", LANES,
        ),
    ],
)  # fmt: skip
def test_a_bulk_copy_within_the_block_completes_at_its_barrier(copy, expected, asynchrony):
    found = results(ONE_THREAD + copy + WAIT, directives=".reqnctapercluster 1, 1, 1", asynchrony=asynchrony)
    assert found == (expected, [])


EACH_THREAD = (
    BEGIN.replace("COUNT", "32")
    + """
mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd5, [%r3], 4; add.u32 %r7, %r4, 128;
"""
)


@pytest.mark.parametrize("asynchrony", ["eager", "late", "both"])
@pytest.mark.parametrize(
    ("write", "expected"),
    [
        ("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r7], %r1, [%r3];", LANES),
        ("cvta.shared.u64 %rd6, %rd2; cvt.u64.u32 %rd7, %r3; cvta.shared.u64 %rd7, %rd7; "
         "st.async.mbarrier::complete_tx::bytes.b32 [%rd6+128], %r1, [%rd7];", LANES),
        ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r7], %r1, [%r3];",
         [100 + x for x in LANES]),
        ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.s32 [%r7], -1, [%r3];",
         [100] * 32),
    ],
)  # fmt: skip
def test_an_asynchronous_store_completes_at_its_barrier(write, expected, asynchrony):
    assert results(EACH_THREAD + write + WAIT, asynchrony=asynchrony) == (expected, [])


def test_a_vector_is_stored_and_counted_as_a_whole():
    body = (
        BEGIN.replace("COUNT", "1")
        + """@!%p1 bra W;
mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd5, [%r3], 16; add.u32 %r7, %r4, 128;
st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r7], {5, 6, 7, 8}, [%r3];"""
        + WAIT
    )
    assert results(body) == ([5, 6, 7, 8, *[100] * 28], [])


def test_a_store_that_is_not_waited_for_shows_late():
    body = (
        EACH_THREAD
        + """st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r7], %r1, [%r3];
mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r3], 0;
ld.shared.u32 %r5, [%r4+128];"""
    )
    assert results(body, asynchrony="eager")[0] == LANES
    assert results(body, asynchrony="late")[0] == [100] * 32


def test_a_multicast_to_the_own_block_is_a_copy():
    text = HEAD.replace(".shared .align 8", ".global .align 16 .b8 from[128] = {1, 2, 3, 4};\n.shared .align 8")
    body = (
        text.replace("DIRECTIVES", "")
        + ONE_THREAD
        + """mov.b64 %rd8, from; setp.eq.u32 %p3, %r1, 0;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r7], [%rd8], 128, [%r3], %h1;
"""
        + WAIT
        + STORED
    )
    out = np.zeros(32, np.uint32)
    Module(body, arch="sm_90a")["k"][1, 32](out, findings="raise", asynchrony="both")
    assert out.tolist() == [0x04030201, *[0] * 31]


@pytest.mark.parametrize("number", [24, 96, 256])
def test_setmaxnreg_has_no_effect(number):
    body = f"mov.u32 %r5, 7; setmaxnreg.inc.sync.aligned.u32 {number};"
    assert results(body, 128) == ([7] * 128, [])


@pytest.mark.parametrize("number", [0, 8, 16, 20, 60, 257, 264])
def test_setmaxnreg_takes_multiples_of_eight_from_24_to_256(number):
    with pytest.raises(UnsupportedInstructionError, match=f"a multiple of 8 from 24 to 256, not {number}"):
        results(f"setmaxnreg.dec.sync.aligned.u32 {number};", 128)


def test_setmaxnreg_needs_all_warps_of_the_warpgroup():
    body = "mov.u32 %r5, 7; setp.lt.u32 %p2, %r1, 32; @%p2 bra OVER; setmaxnreg.inc.sync.aligned.u32 96; OVER:"
    assert results(body, 128) == ([7] * 128, ["partial warp"])


PARTIAL = ["partial warp"]
DEC, INC = "setmaxnreg.dec.sync.aligned.u32 {};", "setmaxnreg.inc.sync.aligned.u32 {};"


@pytest.mark.parametrize(
    ("body", "threads", "kinds"),
    [
        (DEC.format(40), 64, PARTIAL),
        (DEC.format(40), 160, PARTIAL),
        (DEC.format(40), 256, []),
        ("setp.eq.u32 %p2, %r1, 0; @%p2 " + DEC.format(40), 128, PARTIAL),
        (f"setp.lt.u32 %p2, %r1, 64; @%p2 bra L; {DEC.format(40)} bra M; L: {INC.format(48)} M:", 128, PARTIAL),
        (f"{DEC.format(40)} bar.sync 0; {DEC.format(40)} bar.sync 0; {INC.format(48)}", 128, []),
        (f"{DEC.format(40)} bar.sync 0; {DEC.format(48)}", 128, ["illegal operand"]),
        (f"{INC.format(96)} bar.sync 0; {INC.format(88)}", 128, ["illegal operand"]),
    ],
)
def test_setmaxnreg_is_for_whole_warpgroups_and_in_its_direction(body, threads, kinds):
    assert results("mov.u32 %r5, 7; " + body, threads) == ([7] * threads, kinds)


def test_warps_of_a_warpgroup_may_reach_setmaxnreg_one_after_another():
    body = """mov.u32 %r5, 7; setp.ge.u32 %p2, %r1, 128; @%p2 bra PRODUCER; setmaxnreg.inc.sync.aligned.u32 96;
bra OVER; PRODUCER: setmaxnreg.dec.sync.aligned.u32 40; OVER:"""
    assert results(body, 256, schedule=3) == ([7] * 256, [])


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.f32 [%r4], %r1, [%r3];", "u32"),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.b16 [%r4], %h1, [%r3];", "legal types are .b32"),
        ("red.async.release.sys.global.add.u32 [%rd1], %r1;", "completes at no mbarrier"),
        (
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.min.u64 [%r4], [%r2], 16, "
            "[%r3];",
            ".min does not reduce .u64; legal types are .u32, .s32",
        ),
    ],
)  # fmt: skip
def test_what_the_assembler_refuses_is_refused(statement, said):
    with pytest.raises(UnsupportedInstructionError, match=said):
        results(statement)
