# SPDX-License-Identifier: MIT
"""Metadata of a sparse A: compared with PTX's figures as plain loops, in both directions, and every illegal nibble."""

import itertools

import numpy as np
import pytest

from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.instructions import INSTRUCTIONS, lookup
from wmma_emu.layouts import granularity_of, metadata_map, pack_metadata, unpack_metadata

SPARSE = [row for row in INSTRUCTIONS.values() if row.is_sparse and row.n == 8]
ONE_THREAD = lookup("mma.sp.m16n8k16.f32.f16.f16.f32")
ORDERED = lookup("mma.sp::ordered_metadata.m16n8k32.s32.s8.s8.s32")
TF32 = lookup("mma.sp.m16n8k8.f32.tf32.tf32.f32")
PAIRS = lookup("mma.sp.m16n8k64.s32.s4.s4.s32")
WGMMA = lookup("wgmma.sp.m64n8k32.f32.f16.f16")

FIGURES = {
    # How many of four lanes hold metadata, and (row within 16, chunk) of nibble j in lane 4 g + t, for selector F.
    ("16", 4): (1, lambda g, t, j, F: (g + 8 * (j >> 2), j & 3)),
    ("16", 8): (2, lambda g, t, j, F: (g + 8 * (j >> 2), (j & 3) + 4 * (t & 1))),
    ("8", 8): (2, lambda g, t, j, F: (g + 8 * (t & 1), j)),
    ("8", 16): (4, lambda g, t, j, F: (g + 8 * (t & 1), j + 8 * (t >> 1))),
}


def chunk_of(row):
    """Columns that a nibble speaks of: eight of four-bit elements, also of e2m1, but where it takes a byte."""
    if row.a == "e2m1":
        return 8 if row.shape == "m16n8k128" else 4
    return {"tf32": 2, "s4": 8, "u4": 8}.get(row.a, 4)


