# SPDX-License-Identifier: MIT
"""movmatrix: the transpose of the matrix in the registers."""

import numpy as np
import pytest

from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.warp.ldmatrix import ldmatrix
from wmma_emu.warp.movmatrix import movmatrix
from wmma_emu.warp.stmatrix import stmatrix

REGISTERS = np.random.default_rng(7).integers(0, 2**32, (1, 2, 3, 32), np.uint32)


def test_each_element_comes_from_the_lane_that_holds_its_mirror_image():
    got = movmatrix(REGISTERS)
    assert got.shape == REGISTERS.shape and got.dtype == np.uint32
    for lane in range(32):
        for e in range(2):
            row, column = 2 * (lane % 4) + e, lane // 4
            owner, half = 4 * row + column // 2, column % 2
            assert ((got[..., lane] >> (16 * e) & 0xFFFF) == (REGISTERS[..., owner] >> (16 * half) & 0xFFFF)).all()


def test_two_transpositions_are_the_identity():
    assert (movmatrix(movmatrix(REGISTERS)) == REGISTERS).all()


def test_loading_transposed_is_loading_and_then_transposing():
    shared = np.random.default_rng(8).integers(0, 2**16, (32, 8), np.uint16)
    rows = np.arange(32) * 16
    plain, transposed = (ldmatrix(shared, rows, f"ldmatrix.m8n8.x4{x}.b16") for x in ("", ".trans"))
    assert [movmatrix(x[None])[0].tolist() for x in plain] == transposed.tolist()


def test_storing_transposed_is_transposing_and_then_storing():
    registers = np.random.default_rng(9).integers(0, 2**32, (1, 32), np.uint32)
    memories = np.zeros((2, 8, 8), np.uint16)
    stmatrix(memories[0], np.arange(32) * 16, registers, "stmatrix.m8n8.x1.trans.b16")
    stmatrix(memories[1], np.arange(32) * 16, movmatrix(registers), "stmatrix.m8n8.x1.b16")
    assert memories[0].tolist() == memories[1].tolist()


def test_what_does_not_exist_is_refused():
    with pytest.raises(UnsupportedInstructionError, match=r"sm_70 \(Volta\) has no .* the first chip .* is sm_75"):
        movmatrix(REGISTERS, arch="sm_70")
    with pytest.raises(UnsupportedInstructionError, match=r"m8n8 of b16 needs .trans. Nearest on sm_90: movmatrix"):
        movmatrix(REGISTERS, "movmatrix.sync.aligned.m8n8.b16")
    with pytest.raises(FragmentMismatchError, match=r"shape \(1, \*warps, 32\), not uint32 of shape \(2, 32\)"):
        movmatrix(np.zeros((2, 32), np.uint32))
