# SPDX-License-Identifier: MIT
"""The page of lane instructions matches the code and the recording."""

import pytest

from tools.ptx_scalar_page import MARKER, PAGE, tables


@pytest.mark.thorough
def test_the_tables_of_the_page_match_the_entries():
    _, marker, below = PAGE.read_text().partition(MARKER)
    assert marker and below == tables(), "run python -m tools.ptx_scalar_page"
