# SPDX-License-Identifier: MIT
"""Positions of block scales, compared with the manual's text as loops over lanes, and with CUTLASS's strides."""

import itertools

import numpy as np
import pytest

from wmma_emu.errors import FragmentMismatchError, OutOfBoundsError, UnsupportedInstructionError
from wmma_emu.instructions import INSTRUCTIONS, lookup
from wmma_emu.layouts import layout_for, metadata_map, scale_map, scale_selectors_of

SCALED = [row for row in INSTRUCTIONS.values() if row.is_block_scaled]
ONE, TWO, FOUR = (next(row for row in SCALED if row.scale_vec == count) for count in (1, 2, 4))

SELECTORS = {1: ((0, 1, 2, 3), (0, 1), (0, 1, 2, 3), (0, 1, 2, 3)),
            2: ((0, 2), (0, 1), (0, 2), (0, 1, 2, 3)),
            4: ((0,), (0, 1), (0,), (0, 1, 2, 3))}  # fmt: skip
"""byte-id-a, thread-id-a, byte-id-b, thread-id-b of each scale_vec; ptxas 13.0 takes these and no others."""


def choices(row, operand):
    byte_ids, thread_ids = SELECTORS[row.scale_vec][:2] if operand == "a" else SELECTORS[row.scale_vec][2:]
    return itertools.product(byte_ids, thread_ids)


def bytes_of_text(row, operand, byte_id, thread_id):
    """What each byte of each lane is, {(lane, byte): (row, column)}, as section 9.7.14.3 tells it."""
    found = {}
    for lane in range(32):
        quad, within = lane >> 2, lane % 4
        if operand == "a":
            lower_two, upper_two = within in (0, 1), within in (2, 3)
            if not (lower_two if thread_id == 0 else upper_two):
                continue
            rows = [quad if within % 2 == 0 else quad + 8]  # the first of the two threads has the rows 0 to 7
        else:
            if within != thread_id:
                continue
            rows = [quad]
        chosen = {1: [byte_id], 2: [0, 1] if byte_id == 0 else [2, 3], 4: [0, 1, 2, 3]}[row.scale_vec]
        for block, byte in enumerate(chosen):
            found[lane, byte] = (rows[0], block) if operand == "a" else (block, rows[0])
    return found


@pytest.mark.parametrize("operand", ["a", "b"])
@pytest.mark.parametrize("row", SCALED, ids=str)
def test_every_scale_is_at_the_documented_position_only(row, operand):
    for byte_id, thread_id in choices(row, operand):
        found = scale_map(row, operand, byte_id, thread_id)
        expected = bytes_of_text(row, operand, byte_id, thread_id)
        assert found.matrix_shape == ((row.m, row.scale_vec) if operand == "a" else (row.scale_vec, row.n))
        assert len(expected) == found.lane.size == len(set(expected.values()))  # one place for each, one for each place
        for at in np.ndindex(found.matrix_shape):
            assert expected[found.locate(*at)] == at
        for lane, byte in itertools.product(range(32), range(4)):
            assert found.scale_at(lane, byte) == expected.get((lane, byte))
        assert found.status == "documented" and "9.7.14.3" in found.source


def strided(shape, stride, index):
    """CuTe: the value of a layout at an index that counts through nested modes, the first fastest."""
    if isinstance(shape, int):
        return index * stride
    total = 0
    for mode, step in zip(shape, stride, strict=True):
        size = int(np.prod(np.array(flat(mode))))
        total += strided(mode, step, index % size)
        index //= size
    return total


def flat(mode):
    return [mode] if isinstance(mode, int) else [x for part in mode for x in flat(part)]


# cute/atom/mma_traits_sm120.hpp and mma_traits_sm120_sparse.hpp: thread -> rows of A, columns of B; value -> k.
SFA = ((2, 2, 8), (8, 0, 1))
SFB = ((4, 8), (0, 1))


@pytest.mark.parametrize("row", SCALED, ids=str)
def test_lanes_and_bytes_match_the_strides_of_cutlass(row):
    for operand, (shape, stride), lines in (("a", SFA, 16), ("b", SFB, 8)):
        for _, thread_id in choices(row, operand):
            found = scale_map(row, operand, 0, thread_id)
            lane, byte = (x if operand == "a" else x.T for x in (found.lane, found.byte))
            for line, k in itertools.product(range(lines), range(0, row.k, 16)):
                block = k // row.scale_block
                assert strided(shape, stride, int(lane[line, block])) == line  # a lane's scales belong to this line
                assert byte[line, block] == k // (row.k // row.scale_vec)


