# SPDX-License-Identifier: MIT
"""ldmatrix against loops over lanes and bytes, its addresses, and what is refused."""

import numpy as np
import pytest

from wmma_emu.errors import AlignmentError, FragmentMismatchError, OutOfBoundsError, UnsupportedInstructionError
from wmma_emu.warp.ldmatrix import ldmatrix
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES

LOADS = [name for name in MATRIX_MOVES if name.startswith("ldmatrix")]
X1, X4 = (f"ldmatrix.sync.aligned.m8n8.{x}.shared.b16" for x in ("x1", "x4"))


def first_chip(name):
    return MATRIX_MOVES[name].first


def element(row, index, types):
    """Element of a row of 16 bytes, by shifts of one large integer."""
    bits = {"b16": 16, "b8": 8, "b6x16_p32": 6, "b4x16_p64": 4}[types]
    return int.from_bytes(bytes(row), "little") >> (index * bits) & ((1 << bits) - 1)


def by_loops(shared, addresses, name):
    """The layouts of PTX, a lane, a register and an element at a time."""
    words = name.split(".")
    types, shape, count, trans = words[-1], words[3], int(words[4][1:]), "trans" in words
    rows, registers = (16, 2) if shape == "m16n16" else (8, 1)
    wide = 16 if types == "b16" else 8
    result = [[0] * 32 for _ in range(count * registers)]
    for matrix in range(count):
        for register in range(registers):
            for lane in range(32):
                g, t = divmod(lane, 4)
                for e in range(32 // wide):
                    k = 32 // wide * t + e
                    row, column = (k, g + 8 * register) if trans else (g, k)
                    start = addresses[matrix * rows + row]
                    value = element(shared[start : start + 16], column, types)
                    result[matrix * registers + register][lane] |= value << (e * wide)
    return result


def test_every_form_is_listed():
    m8n8 = {f"ldmatrix.sync.aligned.m8n8.x{n}{t}.shared.b16" for n in (1, 2, 4) for t in ("", ".trans")}
    m8n16 = {
        f"ldmatrix.sync.aligned.m8n16.x{n}.shared.b8x16.{u}" for n in (1, 2, 4) for u in ("b6x16_p32", "b4x16_p64")
    }
    m16n16 = {
        f"ldmatrix.sync.aligned.m16n16.x{n}.trans.shared.{u}"
        for n in (1, 2)
        for u in ("b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64")
    }
    assert set(LOADS) == m8n8 | m8n16 | m16n16
    assert {first_chip(x) for x in m8n8} == {"sm_75"} and {first_chip(x) for x in m8n16 | m16n16} == {"sm_100"}


@pytest.mark.parametrize("name", LOADS)
def test_registers_hold_what_the_loops_find(name):
    rng = np.random.default_rng(3)
    shared = rng.integers(0, 256, 2048, np.uint8)
    addresses = rng.permutation(128)[:96].reshape(3, 32) * 16
    got = ldmatrix(shared, addresses, name, arch=first_chip(name))
    assert got.dtype == np.uint32 and got.shape == (MATRIX_MOVES[name].num_registers, 3, 32)
    for warp in range(3):
        assert got[:, warp].tolist() == by_loops(shared, addresses[warp].tolist(), name)


@pytest.mark.parametrize("name", LOADS)
def test_lanes_without_a_row_may_hold_anything(name):
    shared = np.arange(1024, dtype=np.uint16).view(np.uint8)
    addresses = np.arange(32) * 16
    want = ldmatrix(shared, addresses, name, arch="sm_100")
    addresses[MATRIX_MOVES[name].num_addresses :] = -5
    assert (ldmatrix(shared, addresses, name, arch="sm_100") == want).all()


def test_on_sm_75_every_lane_needs_a_valid_address():
    addresses = np.arange(32) % 8 * 16
    ldmatrix(np.zeros(128, np.uint8), addresses, X1, arch="sm_75")
    addresses[31] = 128
    ldmatrix(np.zeros(128, np.uint8), addresses, X1, arch="sm_80")
    with pytest.raises(
        OutOfBoundsError,
        match=r"lane 31 gives the address 128 \(which is not read, but on sm_75 the addresses of "
        r"all lanes",
    ):
        ldmatrix(np.zeros(128, np.uint8), addresses, X1, arch="sm_75")


def test_two_lanes_may_read_the_same_row():
    shared = np.arange(8, dtype=np.uint16)
    got = ldmatrix(shared, np.zeros(32, int), X4)
    assert (got == np.tile(got[0, :4], (4, 8))).all()
    assert [hex(x) for x in got[3, :5]] == ["0x10000", "0x30002", "0x50004", "0x70006", "0x10000"]


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "uint32", "float64"])
def test_shared_memory_may_have_any_dtype_and_shape(dtype):
    data = np.arange(512, dtype=np.uint8)
    shared = data.view(dtype).reshape(4, -1)
    rows = np.arange(32) * 16
    assert (ldmatrix(shared, rows, X4) == ldmatrix(data, rows, X4)).all()


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint32", "int64", "uint64"])
def test_addresses_may_have_any_integer_dtype(dtype):
    shared = np.arange(512, dtype=np.uint8)
    rows = (np.arange(32) % 16 * 16).astype(dtype)
    assert (ldmatrix(shared, rows, X4) == ldmatrix(shared, rows.tolist(), X4)).all()


