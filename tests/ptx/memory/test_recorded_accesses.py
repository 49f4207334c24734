# SPDX-License-Identifier: MIT
"""The records of the check for races: their size, and their completeness."""

import numpy as np
import pytest

from benchmarks.memory_kernels import MEMORY_KERNELS
from tests.ptx.memory.single_wave import instruction
from tests.ptx.memory.test_races_against_every_pair import THREADS, Both, load, store
from wmma_emu.errors import LaunchLimitError
from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.launch.module import Module
from wmma_emu.ptx.memory.races import deferred_accesses
from wmma_emu.ptx.memory.races.region import Region
from wmma_emu.ptx.memory.resolved_access import BLOCK, SYSTEM, WEAK, Access


def test_records_of_races_count_towards_the_memory_limit():
    kernel, blocks = MEMORY_KERNELS["global memory, words"], 1 << 10
    x, y = kernel.arguments(blocks)
    launch = Module(kernel.text)["k"][blocks, kernel.threads]
    arrays = x.nbytes + y.nbytes
    launch(x, y, checks=(), max_bytes=arrays + (1 << 20))
    with pytest.raises(LaunchLimitError, match=r"check for races.*raise max_bytes.*; block \(\d+, 0, 0\): .*line \d+"):
        launch(x, y, max_bytes=arrays + (1 << 20))
    launch(x, y, max_bytes=arrays + (8 << 20))


def byte(*threads, at=0, write=True, value=0):
    """Some threads access a byte."""
    return "access", list(threads), 1, [at] * THREADS, write, WEAK, [value] * THREADS


def bytes_of_words(*threads, write=True, value=0):
    """Thread k accesses byte k."""
    return "access", list(threads), 1, [x % 8 for x in range(THREADS)], write, WEAK, [value] * THREADS


PARTS = {
    "one thread stores the bytes of a word, another loads them": [
        byte(0, at=0), byte(0, at=1), byte(0, at=2), load(2), byte(2, at=3, write=False),
    ],
    "bytes side by side by several threads": [bytes_of_words(0, 1, 2, 3), bytes_of_words(0, 1, 2, 3, write=False)],
    "a byte, and the next byte by another thread": [byte(0, at=0), byte(2, at=1), byte(2, at=0)],
    "a word, then one byte of it after a barrier, then the word": [
        store(0), ("block", 0), byte(2, at=1), load(0), ("block", 0), byte(1, at=1), byte(0, at=0, write=False),
    ],
    "reads of bytes by one thread, and stores to the next ones": [
        byte(0, at=0, write=False), byte(0, at=1, write=False), byte(2, at=2), byte(2, at=1),
    ],
    "strong accesses of many, then a weak read": [
        store(0, strength=SYSTEM), store(2, strength=SYSTEM), load(4, strength=SYSTEM), load(1, word=1), load(6),
    ],
    "strong reads, then a weak store": [load(0, strength=SYSTEM), load(2, strength=SYSTEM), store(1), store(0)],
    "strong accesses to words next to a weak one": [
        store(0, word=1, strength=SYSTEM), store(2), store(0, strength=SYSTEM), load(0, word=1, strength=BLOCK),
    ],
    "strong accesses before a barrier": [
        store(0, strength=SYSTEM), store(2, strength=SYSTEM), ("block", 0), load(1), store(3, strength=SYSTEM), load(0),
    ],
}  # fmt: skip


@pytest.mark.parametrize("memory", ["shared", "global", "unordered"])
@pytest.mark.parametrize("name", PARTS)
def test_words_by_parts_and_deferred_accesses_have_the_races_of_the_definition(name, memory):
    Both(memory, start=1).run(PARTS[name])


@pytest.mark.parametrize("memory", ["shared", "global", "apart"])
@pytest.mark.parametrize("name", [name for name in PARTS if "strong" in name])
def test_a_list_of_strong_accesses_says_the_same_after_earlier_ones_are_left_out(name, memory, monkeypatch):
    monkeypatch.setattr(deferred_accesses, "_MOST", 2)
    Both(memory, start=1).run(PARTS[name])


BLOCKS_AT_ONCE, WARPS, WAVES = 8, 2, 8


def table(region: Region, order: CausalityOrder, positions: np.ndarray, *, write: bool = False) -> None:
    """All threads of a wave access the same words."""
    addresses = positions.astype(np.uint64)
    opcode = "st.u32" if write else "ld.u32"
    access = Access(instruction(opcode), positions, addresses, 4, 4, None, order.stamps(), order.now.copy())
    region.write(access, None) if write else region.read(access, None)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, WARPS, 32), (BLOCKS_AT_ONCE, WARPS, 32)])
def test_records_of_words_that_all_blocks_read_do_not_grow_with_the_number_of_blocks(shape):
    found: list = []
    order = CausalityOrder(BLOCKS_AT_ONCE * WAVES, WARPS, uses_memory_order=False)
    region = Region(0, 64, order, lambda race, active: found.append(race), is_of_block=False)
    positions = np.broadcast_to(np.arange(32) % 4 * 4, shape).copy() if shape[-1] > 1 else np.zeros(shape, np.int64)
    kept = []
    for wave in range(WAVES):
        order.begin(np.arange(BLOCKS_AT_ONCE) + wave * BLOCKS_AT_ONCE)
        for _ in range(3):
            table(region, order, positions)
            order.meet_all()
        region.end_wave()
        kept.append(region.bytes)
    assert len(set(kept)) == 1
    assert not found
    table(region, order, np.zeros((1, 1, 1), np.int64), write=True)
    assert all(race.bad.all() for race in found if race.verb == "read")
    assert {race.verb for race in found} == {"read", "writes"}


def test_the_time_limit_is_checked_while_a_write_is_compared_with_many_reads():
    checks: list[int] = []
    order = CausalityOrder(BLOCKS_AT_ONCE, WARPS)
    order.begin(np.arange(BLOCKS_AT_ONCE))
    region = Region(0, 64, order, lambda *_: None, is_of_block=True, check_time=lambda: checks.append(1))
    table(region, order, np.zeros((1, 1, 1), np.int64))
    region.end_wave()
    assert checks
    before = len(checks)
    table(region, order, np.zeros((1, 1, 1), np.int64), write=True)
    assert len(checks) > before
