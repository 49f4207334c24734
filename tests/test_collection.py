# SPDX-License-Identifier: MIT
"""Files of tests: each collects with pytest and Hypothesis alone, and each package has its rules."""

import ast
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COLLECT = """
import sys
from importlib.machinery import PathFinder

class WithoutExtras(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {missing!r} else PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutExtras
import pytest
sys.exit(pytest.main(["-q", "--collect-only", "-m", "", "-p", "no:cacheprovider", "tests", "wmma_emu"]))
"""


def with_what_they_require(*names):
    """Names of distributions with those that they need on any machine."""
    found, new = set(), set(names)
    while new:
        found |= new
        lines = []
        for name in new:
            try:
                lines += requires(name) or []
            except PackageNotFoundError:
                pass  # of another system, or of an older Python
        new = {re.split(r"[^\w.-]", x)[0].lower() for x in lines if "extra ==" not in x} - found
    return found


@pytest.mark.thorough
def test_every_file_collects_without_extras(monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    wanted = {re.sub(r"[-_.]+", "-", x) for x in with_what_they_require("pytest", "hypothesis", "numpy", "ml-dtypes")}
    missing = {
        module for module, names in packages_distributions().items()
        if not {re.sub(r"[-_.]+", "-", x.lower()) for x in names} & {*wanted, "wmma-emu"}
    } - {path.name for path in ROOT.iterdir()}  # fmt: skip
    assert {"llvmlite", "jsonschema", "triton", "playwright", "dask"} <= missing
    command = [sys.executable, "-c", COLLECT.format(missing=missing)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, "\n".join(x for x in done.stdout.splitlines() if "::" not in x)


def rules_of_packages():
    """Return the file of rules of each package, by the package's path; "." is the whole package."""
    packages = [x.parent.relative_to(ROOT / "wmma_emu") for x in sorted((ROOT / "wmma_emu").rglob("__init__.py"))]
    return {x.as_posix(): ROOT / "tests" / x / "test_rules.py" for x in packages}


def test_the_tests_of_every_package_begin_with_its_rules():
    rules = rules_of_packages()
    assert {".", "formats", "ptx/memory/races"} <= rules.keys()
    assert [package for package, path in rules.items() if not path.is_file()] == []


def test_a_file_of_rules_has_a_docstring_and_tests():
    for package, path in rules_of_packages().items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree), package
        assert [x for x in tree.body if isinstance(x, ast.FunctionDef) and x.name.startswith("test_")], package