@pytest.mark.parametrize(
    "spelling",
    [
        "ldmatrix.m8n8.x4.b16",
        "ldmatrix.sync.aligned.m8n8.x4.b16",
        "ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16",
        "ldmatrix.m8n8.x4.shared.b16",
    ],
)
def test_what_all_forms_share_may_be_left_out(spelling):
    shared, rows = np.arange(512, dtype=np.uint8), np.arange(32) * 16
    assert (ldmatrix(shared, rows, spelling) == ldmatrix(shared, rows, X4)).all()


def test_a_row_between_two_multiples_of_16_bytes_is_misaligned():
    rows = np.arange(64).reshape(2, 32) * 16
    rows[1, 6] += 8
    with pytest.raises(
        AlignmentError, match=r"lane 6 of warp 1 gives the address 616; rows .* 16 bytes: 608 or 624; pad"
    ):
        ldmatrix(np.zeros(1024, np.uint8), rows, X4)


@pytest.mark.parametrize("address", [-16, 496, 512, 2**40])
def test_a_row_outside_is_refused_and_nothing_wraps(address):
    rows = np.zeros(32, int)
    rows[31] = address
    with pytest.raises(
        OutOfBoundsError, match=rf"lane 31 gives the address {address}; .* 496: addresses go from 0 to 480"
    ):
        ldmatrix(np.zeros(496, np.uint8), rows, X4)


def test_an_address_beyond_the_signed_range_is_outside():
    rows = np.zeros(32, np.uint64)
    rows[0] = 2**64 - 16
    with pytest.raises(OutOfBoundsError, match="lane 0 gives the address 18446744073709551600;"):
        ldmatrix(np.zeros(512, np.uint8), rows, X4)


@pytest.mark.parametrize(
    ("addresses", "given"),
    [
        (np.zeros(31, int), r"int64 of shape \(31,\)"),
        (np.zeros(32), r"float64 of shape \(32,\)"),
        (0, "not 0"),
        (None, "not None"),
        (np.zeros((), int), r"of shape \(\)"),
    ],
    ids=["31 lanes", "floats", "one", "none", "no axis"],
)
def test_addresses_are_32_integers(addresses, given):
    with pytest.raises(FragmentMismatchError, match=given):
        ldmatrix(np.zeros(512, np.uint8), addresses, X4)


def test_memory_with_gaps_is_refused():
    with pytest.raises(FragmentMismatchError, match="shared is not contiguous memory"):
        ldmatrix(np.zeros((8, 16), np.uint16)[:, :8], np.zeros(32, int), X4)


@pytest.mark.parametrize(
    ("name", "arch", "message"),
    [
        (
            X4,
            "sm_70",
            r"sm_70 \(Volta\) has no .*; the first chip that supports it is sm_75. sm_70 has no form of "
            r"ldmatrix",
        ),
        (
            "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8",
            "sm_90",
            r"the first chip that supports it is sm_100. Nearest on sm_90: "
            r"ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16",
        ),
        ("ldmatrix.sync.aligned.m8n8.x3.shared.b16", "sm_90", r"m8n8 of b16 comes as .x1, .x2, .x4. Nearest on sm_90"),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b8", "sm_90", r"m8n8 comes as .b16"),
        ("ldmatrix.sync.aligned.m16n16.x1.shared.b8", "sm_100", r"m16n16 of b8 needs .trans"),
        ("ldmatrix.m8n16.x1.trans.b8x16.b4x16_p64", "sm_100", r"m8n16 of b8x16.b4x16_p64 takes no .trans"),
        ("ldmatrix.m8n4.x1.b16", "sm_90", r"its shape is one of m8n8, m16n16, m8n16"),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16", "sm_90", r"it does not begin with ldmatrix"),
        ("ldmatrix.trans.m8n8.x1.b16", "sm_90", r"its parts are in another order"),
        (7, "sm_90", r"named by its PTX mnemonic, such as 'ldmatrix.sync.*, not by 7"),
    ],
    ids=lambda x: str(x)[:60],
)
def test_what_does_not_exist_is_refused_with_the_nearest(name, arch, message):
    with pytest.raises(UnsupportedInstructionError, match=message):
        ldmatrix(np.zeros(512, np.uint8), np.arange(32) * 16, name, arch=arch)
