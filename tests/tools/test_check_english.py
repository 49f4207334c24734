# SPDX-License-Identifier: MIT
"""The check of English: each rule finds its bad sentence, and leaves every rule's good one."""

import ast
import json
from pathlib import Path

import pytest

pytest.importorskip("proselint")
pytest.importorskip("codespell_lib")

from tools.check_english import faults_of, main
from tools.english import docstrings, lints
from tools.english.phrases import COMPILED, PHRASES, QUOTED
from tools.english.prose import passages
from tools.english.spelling import american

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("compiled", COMPILED, ids=lambda compiled: compiled.phrase.bad)
def test_a_phrase_is_found_in_its_bad_sentence(compiled):
    assert compiled.pattern.search(compiled.phrase.bad)


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase.good)
def test_no_phrase_is_found_in_a_good_sentence(phrase):
    assert [c.phrase.bad for c in COMPILED if c.pattern.search(phrase.good)] == []


def _faults(tmp_path, text, name="wmma_emu/x.py"):
    path = tmp_path / name.rsplit("/", 1)[-1]
    path.write_text(text, encoding="utf-8")
    return [(fault.line, fault.phrase) for fault in faults_of(path, name)]


def test_a_phrase_across_lines_is_at_its_first_line(tmp_path):
    text = '"""A table.\n\nIts rows come from lanes that wait for what\nis no barrier.\n"""\n'
    assert _faults(tmp_path, text) == [(3, "what is no")]


def test_comments_below_each_other_are_one_text(tmp_path):
    assert _faults(tmp_path, "# The value is\n# no chip.\nx = 1\n") == [(1, "is no")]


def test_messages_are_checked_and_code_in_them_is_not(tmp_path):
    text = 'def _f(x):\n    raise ValueError(\n        f"{x} has the wrong kind; "\n        f"{x} is no chip"\n    )\n'
    assert _faults(tmp_path, text) == [(4, "is no")]
    assert _faults(tmp_path, 'X = "use `is no chip` or nothing"\n') == []


def test_doctests_and_blocks_of_code_are_left_out(tmp_path):
    assert _faults(tmp_path, '"""A table.\n\n>>> f()\nx is no chip\n"""\n') == []
    assert _faults(tmp_path, "Text.\n\n```text\nx is no chip\n```\n", "x.md") == []


def test_a_notebook_is_checked_at_the_lines_of_its_cells(tmp_path):
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "x is no chip"]}
    text = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    line = next(n for n, x in enumerate(text.split("\n"), 1) if "no chip" in x)
    assert _faults(tmp_path, text, "x.ipynb") == [(line, "is no")]


def test_comments_and_strings_of_other_languages_are_checked(tmp_path):
    assert _faults(tmp_path, "int x; // a lane\n// that is\n// no chip\n/* is no\n chip */\n", "x.cu") == [
        (2, "is no"),
        (4, "is no"),
    ]
    assert _faults(tmp_path, "const x = `The name ${y} is no chip`; // a mark\n", "x.js") == [(1, "is no")]
    assert _faults(tmp_path, "# this is no chip\necho $# x\n", "x.sh") == [(1, "is no")]


def test_quoted_words_are_left_out_in_their_files_alone(tmp_path):
    text = '"""Questions: who has a lane?"""\n'
    assert _faults(tmp_path, text, "tests/browser/test_explorer_questions.py") == []
    assert _faults(tmp_path, text, "tests/browser/test_x.py") == [(1, "who")]


@pytest.mark.parametrize("quoted", QUOTED, ids=lambda quoted: quoted.words)
def test_each_quotation_is_found_by_a_rule_and_is_in_its_files(quoted):
    assert any(c.pattern.search(quoted.words) for c in COMPILED) or american(quoted.words)
    assert not quoted.where or quoted.words in (ROOT / quoted.where).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "right", ["See see-who-loads-what.svg.", "The last place of the sum.", "Lanes that are not a warp."]
)
def test_right_english_that_resembles_a_fault_is_left_out(right):
    assert [c.phrase.bad for c in COMPILED if c.pattern.search(right)] == []


def test_an_import_on_a_line_of_a_string_makes_it_code(tmp_path):
    assert _faults(tmp_path, 'X = "import wmma_emu as we\\n\\nwe.product is no chip"\n') == []


def test_names_of_tests_are_read_as_sentences(tmp_path):
    text = "def test_the_name_is_no_chip():\n    pass\n"
    assert _faults(tmp_path, text, "tests/test_x.py") == [(1, "is no")]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('def f():\n    """Return the bits."""', []),
        ('def f():\n    """Returns the bits."""', ["Returns"]),
        ('def f():\n    """What a barrier gives."""', ["What ..."]),
        ('def f():\n    """Whether a lane waits."""', ["Whether ..."]),
        ('def f():\n    """Number of lanes."""', ["Number ..."]),
        ('def f():\n    """Return the bits"""', ["Return the bits"]),
        ('@property\ndef f(self):\n    """Whether a lane waits."""', []),
        ('@property\ndef f(self):\n    """The number of lanes."""', []),
        ('class C:\n    """What a lane holds."""', ["What ..."]),
        ('class C:\n    """The registers of a lane."""', []),
        ('def _scale_rows():\n    """Scale the rows."""', ["Scale the rows."]),
        ('def _scale_rows():\n    """Multiply rows by powers of two."""', []),
    ],
)
def test_a_docstring_of_a_function_begins_with_a_verb(source, found):
    owner = ast.parse(source).body[0]
    assert [phrase for phrase, _ in docstrings.faults(ast.get_docstring(owner), owner)] == found


def test_american_spellings_are_found_and_identifiers_are_not():
    assert [word for _, word, _ in american("The color of a quantized neighbor.")] == ["color", "quantized", "neighbor"]
    assert american("color-scheme, x.quantize(), the size of a center-line") == []
    assert american("color : bool") == []


def test_other_lints_find_their_words():
    assert [fix for _, _, fix in lints.misspelled("The adress of teh array.")] == ["address", "the"]
    assert [word for _, _, word in lints.repeated("The the bits, and the the row.")] == ["the"]
    text = "It waits for ever, for every lane."
    assert [text[start:end] for start, end, _ in lints.proselint_results(text)] == ["for ever"]
    assert [*lints.long_sentences("A word and " * 9 + "more.")] == []
    assert len([*lints.long_sentences("A word and " * 14 + "more.")]) == 1


def test_passages_of_a_module_are_of_all_kinds(tmp_path):
    path = tmp_path / "test_x.py"
    path.write_text('"""A module."""\n\nX = 1  # a comment\n\n\ndef test_it_works():\n    f("a b")\n')
    kinds = {passage.kind for passage in passages(path)}
    assert kinds == {"docstring", "comment", "test name"}


def test_the_exit_status_and_the_line_that_is_printed(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("tools.check_english.files", lambda paths: [(tmp_path / "x.md", "docs/x.md")])
    (tmp_path / "x.md").write_text("The name is no chip.\n")
    assert main([]) == 1
    assert capsys.readouterr().out == 'docs/x.md:1: "is no": write "is not a / is not an / does not exist"\n'
    assert main(["--count"]) == 1
    assert capsys.readouterr().out.split() == ["1", "docs", "1", "in", "total"]
    (tmp_path / "x.md").write_text("The name is not a chip.\n")
    assert main([]) == 0
