# SPDX-License-Identifier: MIT
"""The recipes of CONTRIBUTING.md, carried out in a copy of the tree: what they add works as they say.

A recipe is a block of changes, ``<!-- recipe: opcode -->``, and one of what then works, ``<!-- then: opcode -->``. What
they add is made up, and stays in the copy.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = {
    (kind, name): text
    for kind, name, text in re.findall(r"<!-- (recipe|then): (\w+) -->\n+```\w+\n(.*?)^```$", PAGE, re.M | re.S)
}
RECIPES = [name for kind, name in BLOCKS if kind == "recipe"]


def changes_of(recipe):
    """Yield the changes of a recipe: the file, the lines before, the lines after."""
    for part in re.split(r"^--- ", recipe, flags=re.M)[1:]:
        path, text = part.split("\n", 1)
        for hunk in re.split(r"^@@.*\n", text, flags=re.M):
            lines = hunk.splitlines()
            before = [line[1:] for line in lines if not line.startswith("+")]
            after = [line[1:] for line in lines if not line.startswith("-")]
            yield path.strip(), "".join(f"{x}\n" for x in before), "".join(f"{x}\n" for x in after)


def carry_out(name, folder):
    """Copy the package, and change it as a recipe says; return how many files changed."""
    shutil.copytree(ROOT / "wmma_emu", folder / "wmma_emu", ignore=shutil.ignore_patterns("__pycache__"))
    changed = set()
    for path, before, after in changes_of(BLOCKS["recipe", name]):
        file = folder / path
        text = file.read_text(encoding="utf-8")
        count = text.count(before)
        assert count == 1, f"{path} has {count} occurrences of\n{before}\nfix the recipe in CONTRIBUTING.md"
        file.write_text(text.replace(before, after), encoding="utf-8")
        changed.add(path)
    return len(changed)


@pytest.mark.thorough
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_works_as_it_says(name, tmp_path):
    assert carry_out(name, tmp_path) <= 3
    page = tmp_path / "then.md"
    page.write_text(BLOCKS["then", name], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "-o", "ELLIPSIS", str(page)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_recipe_says_what_then_works():
    assert {name for kind, name in BLOCKS if kind == "then"} == set(RECIPES)
    assert all(">>> " in text for (kind, _), text in BLOCKS.items() if kind == "then")
