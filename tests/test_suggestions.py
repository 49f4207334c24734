# SPDX-License-Identifier: MIT
"""The nearest legal word is found by one function, and named in one form."""

import ast
from pathlib import Path

import pytest

import wmma_emu as we
from wmma_emu.suggestions import did_you_mean, first_chip, nearest, question

ROOT = Path(we.__file__).parent


@pytest.mark.thorough
def test_one_module_alone_compares_spellings():
    users = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (isinstance(node, ast.ImportFrom) and node.module == "difflib")
        or (isinstance(node, ast.Import) and any(x.name == "difflib" for x in node.names))
    }
    # The kernel of a finding and its fixed twin are shown as a difference of two sources.
    assert users == {"suggestions.py", "ptx/examples/__init__.py"}


@pytest.mark.parametrize(
    ("given", "legal", "near"),
    [
        ("RASE", ["trap", "race"], ["race"]),
        ("rase", ["trap", "Race"], ["Race"]),
        ("ad", ["mad", "and", "add"], ["add"]),  # all equally like it: what begins like it
        ("xyz", ["race"], []),
        (None, ["race"], []),
        ("race", [], []),
    ],
)
def test_the_nearest_word_is_found_ignoring_case(given, legal, near):
    assert nearest(given, legal) == near


def test_a_long_word_is_compared_at_once():
    assert nearest("x" * 10**6, ["y" * 10**6, "x" * 99]) == ["x" * 99]


def test_what_is_legal_follows_the_question_as_a_sentence():
    assert did_you_mean("rase", ["race"], "there are race") == "; did you mean 'race'? There are race"
    assert did_you_mean("xyz", ["race"], "there are race") == "; there are race"
    assert question(["e4m3", "e5m2"], show=str) == "; did you mean e4m3 or e5m2?"


def test_chips_are_named_by_the_first_only_if_all_later_ones_support_it():
    chips = ["sm_80", "sm_90", "sm_100"]
    assert first_chip(["sm_90", "sm_100"], chips) == "the first chip that supports it is sm_90"
    assert first_chip(["sm_80", "sm_90"], chips) == "chips that support it are sm_80, sm_90"
