# SPDX-License-Identifier: MIT
"""prmt against bytes selected one by one, and the tables of its modes."""

import numpy as np
import pytest

from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.scalar.prmt import prmt

A, B = 0x83021180, 0xC7667F44


def by_bytes(a, b, selectors):
    """Apply the selectors one by one, lowest result byte first."""
    pool = (a & 0xFFFFFFFF).to_bytes(4, "little") + (b & 0xFFFFFFFF).to_bytes(4, "little")
    picked = [pool[s % 8] if s < 8 else (255 if pool[s % 8] > 127 else 0) for s in selectors]
    return int.from_bytes(bytes(picked), "little")


MODES = {  # as the manual prints them: d.b3, d.b2, d.b1, d.b0 for 0, 1, 2, 3
    "f4e": ["3210", "4321", "5432", "6543"],
    "b4e": ["5670", "6701", "7012", "0123"],
    "rc8": ["0000", "1111", "2222", "3333"],
    "ecl": ["3210", "3211", "3222", "3333"],
    "ecr": ["0000", "1110", "2210", "3210"],
    "rc16": ["1010", "3232", "1010", "3232"],
}


def test_every_selector_selects_its_bytes():
    c = np.arange(1 << 16, dtype=np.uint32)
    got = prmt(A, B, c)
    assert got.dtype == np.uint32
    assert got.tolist() == [by_bytes(A, B, [x >> 4 * i & 15 for i in range(4)]) for x in range(1 << 16)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("selector", [0, 1, 2, 3])
def test_modes_select_the_bytes_in_the_manual(mode, selector):
    want = by_bytes(A, B, [int(x) for x in reversed(MODES[mode][selector])])
    assert hex(prmt(A, B, selector, mode)) == hex(want)
    assert hex(prmt(A, B, 0xFFFFFFF4 + selector, mode)) == hex(want)  # upper bits are ignored


def test_upper_bits_of_the_selector_are_ignored():
    assert prmt(A, B, 0xFFFF7531) == prmt(A, B, 0x7531)


def test_operands_broadcast_and_keep_the_dtype_of_a():
    rng = np.random.default_rng(10)
    a, b, c = (rng.integers(0, 2**32, shape, np.uint32) for shape in ((5, 1), (7,), (5, 7)))
    got = prmt(a, b, c)
    want = [
        [by_bytes(int(a[i, 0]), int(b[j]), [int(c[i, j]) >> 4 * k & 15 for k in range(4)]) for j in range(7)]
        for i in range(5)
    ]
    assert got.tolist() == want
    signed = prmt(a.view(np.int32), b, c.view(np.int32))
    assert signed.dtype == np.int32 and (signed.view(np.uint32) == got).all()


def test_python_integers_give_a_python_integer():
    assert type(prmt(-1, 0, 0x0000)) is int and prmt(-1, 0, 0) == 0xFFFFFFFF
    one = prmt(np.uint32(A), B, 0x7654)
    assert type(one) is np.uint32 and one == B


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ((1 << 32, 0, 0), r"a of prmt is a word of 32 bits, .* not 4294967296"),
        ((0, True, 0), r"b of prmt .* not True"),
        ((0, 0, np.zeros(2, np.uint64)), r"c of prmt .* not uint64"),
        ((np.zeros(2, np.float32), 0, 0), r"a of prmt .* not float32; reinterpret the bits with .view"),
        ((np.zeros(2, np.uint32), np.zeros(3, np.uint32), 0), r"do not broadcast: a \(2,\), b \(3,\), c \(\)"),
        ((None, 0, 0), r"a of prmt .* not None"),
    ],
    ids=["33 bits", "bool", "64 bits", "floats", "shapes", "none"],
)
def test_other_operands_are_rejected(operands, message):
    with pytest.raises(FragmentMismatchError, match=message):
        prmt(*operands)


@pytest.mark.parametrize("mode", ["rc4", None, "F4E"])
def test_other_modes_are_rejected(mode):
    with pytest.raises(UnsupportedInstructionError, match="the modes are f4e, b4e, rc8, ecl, ecr, rc16, or none"):
        prmt(0, 0, 0, mode)
