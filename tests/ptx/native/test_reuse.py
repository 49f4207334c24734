# SPDX-License-Identifier: MIT
"""What launches of one process share: nothing that an earlier launch has left changes the checks of a later one."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

from tests.ptx.native.machines import module, require_flag, require_native

pytest.importorskip("llvmlite")

from wmma_emu.ptx.native import run, workers

SHARED = """
  mov.u32 %r1, tile; shl.b32 %r2, %r31, 2; add.u32 %r1, %r1, %r2; ld.global.u32 %r3, [%d0];
  setp.ne.u32 %p0, %r3, 0; @%p0 st.shared.u32 [%r1], %r0; ld.shared.u32 %r4, [%r1]; st.global.u32 [%d1], %r4; ret;"""
SAME_WORD = """
  ld.global.u32 %r3, [%d0]; ld.param.u64 %d4, [y]; mul.wide.u32 %d5, %r3, %r0; add.u64 %d4, %d4, %d5;
  st.global.u32 [%d4], %r0; ret;"""
DOUBLE = "ld.global.u32 %r1, [%d3]; add.u32 %r1, %r1, %r1; st.global.u32 [%d1], %r1; ret;"


@pytest.fixture
def y():
    return np.zeros(64, np.uint32)


def test_shared_memory_of_an_earlier_launch_is_uninitialised(y):
    launch = module(SHARED, before=".shared .align 4 .b8 tile[128];")["k"][2, 32]
    for _ in range(2):
        require_native(launch, np.ones(1, np.uint32), y)
        require_flag(launch, "uninitialised", np.zeros(1, np.uint32), y)


def test_launches_do_not_race_with_earlier_ones(y):
    launch = module(SAME_WORD)["k"][2, 32]
    for _ in range(2):
        require_native(launch, np.full(1, 4, np.uint32), y)
        require_flag(launch, "race", np.zeros(1, np.uint32), y)


def test_launches_with_more_blocks_and_larger_arrays_use_the_same_workers(monkeypatch):
    monkeypatch.setattr(run, "available_cores", lambda: 3)
    monkeypatch.setattr(workers, "FIRST_FUEL", 10)
    monkeypatch.setattr(run, "WORTH_A_THREAD", 1e-9)
    kernel = module(DOUBLE)["k"]
    for blocks in (3, 200, 2, 1000):
        x = np.arange(32 * blocks, dtype=np.uint32)
        require_native(kernel[blocks, 32], x, np.zeros_like(x))


def test_an_array_that_a_kernel_only_reads_is_not_copied():
    launch = module(DOUBLE)["k"][1, 32]
    x, y = np.arange(1 << 22, dtype=np.uint32), np.zeros(32, np.uint32)
    launch(x, y)
    tracemalloc.start()
    try:
        assert launch(x, y).machine == "native"
        assert tracemalloc.get_traced_memory()[1] < x.nbytes / 8
    finally:
        tracemalloc.stop()
    assert y.tolist() == [2 * i for i in range(32)]


@pytest.mark.parametrize("lanes", [32, 5])
def test_a_store_to_an_array_that_a_kernel_seems_to_read_only_is_done_once(lanes):
    body = """
      sub.u64 %d5, %d3, %d1; ld.param.u64 %d6, [y]; mul.wide.u32 %d7, %r0, 8; add.u64 %d6, %d6, %d7;
      st.global.u64 [%d6], %d5; ld.global.u64 %d8, [%d6]; add.u64 %d8, %d1, %d8;
      ld.global.u32 %r1, [%d8]; add.u32 %r1, %r1, 1; st.global.u32 [%d8], %r1; ret;"""
    x, y = np.zeros(32, np.uint32), np.zeros(64, np.uint32)
    report = module(body)["k"][1, lanes](x, y)
    assert (report.machine, report.findings) == ("numpy", ())
    assert x.tolist() == [1] * lanes + [0] * (32 - lanes)


def test_arrays_are_not_kept_after_a_launch():
    x, y = np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32)
    assert module(DOUBLE)["k"][1, 32](x, y).machine == "native"
    left = [weakref.ref(x), weakref.ref(y)]
    del x, y
    gc.collect()
    assert [x() for x in left] == [None, None]
