# SPDX-License-Identifier: MIT
"""The rules of memory, one fact each: bounds, alignment, spaces, stores to one address, races, uninitialised bits."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.memory.single_wave import EMPTY_MODULE, SingleWave, one
from tests.ptx.texts_of_kernels import launch, numbers, put, text_of
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.placement import HostAddresses

TILE = ".shared .align 16 .b8 tile[512];\n"
OWN = "mov.u32 %r5, tile;\nshl.b32 %r6, %r0, 2;\nadd.u32 %r7, %r5, %r6;\n"
"""%r7: the address of the thread's own word in shared memory."""


def findings(body, *arrays, block=1, grid=1, **options):
    """Kinds of the findings, with their severities."""
    report = launch(body + "ret;", *arrays, block=block, grid=grid, before=TILE, **options)
    return [(x.kind, x.severity) for x in report.findings]


def test_arrays_begin_at_multiples_of_256_bytes_with_a_gap_after_each():
    wave = SingleWave(arrays={"x": np.zeros(1, np.uint8), "y": np.zeros(1, np.uint8)})
    assert all(x % 256 == 0 for x in wave.address.values())
    assert wave.address["y"] - wave.address["x"] > 256


def test_arrays_are_at_their_addresses_on_the_host_on_request():
    x = np.arange(8, dtype=np.uint32)
    heap = GlobalMemory(EMPTY_MODULE, host=HostAddresses())
    heap.expect([x[:5], x[3:]])
    assert [heap.map(x[:5], "low"), heap.map(x[3:], "high")] == [x.ctypes.data, x.ctypes.data + 12]
    heap.buffer[heap.placement.position_of(x.ctypes.data + 16)] = 9
    heap.written.update(range(len(heap.ranges)))
    heap.copy_back()
    assert x.tolist() == [0, 1, 2, 3, 9, 5, 6, 7] and len(heap.ranges) == 1


def test_a_load_out_of_bounds_is_reported_and_gives_0():
    x = numbers(4) + 7
    assert findings("ld.global.u32 %r2, [%rd1+16];\nst.global.u32 [%rd1], %r2;\n", x) == [("out of bounds", "error")]
    assert x.tolist() == [0, 7, 7, 7]


def test_a_store_out_of_bounds_is_reported_and_skipped():
    x, y = numbers(4), numbers(4)
    assert findings("st.global.u32 [%rd1+16], 1;\n", x, y) == [("out of bounds", "error")]
    assert not x.any() and not y.any()


def test_an_address_must_be_a_multiple_of_the_size_of_the_access():
    assert findings("ld.global.u32 %r2, [%rd1+2];\n", numbers(4)) == [("misaligned", "error")]
    assert findings("ld.global.v2.u32 {%r2, %r3}, [%rd1+4];\n", numbers(4)) == [("misaligned", "error")]
    assert findings("ld.global.u16 %r2, [%rd1+2];\n", numbers(4)) == []


def test_a_store_to_a_read_only_array_is_reported_and_skipped():
    x = numbers(4)
    x.flags.writeable = False
    assert findings("st.global.u32 [%rd1], 1;\n", x) == [("read-only", "error")]
    assert not x.any()


def test_blocks_have_separate_shared_memory_and_threads_have_separate_local_memory():
    wave = SingleWave(blocks=2, warps=1, shared_bytes=64, local_bytes=64)
    block = np.arange(2, dtype=np.uint32).reshape(2, 1, 1)
    lane = np.arange(32, dtype=np.uint32).reshape(1, 1, 32)
    wave.store("shared", one(8), block[None], active=np.broadcast_to(lane == 0, wave.shape))
    wave.store("local", one(8), lane[None])
    wave.barrier()
    assert wave.load("shared", one(8))[0].ravel().tolist() == [0, 1]
    assert np.broadcast_to(wave.load("local", one(8))[0][0], wave.shape)[1, 0].tolist() == list(range(32))


def test_a_generic_address_reaches_the_space_that_its_window_belongs_to():
    body = OWN + "st.shared.u32 [%r7], 5;\ncvt.u64.u32 %rd5, %r7;\ncvta.shared.u64 %rd5, %rd5;\nld.u32 %r2, [%rd5];\n"
    x = numbers(1)
    assert findings(body + put("%r2"), x) == []
    assert x.tolist() == [5]


