# SPDX-License-Identifier: MIT
"""Mutations of the source: where they are, that a draw can be made again, and that tests catch a planted one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.source_mutations import fresh, mutant
from tools.source_mutations.points import Mutation, compiles, draw, mutations_in, mutations_of, source_files

ROOT = Path(__file__).parents[2]
SOURCE = '''\
"""Adds 1 + 1."""

from typing import TYPE_CHECKING, Literal, overload

if TYPE_CHECKING:
    Three = 3

__all__ = ["limit"] + []

Kind = Literal[1, 2]


@overload
def limit(x: int) -> "1 + 1": ...


def limit(x: "2 + 2", least=0):
    """Keep x below 9 + 9.

    Examples
    --------
    >>> limit(5)
    5
    >>> limit(11)
    10
    """
    assert x > -1
    if x < 0 or not least:
        raise ValueError(f"{x + 5} < 0" + "!")
    é = "x < 3"; return min(x, 10) if x >> 1 else x
'''


def test_mutations_change_code_but_not_strings_annotations_or_raised_errors():
    found = {(m.line, m.old, m.new) for m in mutations_in(SOURCE, "limit.py")}
    assert found == {
        (17, "0", "1"),
        (28, "<", "<="), (28, "0", "1"), (28, "or", "and"), (28, "not", ""),
        (30, "min", "max"), (30, "10", "11"), (30, ">>", "<<"), (30, "1", "2"),
    }  # fmt: skip


def test_a_mutation_changes_one_line_also_after_multibyte_characters():
    [wanted] = [m for m in mutations_in(SOURCE, "limit.py") if m.old == ">>"]
    before, after = SOURCE.splitlines(), wanted.mutate(SOURCE).splitlines()
    assert after[29] == '    é = "x < 3"; return min(x, 10) if x << 1 else x'
    assert before[:29] == after[:29] and len(after) == 30


@pytest.mark.parametrize(
    ("line", "mutated"),
    [
        ("x is y", ["x is not y"]),
        ("x is not y", ["x is y"]),
        ("x not in y", ["x in y"]),
        ("a & b | c", ["a & b & c", "a | b | c"]),
        ("x += 1", ["x += 2", "x -= 1"]),
        ("x = True", ["x = False"]),
        ("x = 0x0F", ["x = 0x10"]),
        ("x = a if b else c", ["x = a if not b else c"]),
        ("x = [y for y in z if y]", ["x = [y for y in z if not y]"]),
        ("x = 'a' + b % 'c'", []),
        ("x = np.maximum(y, ~z)", ["x = np.maximum(y, z)", "x = np.minimum(y, ~z)"]),
    ],
)
def test_each_operator_becomes_another(line, mutated):
    assert sorted(m.mutate(line) for m in mutations_in(line, "line.py")) == mutated


def test_a_draw_with_the_same_seed_is_the_same_and_every_drawn_mutant_compiles():
    mutations = mutations_of(ROOT, source_files(ROOT, ("quantise",)))
    drawn = draw(ROOT, mutations, 50, 1)
    assert drawn == draw(ROOT, mutations, 50, 1) != draw(ROOT, mutations, 50, 2)
    assert len({(m.file, m.line) for m in drawn}) == 50
    assert all(compiles(m.mutate((ROOT / m.file).read_text(encoding="utf-8"))) for m in drawn)


def test_code_of_functions_can_be_exchanged_and_what_runs_at_import_cannot():
    text = "LIMIT = 3\n\ndef f(x=1):\n    return lambda y: y + 1\n"
    inside = Mutation("f.py", 4, 23, "+", "-", "arithmetic").mutate(text)
    assert [old.co_name for old, _ in mutant.changed_functions(text, inside, "f.py")] == ["f", "<lambda>"]
    for line, column, old in ((1, 8, "3"), (3, 8, "1")):
        outside = Mutation("f.py", line, column, old, "7", "constant").mutate(text)
        assert mutant.changed_functions(text, outside, "f.py") is None


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of one function, of which a test and an example ask little."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the plugins that are installed need the real package
    (tmp_path / "wmma_emu").mkdir()
    (tmp_path / "wmma_emu" / "__init__.py").touch()
    text = SOURCE.replace("limit(5)", "limit(5, 1)").replace("limit(11)", "limit(11, 1)")
    (tmp_path / "wmma_emu" / "limit.py").write_text(text, encoding="utf-8")
    (tmp_path / "test_limit.py").write_text(
        "from wmma_emu.limit import limit\n\n\ndef test_small():\n    assert limit(5, 1) == 5\n", encoding="utf-8"
    )
    (tmp_path / "tools").symlink_to(ROOT / "tools")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --doctest-modules\npythonpath = .\n", encoding="utf-8")
    return tmp_path


EXAMPLE = "wmma_emu/limit.py::wmma_emu.limit.limit"
TESTS = [("test_limit.py::test_small", 0.1), (EXAMPLE, 0.1)]
CAUGHT, SURVIVES = (
    next(m for m in mutations_in(SOURCE, "wmma_emu/limit.py") if (m.old, m.new) == pair)
    for pair in (("10", "11"), ("<", "<="))
)


@pytest.mark.thorough
def test_separate_processes_catch_a_planted_mutation_and_restore_the_file(package):
    before = (package / "wmma_emu" / "limit.py").read_bytes()
    found = fresh.judge(package, CAUGHT, TESTS, 40.0)
    assert (found["outcome"], found["test"]) == ("caught", EXAMPLE)
    assert fresh.judge(package, SURVIVES, TESTS, 40.0)["outcome"] == "survived"
    assert (package / "wmma_emu" / "limit.py").read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="copies of a process are made by fork")
def test_copies_of_a_process_catch_a_planted_mutation(package):
    jobs = [{"mutation": vars(m), "tests": TESTS, "of_line": 2} for m in (CAUGHT, SURVIVES)]
    (package / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "tools.source_mutations.server",
        "jobs.json",
        "rows.jsonl",
        "40",
        "1",
        "test_limit.py",
        "wmma_emu",
    ]
    subprocess.run(command, cwd=package, check=True, capture_output=True)
    rows = [json.loads(line) for line in (package / "rows.jsonl").read_text().splitlines()]
    assert [row["outcome"] for row in rows] == ["caught", "survived"]
    assert (rows[0]["test"], rows[0]["again"], rows[0]["without"]) == (EXAMPLE, "caught", "survived")
