# SPDX-License-Identifier: MIT
"""Hypothesis and the package find each other through the entry point, and only there."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import wmma_emu as we
from wmma_emu.arithmetic import DotModel
from wmma_emu.instructions import Arch
from wmma_emu.testing.strategies import _hypothesis_setup_hook
from wmma_emu.wmma import Fragment

ROOT = Path(__file__).parents[2]
TYPES = [we.Format, Arch, we.Instruction, we.BoundInstruction, DotModel, Fragment]

_hypothesis_setup_hook()
FIRST = settings(database=None, phases=[Phase.generate])


def python(code):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=environment, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
def test_types_of_the_package_are_drawn_from_the_types_alone(kind):
    assert isinstance(find(st.from_type(kind), lambda value: True, settings=FIRST), kind)


def test_annotations_are_enough():
    seen = []

    @settings(max_examples=5, database=None, deadline=None)
    @given(...)
    def collect(fmt: we.Format, ins: we.BoundInstruction):
        seen.append((fmt, ins))

    collect()
    assert seen


def test_importing_the_package_and_its_test_kit_does_not_import_hypothesis():
    code = (
        "import sys, wmma_emu, wmma_emu.testing; wmma_emu.testing.assert_bits_equal; wmma_emu.testing.families; "
        "print([name for name in sys.modules if name.partition('.')[0] == 'hypothesis'])"
    )
    assert python(code) == "[]\n"


@pytest.mark.parametrize(
    "first",
    [
        "import hypothesis, wmma_emu.testing.strategies",
        "import wmma_emu.testing.strategies, hypothesis",
        "from wmma_emu.testing.strategies import _hypothesis_setup_hook as hook; hook(); hook(); import hypothesis",
    ],
    ids=["hypothesis first", "the strategies first", "hooks twice"],
)  # fmt: skip
def test_either_may_be_imported_first(first):
    hook = "" if _is_installed() else "import wmma_emu.testing.strategies as t; t._hypothesis_setup_hook()"
    code = f"""
{first}
{hook}
import wmma_emu
from hypothesis import find, settings, strategies as st
print(find(st.from_type(wmma_emu.Format), lambda fmt: True, settings=settings(database=None)))
"""
    assert python(code) == "f64\n"


def _is_installed():
    return any(entry.value.startswith("wmma_emu.") for entry in entry_points(group="hypothesis"))


def test_the_entry_point_says_where_the_hook_is():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition("[project.entry-points.hypothesis]")[2].strip().splitlines()[0]
    assert section == '_ = "wmma_emu.testing.strategies:_hypothesis_setup_hook"'


def test_without_hypothesis_the_message_names_the_extra_and_what_needs_none():
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from wmma_emu.errors import BackendUnavailableError\n"
        "import wmma_emu.testing\n"
        "try:\n    from wmma_emu.testing import strategies\n"
        "except BackendUnavailableError as error:\n    print(error)\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "install the extra `hypothesis`" in shown
    assert "wmma_emu.testing.families.matrices" in shown
