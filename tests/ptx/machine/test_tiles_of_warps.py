# SPDX-License-Identifier: MIT
"""Barriers of tiles of several warps, as nvcc compiles ``tiled_partition<64>``: in reserved shared memory."""

import pytest

import wmma_emu as we
from tests.ptx.texts_of_kernels import launch, numbers, put, text_of

SCRATCH = """
mov.u32 %r10, %reserved_smem_offset_1;
cvt.u64.u32 %rd10, %r10;
cvta.shared.u64 %rd10, %rd10;
add.s64 %rd10, %rd10, {offset};
and.b32 %r11, %r0, 31;
setp.ne.u32 %p1, %r11, 0;
shr.u32 %r12, %r0, 5;
mov.u32 %r13, 1;
shl.b32 %r13, %r13, %r12;
not.b32 %r14, %r13;
@!%p1 red.and.release.cta.b32 [%rd10], %r14;
barrier.sync 0;
div.u32 %r15, %r12, {warps};
mul.lo.u32 %r15, %r15, {warps};
mov.u32 %r16, {ones};
shl.b32 %r16, %r16, %r15;
"""
"""The word of the barrier, the bit of the warp, and the bits of its tile; each warp clears its bit."""

SYNC = """
bar.warp.sync -1;
@%p1 bra MET;
atom.or.acq_rel.cta.b32 %r17, [%rd10], %r13;
or.b32 %r17, %r17, %r13;
and.b32 %r17, %r17, %r16;
setp.eq.u32 %p2, %r17, %r16;
@%p2 bra LAST;
WAIT: ld.acquire.cta.u32 %r18, [%rd10];
and.b32 %r18, %r18, %r13;
setp.ne.u32 %p3, %r18, 0;
@%p3 bra WAIT;
bra MET;
LAST: not.b32 %r19, %r16;
red.and.relaxed.cta.b32 [%rd10], %r19;
MET: bar.warp.sync -1;
"""

EXCHANGE = """
.shared .align 4 .b32 s[256];
mov.u32 %r2, s;
shl.b32 %r3, %r0, 2;
add.u32 %r4, %r2, %r3;
st.shared.u32 [%r4], %r0;
{sync}
xor.b32 %r5, %r0, {last};
shl.b32 %r5, %r5, 2;
add.u32 %r5, %r2, %r5;
ld.shared.u32 %r6, [%r5];
"""
"""Each thread reads the word of the thread that has its number from the end of the tile."""


def scratch(size, offset=0):
    return SCRATCH.format(offset=offset, warps=size // 32, ones=(1 << size // 32) - 1)


def exchanged(size, sync=SYNC, offset=0, **options):
    x = numbers(256)
    body = scratch(size, offset) + EXCHANGE.format(sync=sync, last=size - 1) + put("%r6") + "ret;"
    report = launch(body, x, block=256, **options)
    return x, [y.kind for y in report.findings]


@pytest.mark.parametrize("size", [64, 128, 256])
@pytest.mark.parametrize("options", [{}, {"schedule": 1}, {"fill": "ones"}, {"fill": 5, "checks": ()}])
def test_threads_of_a_tile_read_words_that_its_other_warps_wrote_before_its_barrier(size, options):
    x, found = exchanged(size, **options)
    assert x.tolist() == [t ^ size - 1 for t in range(256)] and not found


@pytest.mark.parametrize("weaker", ["", SYNC.replace("acq_rel", "relaxed")], ids=["none", "relaxed"])
def test_without_the_barrier_of_the_tile_the_words_race(weaker):
    assert set(exchanged(64, weaker)[1]) == {"race"}


@pytest.mark.parametrize("size", [64, 128])
def test_a_tile_whose_other_half_does_not_arrive_is_a_deadlock(size):
    half = f"and.b32 %r20, %r0, {size // 2};\nsetp.ne.u32 %p4, %r20, 0;\n@%p4 bra END;\n"
    report = launch(scratch(size) + half + SYNC + "END: ret;", numbers(256), block=256)
    (found,) = report.findings
    text = " ".join(str(found).split())
    assert found.kind == "deadlock" and not report.completed
    assert "no thread writes" in text and "ld.acquire.cta" in text and "128 threads have exited" in text


@pytest.mark.parametrize(("arch", "least"), [("a100", 1000), ("h100", 0), ("b200", 0)])
def test_the_reserved_part_has_1024_bytes_begins_as_zeros_and_overlaps_no_variable(arch, least):
    x = numbers(7)
    names = enumerate("begin end cap 0 1".split())
    reads = "".join(f"mov.u32 %r{10 + i}, %reserved_smem_offset_{name};\n" for i, name in names)
    stores = "".join(f"st.global.u32 [%rd1+{4 * i}], %r{10 + i};\n" for i in range(7))
    body = f".shared .align 4 .b8 s[1000];\nst.shared.u32 [s+996], 7;\n{reads}ld.shared.u32 %r15, [%r14];\n"
    body += f"mov.u32 %r16, s;\n{stores}ret;"
    assert not we.ptx.Module(text_of(body, 1).replace("sm_90", "sm_80"), arch)["k"][1, 1](x, fill="ones").findings
    begin, end, size, first, second, word, variable = x.tolist()
    assert begin >= least and size == 1024 and word == 0
    assert (begin, end, first, second, variable) == (0, 288, 0, 0, 1024) if not least else variable == 0
    assert begin <= first < end and second + 288 <= end


def test_an_access_between_the_variables_and_the_reserved_part_is_out_of_bounds():
    body = ".shared .align 4 .b8 s[16];\nmov.u32 %r3, s;\nst.shared.u32 [%r3+{}], %r0;\nmov.u32 %r4, %{};\nret;"
    (found,) = launch(body.format(16, "reserved_smem_offset_1"), numbers(), block=1).findings
    (same,) = launch(body.format(16, "laneid"), numbers(), block=1).findings
    assert found.kind == same.kind == "out of bounds" and found.message == same.message