@pytest.mark.parametrize(("dtype", "count", "remains"), [("u1", 1, 0), ("u4", 1, 0), ("u8", 1, 16), ("u4", 4, 24)])
def test_if_all_lanes_store_to_one_address_the_lowest_lane_of_the_last_pass_remains(dtype, count, remains):
    # NVIDIA H200, driver 580.159.04, 2026-11-23: passes of 32 lanes, of 16 for 8 bytes and of 8 for 16 bytes.
    wave = SingleWave(arrays={"x": np.zeros(4, np.uint64)})
    lanes = np.broadcast_to(np.arange(32, dtype=dtype), (count, 1, 1, 32))
    wave.store("global", one(wave.address["x"]), lanes)
    wave.heap.copy_back()
    assert wave.heap.mapped[0].array.view(dtype)[:count].tolist() == [remains] * count


def test_atomic_additions_to_one_word_lose_nothing_and_each_returns_a_different_old_value():
    total, old = numbers(1), numbers(64)
    body = "atom.global.add.u32 %r2, [%rd1], 1;\n" + put("%r2", "%rd2")
    assert findings(body, total, old, block=64) == []
    assert total.tolist() == [64] and sorted(old.tolist()) == list(range(64))


def test_a_variable_of_the_module_keeps_its_value_for_the_next_launch():
    counter = ".global .align 4 .u32 counter = 5;\n"
    body = "mov.u64 %rd5, counter;\natom.global.add.u32 %r2, [%rd5], 1;\nst.global.u32 [%rd1], %r2;\nret;"
    kernel = we.ptx.Module(text_of(body, 1, counter), findings="report")["k"]
    old = numbers(1)
    for expected in (5, 6, 7):
        kernel[1, 1](old)
        assert old.tolist() == [expected]


EXCHANGE = (
    OWN + "st.shared.u32 [%r7], %r0;\n{}\nxor.b32 %r6, %r6, {};\nadd.u32 %r7, %r5, %r6;\nld.shared.u32 %r2, [%r7];\n"
)


def test_a_store_and_a_load_of_two_warps_race_unless_a_barrier_orders_them():
    assert findings(EXCHANGE.format("", 128) + put("%r2"), numbers(64), block=64) == [("race", "error")]
    assert findings(EXCHANGE.format("bar.sync 0;", 128) + put("%r2"), numbers(64), block=64) == []


def test_a_race_between_lanes_of_one_warp_is_a_warning_and_needs_a_barrier_of_the_warp():
    assert findings(EXCHANGE.format("", 4) + put("%r2"), numbers(32), block=32) == [("race within a warp", "warning")]
    assert findings(EXCHANGE.format("bar.warp.sync -1;", 4) + put("%r2"), numbers(32), block=32) == []


def test_a_race_whose_loaded_value_is_unused_is_a_warning():
    assert findings(EXCHANGE.format("", 128), numbers(64), block=64) == [("race of an unused value", "warning")]


def test_blocks_race_on_global_memory_unless_their_operations_are_atomic():
    assert findings("st.global.u32 [%rd1], %r1;\n", numbers(1), grid=2) == [("race", "error")]
    assert findings("red.global.add.u32 [%rd1], %r1;\n", numbers(1), grid=2) == []


def test_lanes_that_store_different_values_to_one_address_are_reported():
    assert findings("st.global.u32 [%rd1], %r0;\n", numbers(1), block=32)[0][0] == "lanes store to one place"
    assert findings("st.global.u32 [%rd1], 7;\n", numbers(1), block=32) == []


def test_warps_that_store_equal_bytes_to_one_address_are_a_note():
    assert findings("st.global.u32 [%rd1], 7;\n", numbers(1), block=64) == [("race of equal bytes", "note")]


def test_writes_of_two_warps_to_adjacent_bytes_do_not_race():
    body = "mov.u32 %r5, tile;\nadd.u32 %r6, %r5, %r0;\nst.shared.u8 [%r6], %r0;\n"
    assert findings(body, numbers(64), block=64) == []


def test_uninitialised_bytes_may_be_loaded_but_not_stored_to_global_memory():
    load = OWN + "ld.shared.u32 %r2, [%r7];\n"
    assert findings(load, numbers(1)) == []
    assert findings(load + put("%r2"), numbers(1)) == [("uninitialised", "error")]


def test_an_element_with_some_initialised_bytes_is_only_a_warning_since_it_may_contain_padding():
    body = OWN + "st.shared.u8 [%r7], 1;\nld.shared.u32 %r2, [%r7];\n" + put("%r2")
    assert findings(body, numbers(1)) == [("partly uninitialised", "warning")]


def test_the_bytes_of_an_asynchronous_copy_arrive_at_the_wait():
    body = OWN + "cp.async.ca.shared.global [%r7], [%rd1], 4;\n{}ld.shared.u32 %r2, [%r7];\n" + put("%r2", "%rd2")
    x, y = numbers(1) + 9, numbers(1)
    assert findings(body.format("cp.async.wait_all;\n"), x, y) == [] and y.tolist() == [9]
    assert ("missing wait", "error") in findings(body.format(""), x, y)
