# SPDX-License-Identifier: MIT
"""stmatrix against loops over lanes and bytes, as the inverse of ldmatrix, and what is refused."""

import numpy as np
import pytest

from wmma_emu.errors import (
    AlignmentError,
    DivergenceError,
    FragmentMismatchError,
    OutOfBoundsError,
    UnsupportedInstructionError,
)
from wmma_emu.warp.ldmatrix import ldmatrix
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES
from wmma_emu.warp.stmatrix import stmatrix

STORES = [name for name in MATRIX_MOVES if name.startswith("stmatrix")]
X4 = "stmatrix.sync.aligned.m8n8.x4.shared.b16"


def by_loops(shared, addresses, registers, name):
    """The layouts of PTX, a lane, a register and an element at a time, into a copy."""
    words, memory = name.split("."), bytearray(shared)
    for j in range(int(words[4][1:])):
        for lane in range(32):
            g, t = divmod(lane, 4)
            word = int(registers[j][lane])
            if words[3] == "m16n8":
                for e in range(4):
                    memory[addresses[8 * j + 2 * t + e % 2] + g + 8 * (e // 2)] = word >> (8 * e) & 0xFF
                continue
            for e in range(2):
                row, column = (2 * t + e, g) if "trans" in words else (g, 2 * t + e)
                start = addresses[8 * j + row] + 2 * column
                memory[start : start + 2] = (word >> (16 * e) & 0xFFFF).to_bytes(2, "little")
    return memory


def test_every_form_is_listed():
    b16 = {f"stmatrix.sync.aligned.m8n8.x{n}{t}.shared.b16" for n in (1, 2, 4) for t in ("", ".trans")}
    b8 = {f"stmatrix.sync.aligned.m16n8.x{n}.trans.shared.b8" for n in (1, 2, 4)}
    assert set(STORES) == b16 | b8
    assert {MATRIX_MOVES[x].first for x in b16} == {"sm_90"} and {MATRIX_MOVES[x].first for x in b8} == {"sm_100"}


@pytest.mark.parametrize("name", STORES)
def test_memory_holds_what_the_loops_write(name):
    rng = np.random.default_rng(4)
    shared = rng.integers(0, 256, 1600, np.uint8)
    addresses = rng.permutation(100)[:64].reshape(2, 32) * 16
    registers = rng.integers(0, 2**32, (MATRIX_MOVES[name].num_registers, 2, 32), np.uint32)
    want = bytes(shared)
    for warp in range(2):
        want = by_loops(want, addresses[warp].tolist(), registers[:, warp].tolist(), name)
    assert stmatrix(shared, addresses, registers, name, arch="sm_100") is None
    assert bytes(shared) == bytes(want)


@pytest.mark.parametrize("name", [name for name in STORES if "m8n8" in name])
def test_what_is_stored_comes_back_when_loaded(name):
    rng = np.random.default_rng(5)
    shared = np.zeros((3, 64, 8), np.uint16)
    addresses = (np.arange(3)[:, None] * 64 + np.arange(32)[None] * 2) * 16
    registers = rng.integers(0, 2**32, (MATRIX_MOVES[name].num_registers, 3, 32), np.uint32)
    stmatrix(shared, addresses, registers, name)
    assert (ldmatrix(shared, addresses, "ld" + name[2:]) == registers).all()
    rows = MATRIX_MOVES[name].num_addresses
    assert not shared[:, 1::2].any() and not shared[:, 2 * rows :].any()


def test_bytes_of_a_transposed_accumulator_come_back_through_m16n16():
    registers = np.random.default_rng(6).integers(0, 2**32, (2, 32), np.uint32)
    shared = np.zeros((16, 16), np.uint8)
    stmatrix(shared, np.arange(32) * 16, registers, "stmatrix.m16n8.x2.trans.b8", arch="sm_100")
    # Element (row, column) of the 16 x 16 matrix is at byte `row` of memory row `column`.
    loaded = ldmatrix(shared, np.arange(32) * 16, "ldmatrix.m16n16.x1.trans.b8", arch="sm_100").view(np.uint8)
    loaded = loaded.reshape(2, 8, 4, 4)  # half, group, thread, byte: element (group + 8 half, 4 thread + byte)
    assert (loaded.transpose(2, 3, 0, 1).reshape(16, 16) == shared).all()


def test_the_lowest_lanes_alone_give_rows():
    shared = np.zeros(128, np.uint8)
    addresses = np.full(32, 3)
    addresses[:8] = np.arange(8) * 16
    stmatrix(shared, addresses, np.full((1, 32), 0x01010101, np.uint32), "stmatrix.m8n8.x1.b16")
    assert (shared == 1).all()


def test_warps_axes_broadcast():
    shared = np.zeros(1024, np.uint8)
    rows = np.arange(64).reshape(2, 32) * 16
    stmatrix(shared, rows, np.full((4, 1, 32), 0x02020202, np.uint32), X4)
    assert (shared == 2).all()
    with pytest.raises(FragmentMismatchError, match=r"do not broadcast: addresses \(2,\), registers \(3,\)"):
        stmatrix(shared, rows, np.zeros((4, 3, 32), np.uint32), X4)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ((0, 3), (0, 20), "lane 3 of warp 0 and lane 20 of warp 0 both write the row at address 48: a race"),
        ((0, 31), (1, 0), "lane 31 of warp 0 and lane 0 of warp 1 both write the row at address 496: a race"),
    ],
    ids=["one warp", "two warps"],
)
def test_two_lanes_that_write_one_row_race_and_nothing_is_written(first, second, message):
    shared = np.zeros(1024, np.uint8)
    rows = np.arange(64).reshape(2, 32) * 16
    rows[second] = rows[first]
    with pytest.raises(DivergenceError, match=message):
        stmatrix(shared, rows, np.full((4, 2, 32), 0xFFFFFFFF, np.uint32), X4)
    assert not shared.any()


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        (4, AlignmentError, r"lane 5 gives the address 4; .* 0 or 16"),
        (512, OutOfBoundsError, r"lane 5 gives the address 512; .* shared has 512: addresses go from 0 to 496"),
        (-16, OutOfBoundsError, "lane 5 gives the address -16;"),
    ],
)
def test_a_wrong_address_writes_nothing(address, error, message):
    shared, rows = np.zeros(512, np.uint8), np.arange(32) * 16
    rows[5] = address
    with pytest.raises(error, match=message):
        stmatrix(shared, rows, np.full((4, 32), 0xFFFFFFFF, np.uint32), X4)
    assert not shared.any()


