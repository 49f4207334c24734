# SPDX-License-Identifier: MIT
"""What the check for races keeps of accesses: how much memory, and nothing less than what is needed."""

import pytest

from benchmarks.memory_kernels import MEMORY_KERNELS
from tests.ptx.memory.test_races_against_every_pair import Both, load, store
from wmma_emu.errors import LaunchLimitError
from wmma_emu.ptx.launch.module import Module
from wmma_emu.ptx.memory.races.touch import BLOCK, SYSTEM, WEAK


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
    return "access", list(who), 1, [at] * 8, write, WEAK, [value] * 8


def bytes_of_words(*who, write=True, value=0):
    """Thread k accesses byte k."""
    return "access", list(who), 1, list(range(8)), write, WEAK, [value] * 8


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


@pytest.mark.parametrize("is_of_block", [True, False], ids=["shared", "global"])
@pytest.mark.parametrize("name", PARTS)
def test_accesses_by_parts_and_lists_of_strong_ones_say_what_every_pair_says(name, is_of_block):
    Both(is_of_block=is_of_block, start=1).run(PARTS[name])