ATOMS = {
    ("m16n8k64", "a"): (((4, 8), (8, 2, 2)), ((128, 1), (16, 8, 512))),
    ("m16n8k64", "b"): (((4, 8), (8, 2)), ((64, 1), (8, 256))),
    ("m16n8k128 sparse", "b"): (((4, 8), (8, 4)), ((64, 1), (8, 256))),
    ("m16n8k64 sparse", "b"): (((4, 8), (4, 4)), ((32, 1), (8, 128))),
}
"""(thread, value) -> row + 16 * column of A, column + 8 * row of B."""

ELAYOUTS = {
    "m16n8k64": (((2, 2, 8), 32), ((8, 512, 1), 16)),
    "m16n8k128": (((2, 2, 8), 64), ((8, 1024, 1), 16)),
}


def representative(shape, sparse, of_bytes):
    rows = (row for row in INSTRUCTIONS.values() if row.a == "e2m1" and (row.shape, row.is_sparse) == (shape, sparse))
    return next(row for row in rows if ("f8f6f4" in row.mnemonic) == of_bytes)


@pytest.mark.parametrize("key", ATOMS, ids=" ".join)
def test_operands_match_the_strides_of_cutlass(key):
    name, operand = key
    (threads, values), (thread_stride, value_stride) = ATOMS[key]
    row = representative(name.split()[0], "sparse" in name, name == "m16n8k64 sparse")
    layout, lines = layout_for(row, operand, "sm_120"), 16 if operand == "a" else 8
    for lane, value in np.ndindex(32, layout.num_elements):
        k, line = divmod(strided(threads, thread_stride, lane) + strided(values, value_stride, value), lines)
        assert tuple(layout.coords[value, lane]) == ((line, k) if operand == "a" else (k, line))


@pytest.mark.parametrize("shape", ELAYOUTS)
def test_metadata_speaks_of_the_rows_and_columns_of_the_strides_of_cutlass(shape):
    (threads, values), (thread_stride, value_stride) = ELAYOUTS[shape]
    row = representative(shape, True, shape == "m16n8k64")
    found = metadata_map(row)
    chunk = row.k // found.lane.shape[1]
    for at in np.ndindex(found.lane.shape):
        lane, nibble = int(found.lane[at]), int(found.nibble[at])
        assert values // chunk == 8  # a lane's register has eight nibbles, for as many columns as CUTLASS gives it
        for value in range(nibble * chunk, (nibble + 1) * chunk):
            index = strided(threads, thread_stride, lane) + value * value_stride
            assert (index % 16, index // 16 // chunk) == at


@pytest.mark.parametrize("row", [ONE, TWO, FOUR], ids=str)
def test_selectors_match_the_table_and_others_are_refused(row):
    for operand in "ab":
        legal = scale_selectors_of(row, operand)
        half = SELECTORS[row.scale_vec][:2] if operand == "a" else SELECTORS[row.scale_vec][2:]
        assert tuple(legal) == half
        for bad in (*({-1, 1, 2, 3, 4, 1.5, "0", None} - set(half[0])), True):
            with pytest.raises(FragmentMismatchError, match=f"byte-id-{operand} of .* is .*; it must be "):
                scale_map(row, operand, bad, 0)
        for bad in (-1, half[1][-1] + 1, 0.0, None):
            with pytest.raises(FragmentMismatchError, match=f"thread-id-{operand} of .* is .*; it must be "):
                scale_map(row, operand, 0, bad)


def test_messages_say_what_is_legal():
    with pytest.raises(FragmentMismatchError, match=r"byte-id-a of .*2X.* is 1; it must be 0 or 2 \(it reads 2 bytes"):
        scale_map(TWO, "a", 1)
    with pytest.raises(FragmentMismatchError, match=r"is 4; it must be 0, 1, 2 or 3 \(it reads 1 byte of a register\)"):
        scale_map(ONE, "a", 4)
    with pytest.raises(FragmentMismatchError, match=r"byte-id-b of .*4X.* is 2; it must be 0 only"):
        scale_map(FOUR, "b", 2)
    with pytest.raises(UnsupportedInstructionError, match=r"has no block scales; instructions with \.block_scale have"):
        scale_map(lookup("m16n8k16.f32.f16.f16.f32"), "a")
    with pytest.raises(UnsupportedInstructionError, match="operands with block scales are a and b, not 'c'"):
        scale_map(ONE, "c")


def test_positions_that_do_not_exist_are_refused():
    found = scale_map(ONE, "a")
    for call in (lambda: found.locate(16, 0), lambda: found.locate(0, 1), lambda: found.scale_at(32, 0),
                 lambda: found.scale_at(0, 4), lambda: found.scale_at(-1, 0)):  # fmt: skip
        with pytest.raises(OutOfBoundsError, match="there is no"):
            call()
    with pytest.raises(FragmentMismatchError, match=r"the row is 0\.5, not an integer"):
        found.locate(0.5, 0)
    for array in (found.lane, found.byte):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
