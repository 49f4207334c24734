# SPDX-License-Identifier: MIT
"""The rules of native memory, one fact each: every check flags a planted bug, and not the kernel without it."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.ptx.native.memory.straight_line import StraightLine
from wmma_emu.ptx.native.context import Flag
from wmma_emu.ptx.native.memory.memory_of_launch import flags_between_workers
from wmma_emu.ptx.native.memory.state import LINE

THREAD = np.arange(64).reshape(1, 2, 32)
WORDS = 4 * THREAD
X = {"x": np.arange(256, dtype=np.uint32)}


def in_x(offsets):
    """Addresses in the array."""
    return lambda addresses: addresses["x"] + offsets


def require(flag, body, **options):
    """The kernel raises these flags and has a finding on the NumPy machine; or neither, if there is no flag."""
    found = StraightLine(body, **options).compare()
    assert (found.flags, bool(found.kinds)) == (flag, bool(flag))
    return found


def test_an_access_must_be_within_an_array():
    for last, flag in ((1020, Flag(0)), (1021, Flag.BOUNDS), (1024, Flag.BOUNDS), (-4, Flag.BOUNDS)):
        offsets = np.where(THREAD == 40, last, WORDS)
        require(flag & ~Flag.ALIGNMENT, "ld.global.b8 %h0, [%d0+3];", registers={"d0": in_x(offsets)}, arrays=X)


def test_an_access_must_be_aligned():
    for step, flag in ((8, Flag(0)), (4, Flag.ALIGNMENT)):
        body = "ld.global.v2.u32 {%r0, %r1}, [%d0];"
        require(flag, body, registers={"d0": in_x(step * THREAD)}, arrays=X)


def test_an_array_that_is_not_writeable_is_not_stored_to():
    fixed = np.arange(64, dtype=np.uint32)
    fixed.flags.writeable = False
    for body, flag in (("ld.global.u32 %r0, [%d0];", Flag(0)), ("st.global.u32 [%d0], 1;", Flag.BOUNDS)):
        require(flag, body, registers={"d0": in_x(WORDS)}, arrays={"x": fixed})


def test_a_gap_between_shared_variables_is_out_of_bounds():
    body = ".shared .b32 s[64]; .shared .b32 t[64];\nst.shared.u32 [s+{}], 1; bar.warp.sync -1; st.shared.u32 [t], 1;"
    registers = {"p0": THREAD == 0}
    for offset, flag in ((252, Flag(0)), (256, Flag.BOUNDS)):
        require(flag, body.replace("st.", "@%p0 st.").format(offset), registers=registers)


@pytest.mark.parametrize("space", ["shared", "local"])
def test_a_load_of_uninitialised_bytes_is_flagged(space):
    before = f".{space} .align 4 .b8 m[256];\nst.{space}.u8 [m], 0;"  # the variable has to be used
    for kind, flag in (("u32", Flag(0)), ("u16", Flag.UNDEFINED)):
        body = (
            f"{before} bar.sync 0; st.{space}.{kind} [%d0], %r0; ld.{space}.u32 %r1, [%d0]; st.global.u32 [%d1], %r1;"
        )
        registers = {"d0": WORDS, "d1": in_x(WORDS), "r0": THREAD}
        require(flag, body.replace(f"st.{space}.u8", f"@%p0 st.{space}.u8"), registers=registers | {"p0": 0}, arrays=X)


def test_two_warps_race_unless_a_barrier_is_between_them():
    body = "st.shared.u32 [%d0], %r0; {} ld.shared.u32 %r1, [%d1];"
    registers = {"d0": WORDS, "d1": 252 - WORDS, "r0": THREAD}
    initial = "st.shared.u32 [%d0], %r0; bar.sync 0; "
    for between, flag in (("bar.sync 0;", Flag(0)), ("bar.warp.sync -1;", Flag.RACE)):
        require(flag, initial + body.format(between), registers=registers, dynamic=256)


def test_lanes_of_a_warp_race_unless_they_meet_between():
    body = "st.shared.u32 [%d0], %r0; {} ld.shared.u32 %r1, [%d1];"
    registers = {"d0": WORDS, "d1": WORDS ^ 4, "r0": THREAD}
    for between, flag in (("bar.warp.sync -1;", Flag(0)), ("", Flag.RACE)):
        require(flag, "st.shared.u32 [%d0], %r0; bar.sync 0; " + body.format(between), registers=registers, dynamic=256)


def test_lanes_may_store_one_value_to_one_address_but_not_two():
    for value, flag in ((THREAD // 4, Flag(0)), (THREAD, Flag.RACE)):
        require(flag, "st.global.u32 [%d0], %r0;", registers={"d0": in_x(WORDS // 16 * 4), "r0": value}, arrays=X)


def test_neighbouring_bytes_of_a_word_do_not_race():
    for offsets, flag in ((THREAD, Flag(0)), (THREAD // 2, Flag.RACE)):
        registers = {"d0": in_x(offsets), "h0": THREAD}
        require(flag, "st.global.u8 [%d0], %h0;", registers=registers, arrays=X)


@pytest.mark.parametrize("workers", [1, 2])
def test_two_blocks_race_on_one_word_whichever_workers_run_them(workers):
    block = np.arange(4).reshape(4, 1, 1)
    for step, flag in ((64, Flag(0)), (60, Flag.RACE)):
        registers = {"d0": in_x(WORDS + 4 * step * block), "r0": THREAD}
        body = "st.global.u32 [%d0], %r0;"
        require(flag, body, registers=registers, arrays=X, grid=4, workers=workers)


@pytest.mark.parametrize("workers", [1, 2])
def test_atomic_operations_do_not_race_with_each_other_but_with_loads(workers):
    body = "red.global.add.u32 [%d0], 1; {}"
    for more, flag in (("", Flag(0)), ("ld.global.u32 %r0, [%d0];", Flag.RACE)):
        options = {"registers": {"d0": in_x(WORDS % 16)}, "arrays": X, "grid": 2, "workers": workers}
        require(flag, body.format(more), **options)


def test_an_order_of_atomic_operations_that_changes_bits_is_flagged():
    for body, words in (("red.global.add.f32", THREAD % 4), ("red.global.inc.u32", THREAD % 4)):
        found = StraightLine(f"{body} [%d0], %r0;", {"d0": in_x(4 * words), "r0": THREAD}, X).compare()
        assert (found.flags, found.kinds) == (Flag.UNORDERED, [])
        require(Flag(0), f"{body} [%d0], %r0;", registers={"d0": in_x(THREAD // 4 * 4), "r0": THREAD}, arrays=X)


def test_two_operations_on_one_word_are_in_an_order():
    for first, second, flag in (("add.u32", "add.u32", Flag(0)), ("or.b32", "max.s32", Flag.UNORDERED)):
        body = f"@%p0 red.global.{first} [%d0], %r0; @!%p0 red.global.{second} [%d0], %r0;"
        found = StraightLine(body, {"d0": in_x(0 * WORDS), "p0": THREAD < 32, "r0": THREAD}, X).compare()
        assert (found.flags, found.kinds) == (flag, [])


def test_atomic_operations_of_the_scope_of_a_block_race_with_those_of_other_blocks():
    for scope, flag in (("gpu", Flag(0)), ("cta", Flag.UNORDERED)):
        body = f"red.relaxed.{scope}.global.add.u32 [%d0], 1;"
        require(flag, body, registers={"d0": in_x(WORDS)}, arrays=X, grid=2)


def test_a_copy_is_waited_for_before_its_bytes_are_used():
    body = "cp.async.ca.shared.global [%d0], [%d1], 4; cp.async.commit_group; {} {} ld.shared.u32 %r0, [%d2];"
    registers = {"d0": WORDS, "d1": in_x(WORDS), "d2": 252 - WORDS}
    for wait, flag in (("wait_group 0", Flag(0)), ("wait_all", Flag(0)), ("wait_group 1", Flag.COPY)):
        text = body.format(f"cp.async.{wait};", "bar.sync 0;")
        require(flag, text, registers=registers, arrays=X, dynamic=256)


def test_the_source_of_a_copy_in_flight_is_not_stored_to():
    body = "cp.async.ca.shared.global [%d0], [%d1], 4; {} bar.sync 0; st.global.u32 [%d1], 1; cp.async.wait_all;"
    registers = {"d0": WORDS, "d1": in_x(WORDS)}
    for wait, flag in (("cp.async.wait_all;", Flag(0)), ("", Flag.COPY)):
        require(flag, body.format(wait), registers=registers, arrays=X, dynamic=256)


def test_lanes_of_a_membermask_give_the_same_one():
    for masks, flag in ((np.where(THREAD % 32 < 16, 0xFFFF, 0xFFFF0000), Flag(0)), (~(THREAD // 63), Flag.COLLECTIVE)):
        registers = {"r1": masks, "p0": THREAD % 3 == 0}
        require(flag, "vote.sync.ballot.b32 %r0, %p0, %r1;", registers=registers)


def test_arrays_may_be_at_their_addresses_on_the_host():
    arrays = {"x": np.arange(64, dtype=np.uint32), "y": np.zeros(64, np.uint32)}
    registers = {"d0": in_x(WORDS), "d1": lambda addresses: addresses["y"] + 252 - WORDS}
    body = "ld.global.u32 %r0, [%d0]; st.global.u32 [%d1], %r0;"
    found = StraightLine(body, registers, arrays, at_host_addresses=True).compare("r0")
    assert not found.flags


def test_the_records_of_two_workers_are_compared_in_little_memory():
    def worker():
        lines = np.ones((2, 1 << 15), np.uint64)
        lines[0] = 0
        return SimpleNamespace(lines=lines, granules=granules, accessed=lines.any(axis=0))

    granules = np.zeros((2, LINE << 15), np.uint64)
    workers = [worker(), worker()]
    tracemalloc.start()
    try:
        assert not flags_between_workers(workers)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
