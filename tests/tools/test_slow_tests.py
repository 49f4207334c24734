# SPDX-License-Identifier: MIT
"""The list of slow tests: which files have some, when they last ran, and which fit into the gate."""

import pytest

from tools import slow_tests as tool

PASSED = tool.SlowRun("tests/a.py", "2", "30", "2026-11-27", "abc1234", "passed")


def test_a_renewed_list_keeps_the_runs_of_files_that_still_have_slow_tests():
    nodes = ["tests/a.py::test_x[1]", "tests/a.py::test_x[2]", "tests/a.py::test_y", "tests/b.py::test_z", "", "4"]
    runs = tool.counted(nodes, {"tests/a.py": PASSED, "tests/gone.py": PASSED})
    assert runs == {"tests/a.py": PASSED._replace(tests="3"), "tests/b.py": tool.SlowRun("tests/b.py", "1")}
    assert tool.read(tool.written(runs.values())) == runs


def test_what_failed_or_never_ran_does_not_fit():
    runs = [PASSED, PASSED._replace(file="tests/b.py", ended="failed"), tool.SlowRun("tests/c.py", "1")]
    assert tool.fitting(runs, 1000) == ["tests/a.py"]


def test_the_committed_list_is_in_order_and_of_files_that_exist():
    text = tool.NOTES.read_text(encoding="utf-8")
    runs = tool.read(text)
    assert text == tool.written(runs.values())
    assert [file for file in runs if not (tool.ROOT / file).exists()] == []


def test_a_file_without_slow_tests_is_refused(capsys):
    with pytest.raises(SystemExit):
        tool.main(["tests/no_such_file.py"])
    assert "no slow tests are listed of tests/no_such_file.py" in capsys.readouterr().err
