# SPDX-License-Identifier: MIT
"""Undefined bits of registers against a plain mask of every thread, over random writes by some of the threads."""

import numpy as np
import pytest

from wmma_emu.ptx.definedness.origins import Origins
from wmma_emu.ptx.definedness.registers import UndefinedRegisters
from wmma_emu.ptx.definedness.undefined import Undefined, joined

SHAPE = (2, 1, 32)


def masks(rng):
    """Masks as branches make them: some threads, some of these threads, and all threads."""
    some = rng.random(SHAPE) < rng.choice([0.1, 0.5, 0.9, 1.0])
    return [some, some & (rng.random(SHAPE) < 0.5), some.copy(), np.ones(SHAPE, bool), rng.random((1, 1, 32)) < 0.7]


@pytest.mark.parametrize("seed", range(20))
def test_registers_are_undefined_in_the_threads_that_did_not_write_them(seed):
    rng = np.random.default_rng(seed)
    registers = UndefinedRegisters([np.dtype(np.uint32)] * 3, Origins())
    expected = np.full((3, *SHAPE), 0xFFFF_FFFF, np.uint32)
    live = np.ones(SHAPE, bool)
    for _ in range(12):
        for active in masks(rng):
            index = int(rng.integers(3))
            if rng.random() < 0.2:
                bits = np.where(rng.random(SHAPE) < 0.3, np.uint32(rng.integers(1, 1 << 32)), np.uint32(0))
                registers.write(index, active, Undefined(bits, np.zeros((1, 1, 1), np.uint64)), live)
                expected[index] = np.where(active, bits, expected[index])
            elif rng.random() < 0.7:
                registers.write(index, active, None, live)
                expected[index] = np.where(active, 0, expected[index])
            for i, reader in enumerate((active, live, rng.random(SHAPE) < 0.2)):
                found = registers.among(i, reader)
                used = np.where(reader, expected[i], 0)
                assert (found is not None) == bool(used.any())
                if found is not None:
                    assert (np.where(reader, found.bits, 0) == used).all()
    registers.write(0, None, None, live)
    assert 0 not in registers.watched


def test_nothing_is_kept_if_the_check_is_off():
    registers = UndefinedRegisters([np.dtype(np.uint32)], Origins(), is_checked=False)
    lost = Undefined(np.ones((1, 1, 1), np.uint32), np.zeros((1, 1, 1), np.uint64))
    registers.write(0, None, lost, np.ones(SHAPE, bool))
    assert not registers.watched
    assert registers.among(0, np.ones(SHAPE, bool)) is None


def test_writes_of_active_threads_replace_undefined_values():
    active = np.array([[[True, False]]])
    old, new = (Undefined(np.full((1, 1, 2), x, np.uint8), np.full((1, 1, 2), x, np.uint64)) for x in (1, 2))
    assert joined(None, new, old) is new
    assert joined(None, None, old) is None and joined(active, None, None) is None
    assert joined(active, None, old).bits.tolist() == [[[0, 1]]]
    assert joined(active, new, None).bits.tolist() == [[[2, 0]]]
    both = joined(active, new, old)
    assert (both.bits.tolist(), both.origin.tolist()) == ([[[2, 1]]], [[[2, 1]]])
