# SPDX-License-Identifier: MIT
"""Every mismatch that a campaign on a GPU ever found: the emulator gives the hardware's bits by now."""

from pathlib import Path

import pytest

from wmma_emu.applications.campaign.rows import load_rows, replay

FILE = Path(__file__).parents[1] / "data" / "mismatches.json"
ROWS = load_rows(FILE)

pytestmark = [
    pytest.mark.vectors,
    pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning"),
]


def _name(row):
    return f"{row['mnemonic']}-{row['arch']}-{row['family']}-{row['row']}-{row['column']}-{row['expected']}"


@pytest.mark.parametrize("row", ROWS, ids=_name)
def test_a_former_mismatch_is_none_any_more(row):
    expected, product, registers = replay(row)
    assert hex(product) == hex(expected)
    assert hex(registers) == hex(expected)


def test_every_row_says_which_hardware_gave_its_bits_and_when():
    for row in ROWS:
        assert row["device"] and row["driver"] and row["toolkit"] and row["date"], row
        assert not row["device"].startswith("emulator"), row