def figure(row):
    wide = "16" if row.a in ("f16", "bf16", "tf32") else "8"
    return FIGURES[wide, row.k // chunk_of(row)]


def selectors(row):
    return range(4 // figure(row)[0])


def choices(row):
    """Return the legal columns of packed elements in a chunk, in any order unless the order matters."""
    if row.a == "tf32":
        return {0b0100: [0], 0b1110: [1]}
    found = {}
    for first, second in itertools.permutations(range(4), 2):
        if row.family == "mma.sp::ordered_metadata" and first > second:
            continue
        columns = [first, second]
        if chunk_of(row) == 8:
            columns = [2 * first, 2 * first + 1, 2 * second, 2 * second + 1]
        found[first + 4 * second] = columns
    return found


def drawn(row, *batch, seed=0):
    """Random nibbles of every chunk of every row, and the k that they say."""
    rng = np.random.default_rng(seed)
    legal, chunk = choices(row), chunk_of(row)
    nibbles = rng.choice(list(legal), (*batch, row.m, row.k // chunk))
    table = np.array([legal.get(x, [0] * (row.terms * chunk // row.k)) for x in range(16)])
    k = table[nibbles] + chunk * np.arange(row.k // chunk)[:, None]
    return nibbles, k.reshape(*batch, row.m, row.terms)


def words_of(row, nibbles, selector):
    """Registers by the figure: a loop over lanes and nibbles."""
    threads, place = figure(row)
    words = np.zeros((*nibbles.shape[:-2], row.warps, 32), np.uint32)
    for warp, g, t, j in itertools.product(range(row.warps), range(8), range(4), range(8)):
        if t // threads == selector:
            r, chunk = place(g, t, j, selector)
            words[..., warp, 4 * g + t] |= nibbles[..., 16 * warp + r, chunk].astype(np.uint32) << np.uint32(4 * j)
    return words if row.is_warpgroup else words[..., 0, :]


@pytest.mark.parametrize("row", SPARSE, ids=str)
def test_the_registers_match_the_figures_for_every_selector(row):
    nibbles, k = drawn(row, 3)
    for selector in selectors(row):
        words = words_of(row, nibbles, selector)
        assert np.array_equal(pack_metadata(row, k, selector), words)
        assert np.array_equal(unpack_metadata(row, words, selector), k)


@pytest.mark.parametrize("batch", [(), (1,), (0,), (2, 3)])
@pytest.mark.parametrize("row", [ONE_THREAD, ORDERED, TF32, PAIRS, WGMMA], ids=str)
def test_unpack_undoes_pack_for_any_batch(row, batch):
    _, k = drawn(row, *batch, seed=1)
    for selector in selectors(row):
        words = pack_metadata(row, k, selector)
        assert words.dtype == np.uint32
        assert words.shape == (*batch, *((4, 32) if row.is_warpgroup else (32,)))
        assert np.array_equal(unpack_metadata(row, words, selector), k)


@pytest.mark.parametrize("row", SPARSE, ids=str)
def test_the_legal_nibbles_match_the_manual(row):
    places = granularity_of(row)
    assert {x: list(columns) for x, columns in places.nibbles.items()} == choices(row)
    assert (places.chunk, places.kept * 2) == (chunk_of(row),) * 2
    assert places.name == {2: "1:2", 4: "2:4", 8: "4:8"}[chunk_of(row)]


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("row", SPARSE, ids=str)
def test_every_nibble_of_a_lane_that_holds_metadata_speaks_of_one_chunk(row):
    for selector in selectors(row):
        found = metadata_map(row, selector)
        warp = np.arange(row.m)[:, None] // 16
        whole = [np.broadcast_to(x, found.lane.shape) for x in (warp, found.lane, found.nibble)]
        named = {tuple(x) for x in np.stack(whole, axis=-1).reshape(-1, 3).tolist()}
        lanes = [lane for lane in range(32) if lane % 4 // figure(row)[0] == selector]
        assert named == {*itertools.product(range(row.warps), lanes, range(8))}
        assert found.status == ("measured" if "sm_90" in row.archs else "documented") and found.source


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("row", SPARSE, ids=str)
def test_lanes_that_the_selector_leaves_out_may_hold_anything(row):
    nibbles, k = drawn(row, seed=2)
    for selector in selectors(row):
        words = words_of(row, nibbles, selector)
        left_out = np.arange(32) % 4 // figure(row)[0] != selector
        words[..., left_out] = 0  # 0b0000 is not a legal nibble
        assert np.array_equal(unpack_metadata(row, words, selector), k)
        words[..., left_out] = 0xFFFF_FFFF
        assert np.array_equal(unpack_metadata(row, words, selector), k)


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("row", SPARSE, ids=str)
def test_every_forbidden_nibble_is_shown_with_its_lane_bits_row_and_columns(row):
    legal, chunk = choices(row), chunk_of(row)
    threads, place = figure(row)
    selector = 4 // threads - 1
    nibbles, _ = drawn(row, seed=3)
    good = words_of(row, nibbles, selector)
    rng = np.random.default_rng(4)
    for bad in sorted({*range(16)} - {*legal}):
        warp, g, j = int(rng.integers(row.warps)), int(rng.integers(8)), int(rng.integers(8))
        t = selector * threads + int(rng.integers(threads))
        lane = 4 * g + t
        words = good.copy()
        at = (warp, lane) if row.is_warpgroup else (lane,)
        words[at] = int(words[at]) & ~(15 << 4 * j) | bad << 4 * j
        r, c = place(g, t, j, selector)
        of_warp = f" of warp {warp}" if row.is_warpgroup else ""
        with pytest.raises(FragmentMismatchError) as caught:
            unpack_metadata(row, words, selector)
        message = str(caught.value)
        assert f"lane {lane}{of_warp} has 0b{bad:04b} in bits {4 * j} to {4 * j + 3}" in message
        assert f"for row {16 * warp + r}, columns {c * chunk} to {c * chunk + chunk - 1} of A" in message
        assert f"Legal values are {', '.join(f'0b{x:04b}' for x in legal)}" in message or set(
            message.split("Legal values are ")[1].split(", ")
        ) == {f"0b{x:04b}" for x in legal}


def test_a_forbidden_nibble_of_one_warp_among_many_names_it():
    words = np.full((2, 3, 32), 0x4444_4444, np.uint32)
    words[1, 2, 8] = 0x4444_0444
    with pytest.raises(
        FragmentMismatchError, match=r"lane 8 of warp \(1, 2\) has 0b0000 in bits 12 to 15, for row 2, "
    ):
        unpack_metadata(ONE_THREAD, words)


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("row", SPARSE, ids=str)
def test_a_selector_that_does_not_exist_is_refused(row):
    last = selectors(row)[-1]
    legal = "0 only" if last == 0 else f"0 to {last}"
    words = np.full((4, 32) if row.is_warpgroup else 32, 0x4444_4444, np.uint32)
    for selector in (-1, last + 1, 4, 1.5, "0", None, True + 0.5):
        with pytest.raises(FragmentMismatchError, match=f"selector of .* is .*; it must be {legal}"):
            unpack_metadata(row, words, selector)


@pytest.mark.parametrize(
    ("row", "words", "wanted"),
    [
        (ONE_THREAD, np.zeros(32, np.int32), r"int32 of shape \(32,\).*uint32 of shape \(\.\.\., 32\)"),
        (ONE_THREAD, np.zeros(32, np.uint64), "uint64 of shape"),
        (ONE_THREAD, np.zeros(31, np.uint32), r"uint32 of shape \(31,\)"),
        (ONE_THREAD, np.zeros((), np.uint32), r"uint32 of shape \(\)"),
        (ONE_THREAD, np.zeros((32, 1), np.uint32), "one register a lane"),
        (WGMMA, np.zeros(32, np.uint32), r"uint32 of shape \(\.\.\., 4, 32\)"),
        (WGMMA, np.zeros((3, 32), np.uint32), r"uint32 of shape \(\.\.\., 4, 32\)"),
        (ONE_THREAD, [[1], [2, 3]], "metadata"),
    ],
)  # fmt: skip
def test_metadata_of_another_dtype_or_shape_is_refused(row, words, wanted):
    with pytest.raises(FragmentMismatchError, match=wanted):
        unpack_metadata(row, words)


def changed(row, column, value):
    _, k = drawn(row, seed=5)
    k[3, column] = value
    return k


@pytest.mark.parametrize(
    ("row", "indices", "wanted"),
    [
        (ONE_THREAD, np.tile([1, 1, 4, 5, 8, 9, 12, 13], (16, 1)), r"row 0, columns 0 to 3 of A: positions \[1, 1\] "
                                                                   r"of 4"),
        (ONE_THREAD, changed(ONE_THREAD, 2, 0), "row 3, columns 4 to 7 of A: positions"),
        (ORDERED, np.tile([[1, 0]], (16, 8)) + np.repeat(np.arange(0, 32, 4), 2), r"positions \[1, 0\] of 4 are not "
                                                                                  r"a legal"),
        (PAIRS, np.tile([0, 1, 3, 4], (16, 8)) + np.repeat(np.arange(0, 64, 8), 4), r"\[0, 1, 3, 4\] of 8 are no"),
        (TF32, np.tile([2, 2, 4, 6], (16, 1)), r"columns 0 to 1 of A: positions \[2\] of 2 are not a legal 1:2 choice"),
        (ONE_THREAD, np.zeros((16, 8)), "indices are float64"),
        (ONE_THREAD, np.zeros((16, 16), int), r"takes integers of shape \(\.\.\., 16, 8\)"),
        (ONE_THREAD, np.zeros((), int), "takes integers of shape"),
    ],
)  # fmt: skip
def test_indices_that_no_metadata_can_say_are_refused(row, indices, wanted):
    with pytest.raises(FragmentMismatchError, match=wanted):
        pack_metadata(row, indices)


def test_descending_places_are_for_plain_metadata_alone():
    plain = lookup("mma.sp.m16n8k32.s32.s8.s8.s32")
    k = np.tile([[1, 0]], (16, 8)) + np.repeat(np.arange(0, 32, 4), 2)
    words = pack_metadata(plain, k)
    assert np.array_equal(unpack_metadata(plain, words), k)
    with pytest.raises(FragmentMismatchError, match="has 0b0001 in bits 0 to 3"):
        unpack_metadata(ORDERED, words)


def test_a_dense_instruction_has_no_metadata():
    dense = lookup("m16n8k16.f32.f16.f16.f32")
    for call in (lambda: granularity_of(dense), lambda: metadata_map(dense),
                 lambda: unpack_metadata(dense, np.zeros(32, np.uint32)),
                 lambda: pack_metadata(dense, np.zeros((16, 8), int))):  # fmt: skip
        with pytest.raises(UnsupportedInstructionError, match="has no metadata: its A is dense"):
            call()


def test_a_map_that_all_instructions_share_cannot_be_written_to():
    found = metadata_map(SPARSE[0])
    for array in (found.lane, found.nibble):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
