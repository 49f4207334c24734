# SPDX-License-Identifier: MIT
"""The rules of races, one fact each: which two accesses race, what orders them, kinds, both sides, and remedies."""

import numpy as np
import pytest

from tests.ptx.texts_of_kernels import launch, numbers, put
from wmma_emu.ptx.memory.races.coding import Coding
from wmma_emu.ptx.memory.races.granules import Granules
from wmma_emu.ptx.memory.races.remedies import REMEDIES, remedy_of, separation
from wmma_emu.ptx.program.program import PtxInstruction

TILE = ".shared .align 16 .b8 tile[512];\n"
OWN = "mov.u32 %r5, tile;\nshl.b32 %r6, %r0, 2;\nadd.u32 %r7, %r5, %r6;\n"
"""%r7: the address of the thread's own word in shared memory."""

PARTNER = "xor.b32 %r6, %r6, 128;\nadd.u32 %r8, %r5, %r6;\n"
"""%r8: the address of the word of the same lane in the other warp."""

FIRST = "setp.eq.u32 %p1, %r1, 0;\n"
"""%p1: the thread is in block 0."""


def report_of(body, *arrays, block=64, grid=1):
    return launch(body + "ret;", *arrays, block=block, grid=grid, before=TILE)


def kinds(*arguments, **options):
    return [x.kind for x in report_of(*arguments, **options).findings]


def global_word(first, second):
    """Return the kinds of findings if block 0 executes one statement on a word, and block 1 another."""
    body = f"{FIRST}@%p1 {first}\n@!%p1 {second}\n"
    return kinds(body, numbers(1), block=1, grid=2)


def test_two_reads_do_not_race():
    assert global_word("ld.global.u32 %r2, [%rd1];", "ld.global.u32 %r3, [%rd1];") == []


def test_a_thread_does_not_race_with_itself():
    assert kinds(OWN + "st.shared.u32 [%r7], 1;\nst.shared.u32 [%r7], 2;\nld.shared.u32 %r2, [%r7];\n" + put("%r2"),
                 numbers(64)) == []  # fmt: skip


def test_two_writes_race_and_so_do_a_write_and_a_read_whose_value_is_used():
    assert global_word("st.global.u32 [%rd1], 1;", "st.global.u32 [%rd1], 2;") == ["race"]
    body = OWN + "st.shared.u32 [%r7], %r0;\n" + PARTNER + "ld.shared.u32 %r2, [%r8];\n" + put("%r2")
    assert kinds(body, numbers(64)) == ["race"]


def test_accesses_to_different_bytes_of_one_word_do_not_race():
    assert global_word("st.global.u8 [%rd1], 1;", "st.global.u8 [%rd1+1], 2;") == []
    assert global_word("st.global.u16 [%rd1], 1;", "st.global.u8 [%rd1+1], 2;") == ["race"]


@pytest.mark.parametrize(("barrier", "found"), [
    ("bar.sync 0;", []), ("membar.gl;", ["race"]), ("bar.warp.sync -1;", ["race"]), ("", ["race"]),
])  # fmt: skip
def test_of_two_warps_a_barrier_of_the_block_orders_accesses_and_a_fence_alone_does_not(barrier, found):
    body = OWN + f"st.shared.u32 [%r7], %r0;\n{barrier}\n" + PARTNER + "ld.shared.u32 %r2, [%r8];\n" + put("%r2")
    assert kinds(body, numbers(64)) == found


def test_a_write_after_a_read_of_another_warp_needs_a_barrier_too():
    body = (
        OWN + "st.shared.u32 [%r7], %r0;\nbar.sync 0;\n" + PARTNER + "ld.shared.u32 %r2, [%r8];\n{}\n"
        "st.shared.u32 [%r7], %r2;\n" + put("%r2")
    )
    assert kinds(body.format(""), numbers(64)) == ["race"]
    assert kinds(body.format("bar.sync 0;"), numbers(64)) == []


