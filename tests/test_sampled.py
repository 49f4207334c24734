# SPDX-License-Identifier: MIT
import re
from pathlib import Path

import pytest

from tests.sampled import SAMPLED, left_out

TESTS = Path(__file__).parent


def test_every_sweep_of_the_table_is_a_parametrised_test():
    texts = [path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")]
    for name in SAMPLED:
        found = [text for text in texts if re.search(rf"^def {name}\(", text, re.MULTILINE)]
        assert found, name
        assert all("parametrize" in text for text in found), name


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 40])
def test_one_case_in_count_stays_and_at_least_one(count):
    cases = [f"tests/arithmetic/test_engines.py::test_engines_agree_on_adversarial_families[{i}]" for i in range(count)]
    assert len(left_out(cases)) == count - -(-count // 4)


def test_a_case_stays_where_it_is_when_few_others_come():
    name = "tests/cli/test_show.py::test_every_instruction_can_be_shown[{}]"
    before = left_out(map(name.format, range(400)))
    after = left_out(map(name.format, range(408)))
    assert len(before - after) <= 8


def test_other_tests_are_left_alone():
    assert not left_out(["tests/test_api.py::test_something", "tests/test_api.py::test_something[1]"])
