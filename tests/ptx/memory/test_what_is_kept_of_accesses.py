# SPDX-License-Identifier: MIT
"""What the check for races keeps of accesses: how much memory, and nothing less than what is needed."""

import numpy as np
import pytest

from benchmarks.memory_kernels import MEMORY_KERNELS
from tests.ptx.memory.chunks import instruction
from tests.ptx.memory.test_races_against_every_pair import THREADS, Both, load, store
from wmma_emu.errors import LaunchLimitError
from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.launch.module import Module
from wmma_emu.ptx.memory.races import listed
from wmma_emu.ptx.memory.races.region import Region
from wmma_emu.ptx.memory.touch import BLOCK, SYSTEM, WEAK, Touch


def test_stamps_of_global_memory_count_as_memory_of_the_launch():
    kernel, blocks = MEMORY_KERNELS["global memory, words"], 1 << 10
    x, y = kernel.arguments(blocks)
    launch = Module(kernel.text)["k"][blocks, kernel.threads]
    arrays = x.nbytes + y.nbytes
    launch(x, y, checks=(), max_bytes=arrays + (1 << 20))
    with pytest.raises(LaunchLimitError, match="check for races"):
        launch(x, y, max_bytes=arrays + (1 << 20))
    launch(x, y, max_bytes=arrays + (8 << 20))


def byte(*who, at=0, write=True, value=0):
    """Some threads access a byte."""
    return "access", list(who), 1, [at] * THREADS, write, WEAK, [value] * THREADS


def bytes_of_words(*who, write=True, value=0):
    """Thread k accesses byte k."""
    return "access", list(who), 1, [x % 8 for x in range(THREADS)], write, WEAK, [value] * THREADS


PARTS = {
    "one thread stores the bytes of a word, another loads them": [
        byte(0, at=0), byte(0, at=1), byte(0, at=2), load(2), byte(2, at=3, write=False),
    ],
    "bytes side by side by several threads": [bytes_of_words(0, 1, 2, 3), bytes_of_words(0, 1, 2, 3, write=False)],
    "a byte, and the byte beside it by another thread": [byte(0, at=0), byte(2, at=1), byte(2, at=0)],
    "a word, then one byte of it behind a barrier, then the word": [
        store(0), ("block", 0), byte(2, at=1), load(0), ("block", 0), byte(1, at=1), byte(0, at=0, write=False),
    ],
    "reads of bytes by one thread, and stores beside them": [
        byte(0, at=0, write=False), byte(0, at=1, write=False), byte(2, at=2), byte(2, at=1),
    ],
    "strong accesses of many, then a weak read": [
        store(0, strength=SYSTEM), store(2, strength=SYSTEM), load(4, strength=SYSTEM), load(1, place=1), load(6),
    ],
    "strong reads, then a weak store": [load(0, strength=SYSTEM), load(2, strength=SYSTEM), store(1), store(0)],
    "strong accesses to words beside a weak one": [
        store(0, place=1, strength=SYSTEM), store(2), store(0, strength=SYSTEM), load(0, place=1, strength=BLOCK),
    ],
    "strong accesses before a barrier": [
        store(0, strength=SYSTEM), store(2, strength=SYSTEM), ("block", 0), load(1), store(3, strength=SYSTEM), load(0),
    ],
}  # fmt: skip


@pytest.mark.parametrize("memory", ["shared", "global", "apart"])
@pytest.mark.parametrize("name", PARTS)
def test_accesses_by_parts_and_lists_of_strong_ones_say_what_every_pair_says(name, memory):
    Both(memory, start=1).run(PARTS[name])


@pytest.mark.parametrize("memory", ["shared", "global", "apart"])
@pytest.mark.parametrize("name", [name for name in PARTS if "strong" in name])
def test_a_list_of_strong_accesses_says_the_same_after_earlier_ones_are_left_out(name, memory, monkeypatch):
    monkeypatch.setattr(listed, "_MOST", 2)
    Both(memory, start=1).run(PARTS[name])


BLOCKS_AT_ONCE, WARPS, CHUNKS = 8, 2, 8


def table(region: Region, order: CausalityOrder, positions: np.ndarray, *, write: bool = False) -> None:
    """All threads of a chunk access the same words."""
    addresses = positions.astype(np.uint64)
    opcode = "st.u32" if write else "ld.u32"
    touch = Touch(instruction(opcode), positions, addresses, 4, 4, None, order.stamps(), order.now.copy())
    region.write(touch, None) if write else region.read(touch, None)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, WARPS, 32), (BLOCKS_AT_ONCE, WARPS, 32)])
def test_what_is_kept_of_words_that_all_blocks_read_does_not_grow_with_the_blocks(shape):
    found: list = []
    order = CausalityOrder(BLOCKS_AT_ONCE * CHUNKS, WARPS, is_released_to=False)
    region = Region(0, 64, order, lambda race, active: found.append(race), is_of_block=False)
    positions = np.broadcast_to(np.arange(32) % 4 * 4, shape).copy() if shape[-1] > 1 else np.zeros(shape, np.int64)
    kept = []
    for chunk in range(CHUNKS):
        order.begin(np.arange(BLOCKS_AT_ONCE) + chunk * BLOCKS_AT_ONCE)
        for _ in range(3):
            table(region, order, positions)
            order.meet_all()
        region.end_chunk()
        kept.append(region.bytes)
    assert len(set(kept)) == 1
    assert not found
    table(region, order, np.zeros((1, 1, 1), np.int64), write=True)
    assert all(race.bad.all() for race in found if race.verb == "read")
    assert {race.verb for race in found} == {"read", "writes"}


def test_the_clock_is_looked_at_while_a_write_is_compared_with_many_reads():
    looks: list[int] = []
    order = CausalityOrder(BLOCKS_AT_ONCE, WARPS)
    order.begin(np.arange(BLOCKS_AT_ONCE))
    region = Region(0, 64, order, lambda *_: None, is_of_block=True, look=lambda: looks.append(1))
    table(region, order, np.zeros((1, 1, 1), np.int64))
    region.end_chunk()
    assert looks
    before = len(looks)
    table(region, order, np.zeros((1, 1, 1), np.int64), write=True)
    assert len(looks) > before
