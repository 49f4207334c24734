# SPDX-License-Identifier: MIT
"""What is released is the whole project, once: the sdist leaves nothing out that its tests need."""

import re
import tomllib

import pytest

from tools import check_distribution
from tools.check_distribution import ROOT, SURROUNDINGS, differences, files, run
from wmma_emu.version import __version__

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_sdist_contains_every_top_level_file():
    included = {*PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"], "pyproject.toml", ".gitignore"}
    assert {x.parts[0] for x in files()} <= included
    assert all((ROOT / x).exists() for x in included)


def test_without_a_repository_the_same_files_are_included_except_caches(monkeypatch, tmp_path):
    for name in ("wmma_emu/a.py", "wmma_emu/__pycache__/a.pyc", "build/html/index.html", ".ci/run"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(check_distribution, "ROOT", tmp_path)
    assert sorted(map(str, files())) == [".ci/run", "wmma_emu/a.py"]


def test_files_that_differ_or_are_missing_are_named(tmp_path):
    (tmp_path / "a").write_text("1")
    (tmp_path / "b").write_text("2")
    a, b = tmp_path / "a", tmp_path / "b"
    assert differences({"x": a, "y": a}, {"x": a, "y": b, "z": b}) == ["y", "z"]


def test_the_two_builds_have_different_environments():
    one, other = SURROUNDINGS
    assert all(x != y for x, y in zip(one, other, strict=True))
    assert all(one.variables[x] != other.variables[x] for x in one.variables)


def test_the_output_of_a_failed_command_is_shown(tmp_path, capsys):
    with pytest.raises(SystemExit, match="exit status 3"):
        run(["sh", "-c", "echo the reason; exit 3"], tmp_path)
    assert capsys.readouterr().err == "the reason\n\n"


def test_every_page_that_names_a_wheel_names_that_of_this_version():
    pages = [*(ROOT / "docs/how-to").glob("*.md"), ROOT / "README.md", ROOT / "tools/run_workflow.py"]
    named = [y for x in pages for y in re.findall(r"wmma_emu-(\d[\w.]*?)-py3", x.read_text(encoding="utf-8"))]
    assert named and set(named) == {__version__}
