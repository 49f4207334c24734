# SPDX-License-Identifier: MIT
"""A fictional chip, added in one file, has everything of the chip that it inherits from."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.test_contributing import carry_out

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the answers for the new chip and its ancestor, in a copy of the package."""
    copy = tmp_path_factory.mktemp("copy")
    assert carry_out("chip", copy) == 1
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "fictional_chip.py"), "sm_120", "sm_130"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(copy), str(ROOT), str(ROOT / "docs" / "_ext")))},
        cwd=copy, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


SAME = ("instructions", "products", "kernels", "pages", "refusals", "layout")


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize("topic", SAME)
def test_queries_about_the_new_chip_have_the_answers_of_its_ancestor(answers, topic: str):
    like, new = answers[topic]["sm_120"], answers[topic]["sm_130"]
    assert new
    if topic == "pages":
        like, new = like[0], new[0]
    assert new == like


@pytest.mark.parametrize("topic", ["machine code", "layouts", "models"])
def test_each_fact_is_inherited_and_no_better_known_than_it_is(answers, topic: str):
    like, new = answers[topic]["sm_120"], answers[topic]["sm_130"]
    assert new and [row[:-1] for row in new] == [row[:-1] for row in like]
    assert {row[-1] for row in new} <= {"inferred", "documented"}
    assert topic == "layouts" or "inferred" in {row[-1] for row in new}


def test_conversions_and_moves_match_its_ancestor(answers):
    assert all(answers["conversions"]["sm_130"][:2])
    assert answers["conversions"]["sm_130"] == answers["conversions"]["sm_120"]


def test_commands_and_the_support_matrix_say_that_it_is_inferred(answers):
    for text in (answers["list"]["sm_130"], answers["show"]["sm_130"], *answers["pages"]["sm_130"][1].values()):
        assert "measured" not in text and "recorded" not in text and "literature" not in text
    assert "inferred" in answers["list"]["sm_130"] and "CHIP (Fictional): inferred" in answers["show"]["sm_130"]
    had = {family: status != "–" for family, status in answers["pages"]["sm_120"][1].items()}
    assert {family: status != "–" for family, status in answers["pages"]["sm_130"][1].items()} == had
