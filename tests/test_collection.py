# SPDX-License-Identifier: MIT
"""Every file of tests collects with pytest and Hypothesis alone: what needs another library is skipped, no error."""

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
    assert {"numba", "jsonschema", "triton", "playwright", "dask"} <= missing
    command = [sys.executable, "-c", COLLECT.format(missing=missing)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, "\n".join(x for x in done.stdout.splitlines() if "::" not in x)
