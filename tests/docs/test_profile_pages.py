# SPDX-License-Identifier: MIT
"""docs/how-to/make-a-kernel-fast.md and measure-the-coverage-of-a-kernel.md: their code prints what they show."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from wmma_emu.cli import main

ROOT = Path(__file__).parents[2]
FAST = (ROOT / "docs/how-to/make-a-kernel-fast.md").read_text(encoding="utf-8")
COVERAGE = (ROOT / "docs/how-to/measure-the-coverage-of-a-kernel.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.thorough


def shown(page, mark):
    (found,) = re.findall(rf"<!-- {re.escape(mark)} -->\n+```\w+\n(.*?)```", page, re.DOTALL)
    return found


def begin(page, monkeypatch, tmp_path):
    pytest.importorskip("nvidia", reason="NVRTC is not installed")
    monkeypatch.chdir(tmp_path)
    for name in re.findall(r"<!-- file: (\S+) -->", page):
        (tmp_path / name).write_text(shown(page, f"file: {name}"), encoding="utf-8")


@pytest.mark.parametrize(("page", "marks"), [(FAST, ("profile", "explain")), (COVERAGE, ("coverage",))])
def test_the_code_prints_what_the_page_shows(page, marks, monkeypatch, tmp_path):
    begin(page, monkeypatch, tmp_path)
    names = {}
    for mark in marks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(shown(page, f"run: {mark}"), names)
        assert out.getvalue().splitlines() == shown(page, f"output: {mark}").splitlines()


def test_the_command_of_the_page_shows_the_conflicts(monkeypatch, tmp_path, capsys):
    begin(FAST, monkeypatch, tmp_path)
    (command,) = re.findall(r"^wmma-emu (ptx profile .*)$", FAST, re.MULTILINE)
    assert main(command.split()) == 0
    assert "3 968 bank conflicts" in capsys.readouterr().out


def test_the_tests_of_the_page_fail_with_the_message_that_it_shows(monkeypatch, tmp_path, pytester):
    begin(FAST, monkeypatch, pytester.path)
    result = pytester.runpytest_inprocess("-p", "pytest_wmma_emu", "-p", "no:cacheprovider")
    result.assert_outcomes(failed=2)
    out = result.stdout.str()
    assert "assert 3968 == 0" in out
    for line in shown(FAST, "output: limits").splitlines():
        assert line in out
