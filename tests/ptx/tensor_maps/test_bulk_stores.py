# SPDX-License-Identifier: MIT
"""Bulk copies and reductions of several blocks, and of bytes that a kernel has written only in part."""

import numpy as np
import pytest

from wmma_emu.errors import ArgumentError, ArgumentValueError
from wmma_emu.ptx import Module, TensorMap, tensor_map

HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"

LAST_BLOCK_READS = f"""{HEAD}.shared .align 128 .b8 s[128];
.shared .align 128 .b8 d[128];
.shared .align 8 .b64 bar;
.visible .entry k(.param .u64 sum, .param .u64 count, .param .u64 out) {{
.reg .b64 %sum, %count, %out, %state, %at; .reg .b32 %t, %a, %i, %n, %last; .reg .pred %p, %q;
ld.param.u64 %sum, [sum]; ld.param.u64 %count, [count]; ld.param.u64 %out, [out];
mov.u32 %t, %tid.x; mov.u32 %a, s; mad.lo.u32 %a, %t, 4, %a; mov.u32 %i, 1; st.shared.u32 [%a], %i;
setp.ne.u32 %p, %t, 0; @!%p mbarrier.init.shared::cta.b64 [bar], 1;
fence.proxy.async; bar.warp.sync 0xffffffff; @%p bra END;
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%sum], [s], 128;
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; fence.proxy.async;
fence.sc.gpu; atom.global.add.u32 %n, [%count], 1; fence.sc.gpu; fence.proxy.async;
mov.u32 %last, %nctaid.x; sub.u32 %last, %last, 1; setp.ne.u32 %q, %n, %last; @%q bra END;
mbarrier.arrive.expect_tx.shared::cta.b64 %state, [bar], 128;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [d], [%sum], 128, [bar];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @!%q bra WAIT;
ld.shared.u32 %n, [d+124]; st.global.u32 [%out], %n;
END: ret; }}
"""

PARTLY_WRITTEN = f"""{HEAD}.shared .align 128 .b8 s[1024];
.visible .entry k(.param .u64 out) {{
.reg .b64 %out; ld.param.u64 %out, [out]; st.shared.u32 [s], 1; fence.proxy.async;
cp.async.bulk.global.shared::cta.bulk_group [%out], [s], SIZE;
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret; }}
"""


@pytest.mark.parametrize("blocks", [1, 2, 3])
@pytest.mark.parametrize("asynchrony", ["eager", "late", "both"])
def test_the_last_block_copies_what_all_blocks_have_reduced(blocks, asynchrony):
    total, count, out = np.zeros(32, np.uint32), np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    report = Module(LAST_BLOCK_READS, "sm_90a")["k"][blocks, 32](total, count, out, asynchrony=asynchrony)
    assert (total.tolist(), out.tolist(), report.findings) == ([blocks] * 32, [blocks], ())


@pytest.mark.parametrize("size", [32, 512, 528, 1024])
def test_a_store_of_bytes_that_are_written_in_part_reports_the_others(size):
    out = np.zeros(size // 4, np.uint32)
    kernel = Module(PARTLY_WRITTEN.replace("SIZE", str(size)), "sm_90a", findings="report")["k"]
    assert {x.kind for x in kernel[1, 1](out).findings} == {"uninitialised", "partly uninitialised"}
    assert out[0] == 1


ROWS = np.arange(16 * 64, dtype=np.float32).reshape(16, 64)


@pytest.mark.parametrize("array", [ROWS, ROWS[4:, 8:40], np.broadcast_to(ROWS[0, :32], (8, 32))])
def test_a_tensor_may_be_a_view_with_strides(array):
    text = f"""{HEAD}.shared .align 128 .b8 box[256];
.shared .align 8 .b64 bar;
.visible .entry rows(.param .align 64 .b8 map[128], .param .u64 out) {{
.reg .pred %done; .reg .b32 %t, %at, %x; .reg .b64 %map, %out, %state; ld.param.u64 %out, [out];
mov.b64 %map, map; cvta.param.u64 %map, %map; mov.u32 %t, %tid.x; setp.ne.u32 %done, %t, 0; mov.u32 %x, 0;
@!%done mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0; @%done bra WAIT;
mbarrier.arrive.expect_tx.shared::cta.b64 %state, [bar], 256;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [box], [%map, {{%x, %x}}], [bar];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %done, [bar], 0; @!%done bra WAIT;
mov.u32 %at, box; mad.lo.u32 %at, %t, 4, %at; ld.shared.u32 %x, [%at]; mad.wide.u32 %out, %t, 4, %out;
st.global.u32 [%out], %x; ret; }}
"""
    out = np.zeros((2, 32), np.float32)
    Module(text, "sm_90a")["rows"][1, 64](tensor_map(array, (2, 32)), out, findings="raise")
    assert np.array_equal(out, array[:2, :32])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tensor_map(np.zeros((0, 16), np.float32), (1, 16)), r"needs elements; the array's shape is \(0, 16\)"),
        (lambda: tensor_map(ROWS.astype(">f4"), (1, 16)), "a GPU has another byte order"),
        (lambda: tensor_map(ROWS[::-1], (1, 16)), "a stride has -256 bytes"),
        (lambda: TensorMap("00" * 128, ROWS), "consists of 128 bytes, not of '0000"),
        (lambda: TensorMap(bytes(128), ROWS), "a row of the box has 1 bytes"),
    ],
)
def test_arrays_and_bytes_without_a_legal_map_are_errors(make, message):
    with pytest.raises((ArgumentError, ArgumentValueError), match=message):
        make()