@pytest.mark.parametrize(("scope", "found"), [("gpu", []), ("sys", []), ("cta", ["race"])])
def test_atomic_operations_of_two_blocks_race_unless_their_scope_includes_both(scope, found):
    operation = f"red.relaxed.{scope}.global.add.u32 [%rd1], 1;"
    assert global_word(operation, operation) == found


def test_an_atomic_operation_and_a_plain_store_race():
    assert global_word("red.global.add.u32 [%rd1], 1;", "st.global.u32 [%rd1], 5;") == ["race"]


def test_a_race_within_a_warp_is_a_separate_kind():
    body = OWN + "st.shared.u32 [%r7], %r0;\nxor.b32 %r6, %r6, 4;\nadd.u32 %r8, %r5, %r6;\nld.shared.u32 %r2, [%r8];\n"
    assert kinds(body + put("%r2"), numbers(32), block=32) == ["race within a warp"]


def test_lanes_that_store_to_one_word_at_once_differ_from_a_race_and_equal_bytes_of_two_warps_from_both():
    assert kinds("st.global.u32 [%rd1], %r0;\n", numbers(1), block=32) == ["lanes store to one place"]
    assert kinds("st.global.u32 [%rd1], 7;\n", numbers(1), block=64) == ["race of equal bytes"]
    assert kinds("st.global.u32 [%rd1], 7;\n", numbers(1), block=32) == []


def test_a_race_names_both_instructions_and_what_each_does():
    body = OWN + "st.shared.u32 [%r7], %r0;\n" + PARTNER + "ld.shared.u32 %r2, [%r8];\n" + put("%r2")
    (finding,) = report_of(body, numbers(64)).findings
    assert [x.role for x in finding.sides] == ["writes", "reads"] and finding.count == 64


@pytest.mark.parametrize(("one", "other", "apart"), [
    ((0, 0, 1), (1, 0, 1), "blocks"), ((0, 0, 1), (0, 1, 1), "warps"), ((0, 1, 1), (0, 1, 2), "lanes"),
])  # fmt: skip
def test_the_remedy_depends_on_whether_the_threads_are_in_one_warp_in_one_block_or_in_two(one, other, apart):
    load = PtxInstruction("ld.shared.u32", "ld", ("shared", "u32"), (), None, 57, 1)
    assert separation(one, other) == remedy_of(one, other, load, None) == apart


def test_a_remedy_is_written_for_two_lines_or_for_one():
    assert REMEDIES["warps"].fix("k.cu:8", "k.cu:9") == "a __syncthreads() between k.cu:8 and k.cu:9"
    assert REMEDIES["warps"].fix("k.cu:8") == (
        "a __syncthreads() between the two accesses, or a separate address for each thread"
    )


def test_an_access_is_a_stamp_with_a_strength_and_several_are_a_chain():
    coding = Coding(np.dtype(np.uint32))
    numbers_of = coding.access(np.array([5], np.uint32), 3)
    assert numbers_of.tolist() == [0x6000_0005]
    assert coding.chains(np.array([17])).tolist() == [0x8000_0011]
    assert coding.are_chains(np.array([0x6000_0005, 0x8000_0011], np.uint32)).tolist() == [False, True]


def test_a_narrow_number_is_converted_to_a_wide_one_with_its_stamp_and_strength():
    narrow, wide = Coding(np.dtype(np.uint32)), Coding(np.dtype(np.uint64))
    given = np.array([0x6000_0005, 0x8000_0011], np.uint32)
    assert wide.recoded(given, narrow).tolist() == [0x6000_0000_0000_0005, 0x8000_0000_0000_0011]


def test_granules_are_as_small_as_the_smallest_access():
    granules = Granules(0, 64, np.dtype(np.uint32))
    for size, count in ((4, 16), (8, 16), (1, 64)):
        granules.refine(size)
        assert len(granules.flat) == count
