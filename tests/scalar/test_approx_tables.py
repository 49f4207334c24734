# SPDX-License-Identifier: MIT
"""The tables of the approximate functions: their size, the squarer, and the rule that five of them follow."""

import numpy as np
import pytest

from tools.derive_approx_tables import RULES, derive
from wmma_emu.scalar.approx_reference_units import _square
from wmma_emu.scalar.approx_tables import TABLES, rows, squares

WHOLE = {"rcp", "ex2", "lg2"}
EXCEPTIONS = {"rsqrt": {29: 1, 70: 1, 76: 1}, "sin": {0: 2, 2: -2, 18: -2, 46: -2}}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_a_row_for_each_segment_and_is_read_only(name):
    assert rows(name).shape == (TABLES[name].segments, 3)
    with pytest.raises(ValueError, match="read-only"):
        rows(name)[0, 0] = 1


@pytest.mark.parametrize("name", ["ex2", "lg2", "sin"])
def test_a_table_follows_from_its_function_except_for_the_named_segments(name):
    difference = rows(name) - derive(name)
    assert {int(k): int(difference[k, 0]) for k in np.flatnonzero(difference[:, 0])} == EXCEPTIONS.get(name, {})
    assert not difference[:, 1:].any()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rcp", "rsqrt"])
def test_a_table_of_128_segments_follows_from_its_function_except_for_the_named_segments(name):
    difference = rows(name) - derive(name)
    assert {int(k): int(difference[k, 0]) for k in np.flatnonzero(difference[:, 0])} == EXCEPTIONS.get(name, {})
    assert not difference[:, 1:].any()


def test_every_rule_belongs_to_an_existing_table():
    assert set(TABLES) - set(RULES) == {"tanh"} and WHOLE | set(EXCEPTIONS) | {"sqrt"} == set(RULES)


def test_the_squarer_adds_the_bits_of_its_columns():
    positions = [0, 1, 0x1FFFF, 0x10000, 0x155, 0x200, 0x3FF, 0x400, *range(3, 1 << 17, 397)]
    assert squares()[positions].tolist() == [_square(x) for x in positions]


def test_the_squarer_omits_less_than_nine_units_in_the_last_place():
    position = np.arange(1 << 17)
    lost = position**2 - (squares() << 19)
    # The columns below the 19th add up to at most this sum; the unit in the last place is 2**19.
    assert lost.min() == 0 and lost.max() == sum(
        1 << (2 * i if i == j else i + j + 1) for i in range(17) for j in range(i + 1)
        if (2 * i if i == j else i + j + 1) < 19
    )  # fmt: skip
