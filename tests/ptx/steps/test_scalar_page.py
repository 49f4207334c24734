# SPDX-License-Identifier: MIT
"""The page of lane instructions says what the code and the recording hold."""

from tools.ptx_scalar_page import MARKER, PAGE, tables


def test_the_tables_of_the_page_are_those_of_the_rows():
    _, marker, below = PAGE.read_text().partition(MARKER)
    assert marker and below == tables(), "run python -m tools.ptx_scalar_page"