@pytest.mark.parametrize(
    "registers",
    [
        np.zeros((2, 32), np.uint32),
        np.zeros((4, 32), np.int32),
        np.zeros((4, 16), np.uint32),
        np.zeros(32, np.uint32),
        None,
    ],
    ids=["two", "signed", "16 lanes", "no register axis", "none"],
)
def test_other_registers_are_refused(registers):
    with pytest.raises(FragmentMismatchError, match=r"takes uint32 registers of shape \(4, \*warps, 32\), not"):
        stmatrix(np.zeros(512, np.uint8), np.arange(32) * 16, registers, X4)


def test_read_only_memory_is_refused():
    shared = np.zeros(512, np.uint8)
    shared.flags.writeable = False
    with pytest.raises(FragmentMismatchError, match="read-only"):
        stmatrix(shared, np.arange(32) * 16, np.zeros((4, 32), np.uint32), X4)


@pytest.mark.parametrize(
    ("name", "arch", "message"),
    [
        (
            X4,
            "sm_89",
            r"sm_89 \(Ada Lovelace\) has no .*; the first chip that supports it is sm_90. sm_89 has no form of stm",
        ),
        (
            "stmatrix.m16n8.x1.trans.b8",
            "sm_90",
            r"the first chip that supports it is sm_100. Nearest on sm_90: stmatrix.sync",
        ),
        ("stmatrix.m16n8.x1.b8", "sm_100", r"m16n8 of b8 needs .trans"),
    ],
)
def test_what_the_chip_lacks_is_refused(name, arch, message):
    with pytest.raises(UnsupportedInstructionError, match=message):
        stmatrix(np.zeros(512, np.uint8), np.arange(32) * 16, np.zeros((4, 32), np.uint32), name, arch=arch)
