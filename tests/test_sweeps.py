# SPDX-License-Identifier: MIT
import pytest

from tests.sweeps import left_out


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 40])
@pytest.mark.parametrize("parts", [2, 3, 4, 5, 12])
def test_the_given_part_of_the_cases_stays_and_at_least_one(count, parts):
    cases = {f"tests/a.py::test_something[{i}]": 1 / parts for i in range(count)}
    assert len(left_out(cases)) == count - -(-count // parts)


def test_a_case_stays_where_it_is_when_few_others_come():
    name = "tests/cli/test_show.py::test_every_instruction_can_be_shown[{}]"
    before = left_out({name.format(i): 1 / 4 for i in range(400)})
    after = left_out({name.format(i): 1 / 4 for i in range(408)})
    assert len(before - after) <= 8


def test_every_sweep_has_its_own_part():
    cases = {f"tests/{file}.py::test_something[{i}]": 1 / (file + 1) for file in range(3) for i in range(6)}
    kept = [name for name in cases if name not in left_out(cases)]
    assert [sum(name.startswith(f"tests/{file}.py") for name in kept) for file in range(3)] == [6, 3, 2]


TESTS = """
    import pytest

    @pytest.mark.sweep(keep=1 / 4)
    @pytest.mark.parametrize("i", range(8))
    def test_a_sweep(i):
        pass

    @pytest.mark.parametrize("i", range(8))
    def test_another(i):
        pass
"""


@pytest.fixture
def suite(pytester, pytestconfig):
    """A separate test suite that selects cases of sweeps in the same way."""
    pytester.makeini("[pytest]\nmarkers =\n  slow\n  sweep\n")
    pytester.makeconftest("from tests.conftest import pytest_collection_modifyitems\n")
    pytester.syspathinsert(pytestconfig.rootpath)
    return pytester


def test_the_marker_at_a_test_says_how_much_of_it_is_quick(suite):
    suite.makepyfile(TESTS)
    suite.runpytest_inprocess("-m", "not slow").assert_outcomes(passed=2 + 8, deselected=6)
    suite.runpytest_inprocess("-m", "slow").assert_outcomes(passed=6, deselected=2 + 8)


def test_a_sweep_of_one_case_is_refused(suite):
    suite.makepyfile("import pytest\n\n@pytest.mark.sweep(keep=1 / 4)\ndef test_of_one_case(): pass\n")
    result = suite.runpytest_inprocess()
    result.stderr.fnmatch_lines(["*test_of_one_case is marked as a sweep, and has no cases: parametrize it*"])
