# SPDX-License-Identifier: MIT
"""Bank conflicts are explained: the lanes and banks, and the paddings and swizzles that remove them."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.profile.kernels import TRANSPOSED, profile_of, transposed
from wmma_emu.ptx.profile.conflicts import ConflictingAccess, explain_conflicts

COLUMN = ConflictingAccess(tuple(range(0, 32 * 128, 128)), 4, True, 31)


def test_the_worst_access_of_a_line_is_kept_and_explained():
    profile = transposed(128)
    text = str(profile.conflicts_at("transposed.cu:7"))
    assert text.splitlines() == [
        "transposed.cu:7: 32 wavefronts, 1 without conflicts",
        "bank 0: lanes 0-31, 32 words",
        "rows of 132 instead of 128 bytes: 1 wavefront",
        "4 bytes at index i of row r at i ^ r % 32: 1 wavefront",
    ]
    assert we.ptx.Profile(*[profile.kernels]).conflicts_at("transposed.cu:7", "transposed.cu:8").accesses[1].joins


def test_a_remedy_is_computed_for_all_accesses_to_the_array():
    row = ConflictingAccess(tuple(range(0, 128, 4)), 4, False, 0)
    found = explain_conflicts("both", [COLUMN, row], 128)
    assert [x.wavefronts for x in found.remedies] == [2, 2]
    assert str(found).startswith("both: 33 wavefronts, 2 without conflicts")


def test_a_line_without_conflicts_takes_part_in_the_search():
    text = TRANSPOSED.replace("PITCH", "128").replace("SHARED", "4096")
    text = text.replace(
        "ld.shared.u32 %r4, [%r3]", "mad.lo.u32 %r3, %r1, -112, %r3; ld.shared.v4.u32 {%r4,%r2,%r5,%r3}, [%r3]"
    )
    profile = profile_of(text, "transposed", 1, 32, np.arange(32, dtype=np.uint32))
    assert profile["transposed.cu:8"].bank_conflicts == 0
    alone = profile.conflicts_at("transposed.cu:7").remedies
    both = profile.conflicts_at("transposed.cu:7", "transposed.cu:8").remedies
    assert [x.text[:11] for x in alone] == ["rows of 132", "4 bytes at "]
    assert [x.text[:11] for x in both] == ["rows of 144", "16 bytes at"]


def test_rows_are_counted_from_the_start_of_the_array():
    # Every eighth word of one row: a longer row moves all lanes alike. The array begins at 4096, in the midst of a row.
    one_row = ConflictingAccess(tuple(4096 + lane % 16 * 32 for lane in range(32)), 4, True, 3, 4096)
    assert one_row.wavefronts() == (4, 1) and explain_conflicts("x", [one_row], 532).remedies == ()


def test_vectors_are_padded_by_their_size():
    columns = ConflictingAccess(tuple(x * 128 for x in range(32)), 16, False, 28)
    padding, swizzle = explain_conflicts("x", [columns], 128).remedies
    assert padding[:2] == ("rows of 144 instead of 128 bytes", 4)
    assert swizzle[:2] == ("16 bytes at index i of row r at i ^ r % 8", 4)
    assert padding.accesses[0].addresses[1] == 144 and swizzle.accesses[0].conflicts == 0


def test_the_length_of_rows_is_requested_if_it_is_not_known():
    random = ConflictingAccess((0, 128, *[-1] * 30), 8, True, 1)
    assert "pass row_bytes" in str(explain_conflicts("x", [random._replace(addresses=(0, *[-1] * 31))]))
    with pytest.raises(
        we.errors.ArgumentValueError, match="row_bytes=12; expected the bytes of a row, a positive multiple of 8"
    ):
        explain_conflicts("x", [random], 12)


def test_a_line_without_conflicts_is_an_error():
    with pytest.raises(we.errors.ArgumentValueError, match=r"transposed\.cu:7 has no bank conflicts"):
        transposed(132).conflicts_at("transposed.cu:7")


LANES = range(32)


@pytest.mark.parametrize(("words", "conflicts"), [
    ([133 * 2 + lane % 16 * 8 + 5 for lane in LANES], 3), ([133 * 3 + lane * 4 + 1 for lane in LANES], 3),
    ([lane % 2 * 4 * 128 + lane // 2 for lane in LANES], 1), ([lane * 32 + 7 for lane in LANES], 31),
    ([lane // 16 * 65 + lane % 16 * 4 + 2 for lane in LANES], 1),
    ([(lane // 16 * 4 + 2) * 65 + lane % 16 * 4 + 1 for lane in LANES], 3),
])  # fmt: skip
def test_conflicts_of_public_kernels_can_be_recounted_by_hand(words, conflicts):
    """The accesses of docs/evidence/profiles-of-public-kernels-2026-11-28.md."""
    banks = [{word for word in words if word % 32 == bank} for bank in range(32)]
    assert max(map(len, banks)) - 1 == conflicts
    needed, without = ConflictingAccess(tuple(4 * word for word in words), 4, True, 0).wavefronts()
    assert needed - without == conflicts
