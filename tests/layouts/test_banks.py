# SPDX-License-Identifier: MIT
"""Banks of shared memory: bank of an address, words per bank, conflicts, and segments, compared with counts by hand."""

from pathlib import Path

import numpy as np
import pytest

from tools.record_bank_conflicts import patterns
from tools.recordings import load_arrays
from wmma_emu.errors import AlignmentError, FragmentMismatchError, OutOfBoundsError
from wmma_emu.layouts.banks import BANK_FACTS, bank_of, conflict_of, phase_fact, segments_of, words_of_banks
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES

RECORDED, _ = load_arrays(Path(__file__).parents[1] / "data" / "sm90_bank_conflicts.npz")


def counted(starts, width):
    """The same count, word by word."""
    asked = [set() for _ in range(32)]
    for start in starts:
        for byte in range(start, start + width):
            asked[byte // 4 % 32].add(byte // 4)
    return [len(words) for words in asked]


@pytest.mark.parametrize("width", [4, 8, 16])
def test_words_of_banks_are_those_that_counting_byte_by_byte_finds(width):
    rng = np.random.default_rng(width)
    starts = rng.integers(0, 200, (40, 8)) * width
    assert words_of_banks(starts, width).tolist() == [counted(row, width) for row in starts.tolist()]


@pytest.mark.parametrize("phases", [(), (3,), (2, 3)])
def test_phases_may_have_any_shape(phases):
    starts = np.random.default_rng(1).integers(0, 64, (*phases, 8)) * 16
    assert words_of_banks(starts).shape == (*phases, 32)
    assert np.array_equal(conflict_of(starts), words_of_banks(starts).max(axis=-1))


@pytest.mark.parametrize(
    ("pitch", "ways"), [(16, 1), (32, 2), (48, 1), (64, 4), (128, 8), (144, 1), (256, 8), (272, 1)]
)
def test_rows_of_the_classic_pitches_conflict_as_is_known(pitch, ways):
    assert int(conflict_of(np.arange(8) * pitch)) == ways


def test_the_128_byte_swizzle_leaves_no_conflict_in_any_column():
    row, chunk = np.arange(8), np.arange(8)[:, None]
    assert conflict_of(row * 128 + (chunk ^ row) * 16).tolist() == [1] * 8


def test_accesses_of_the_same_word_do_not_conflict():
    assert int(conflict_of([0] * 8)) == 1
    assert int(conflict_of([0, 0, 128, 128], 4)) == 2


def test_a_bank_has_four_bytes_of_every_128():
    address = np.arange(1024)
    assert np.array_equal(bank_of(address), address % 128 // 4)
    assert np.bincount(bank_of(address)).tolist() == [32] * 32


@pytest.mark.parametrize(("start", "width", "segments"), [
    ([0], 1, [0]), ([31], 2, [0, 1]), ([0, 64], 32, [0, 2]), ([16], 100, [0, 1, 2, 3]), ([5], 0, []), ([], 4, []),
])  # fmt: skip
def test_segments_contain_at_least_one_byte(start, width, segments):
    assert segments_of(start, width).tolist() == segments


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: bank_of(-4), OutOfBoundsError, "there is no address -4; legal addresses are 0"),
    (lambda: bank_of(1.5), FragmentMismatchError, "addresses are integers, in bytes, not 1.5"),
    (lambda: bank_of([[1], [2, 3]]), FragmentMismatchError, "addresses are integers"),
    (lambda: bank_of(2**63), OutOfBoundsError, "there is no address 9223372036854775808"),
    (lambda: words_of_banks([8]), AlignmentError, "begins at address 8; legal addresses are multiples of 16: 0 or 16"),
    (lambda: words_of_banks([8], 12), FragmentMismatchError, "4, 8 or 16 bytes at once, not 12"),
    (lambda: segments_of(0, -1), OutOfBoundsError, "there is no address -1"),
])  # fmt: skip
def test_illegal_addresses_are_refused_with_the_legal_range(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_every_fact_says_how_it_is_known():
    assert all(fact.source and fact.status in ("documented", "measured") for fact in BANK_FACTS.values())
    assert phase_fact("m8n8", "sm_90").status == "measured"
    assert {phase_fact("m8n8", "sm_80").status, phase_fact("m16n16", "sm_100").status} == {"inferred"}


@pytest.mark.vectors
@pytest.mark.parametrize("name", RECORDED)
def test_a_gpu_takes_as_many_cycles_as_the_busiest_banks_of_all_phases_have_words(name):
    rows = patterns()[:, : MATRIX_MOVES[name].num_addresses].reshape(-1, MATRIX_MOVES[name].count, 8)
    assert np.rint(RECORDED[name]).astype(int).tolist() == conflict_of(rows).sum(axis=-1).tolist()


@pytest.mark.vectors
def test_every_form_of_m8n8_with_addresses_is_recorded_at_patterns_that_distinguish_phases():
    with_addresses = [x for x, row in MATRIX_MOVES.items() if row.shape == "m8n8" and row.family != "movmatrix"]
    assert sorted(RECORDED) == sorted(with_addresses)
    rows = patterns()
    every_fourth = conflict_of(rows.reshape(-1, 8, 4).swapaxes(1, 2)).sum(axis=-1)  # lanes 0, 4, 8, ... as a phase
    assert np.count_nonzero(every_fourth != conflict_of(rows.reshape(-1, 4, 8)).sum(axis=-1)) > 300


def test_segments_of_the_farthest_addresses_are_found_without_counting_up_to_them():
    assert segments_of([1 << 60], 4).tolist() == [1 << 55]
    assert segments_of([(1 << 60) - 2, 0], 4).tolist() == [0, (1 << 55) - 1, 1 << 55]
