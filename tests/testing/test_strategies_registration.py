# SPDX-License-Identifier: MIT
"""Hypothesis and the package find each other, whichever is imported first, and neither imports the other."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import wmma_emu as we
from hypothesis_wmma_emu import _hypothesis_setup_hook
from wmma_emu.arithmetic import DotModel
from wmma_emu.instructions import Arch
from wmma_emu.wmma import Fragment

ROOT = Path(__file__).parents[2]
TYPES = [we.Format, Arch, we.Instruction, we.BoundInstruction, DotModel, Fragment]

_hypothesis_setup_hook()
FIRST = settings(database=None, phases=[Phase.generate])

ENTRY_POINT = """[hypothesis]
_ = hypothesis_wmma_emu:_hypothesis_setup_hook
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Where Hypothesis finds the entry point of this project, whether or not it is installed."""
    folder = tmp_path_factory.mktemp("installed")
    installed = folder / "wmma_emu-0.1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: wmma-emu\nVersion: 0.1.0\n")
    (installed / "entry_points.txt").write_text(ENTRY_POINT)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


def python(code, environment=None):
    environment = environment or {**os.environ, "PYTHONPATH": str(ROOT)}
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
        "import sys, wmma_emu, wmma_emu.testing; wmma_emu.testing.assert_bits_equal; wmma_emu.testing.generators; "
        "print([name for name in sys.modules if name.partition('.')[0] == 'hypothesis'])"
    )
    assert python(code) == "[]\n"


def test_importing_hypothesis_imports_one_small_module_of_this_project(environment):
    code = (
        "import sys, hypothesis; "
        "print([x for x in sys.modules if 'wmma_emu' in x], [x for x in ('numpy', 'ml_dtypes') if x in sys.modules])"
    )
    assert python(code, environment) == "['hypothesis_wmma_emu'] []\n"
    assert not [x for x in (ROOT / "hypothesis_wmma_emu.py").read_text().splitlines() if x.startswith("from ")]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "first",
    [
        "import hypothesis, wmma_emu",
        "import wmma_emu, hypothesis",
        "import wmma_emu; wmma_emu.Format; import hypothesis",
        "import hypothesis, wmma_emu.testing.strategies",
        "import wmma_emu.testing.strategies, hypothesis",
        "from hypothesis_wmma_emu import _hypothesis_setup_hook as hook; hook(); hook(); import hypothesis",
    ],
    ids=["hypothesis", "the package", "the type", "hypothesis, strategies", "strategies", "hooks twice"],
)
def test_either_may_be_imported_first(first, environment):
    code = f"""
{first}
import wmma_emu
from hypothesis import find, settings, strategies as st
print(find(st.from_type(wmma_emu.Format), lambda fmt: True, settings=settings(database=None)))
"""
    assert python(code, environment) == "f64\n"


def test_strategies_that_are_imported_register_types_where_nothing_is_installed():
    code = """
import os
os.environ["HYPOTHESIS_NO_PLUGINS"] = "1"
import wmma_emu.testing.strategies as own
from hypothesis import find, settings, strategies as st
from wmma_emu import Format
print(find(st.from_type(Format), lambda fmt: True, settings=settings(database=None)))
"""
    assert python(code) == "f64\n"


def test_the_entry_point_and_the_wheel_say_where_the_hook_is():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition("[project.entry-points.hypothesis]")[2].strip().splitlines()[0]
    assert section == '_ = "hypothesis_wmma_emu:_hypothesis_setup_hook"'
    included = text.partition("only-include = ")[2].splitlines()[0]
    assert '"hypothesis_wmma_emu.py"' in included and (ROOT / "hypothesis_wmma_emu.py").is_file()


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
    assert "wmma_emu.testing.generators.matrices" in shown


def test_where_hypothesis_is_missing_importorskip_skips():
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "import pytest\n"
        "try:\n    pytest.importorskip('wmma_emu.testing.strategies')\n"
        "except pytest.skip.Exception as error:\n    print(error)\n"
    )
    assert "needs Hypothesis, which is not installed" in python(code)
