# SPDX-License-Identifier: MIT
"""The tests that run again after a change: those of the file's package, and of its importers."""

import pytest

from tools import changed_tests as tool

FILES = {
    "pyproject.toml": "",
    "wmma_emu/__init__.py": "from wmma_emu.gemm import product\n",
    "wmma_emu/errors.py": "",
    "wmma_emu/formats/codec.py": "from wmma_emu.errors import Wrong\n",
    "wmma_emu/gemm/product.py": "def f():\n    from wmma_emu.formats.codec import encode\n",
    "wmma_emu/viz/picture.py": "import wmma_emu.errors\n",
    "tests/conftest.py": "",
    "tests/rows.py": "",
    "tests/data/a.npz": "",
    "tests/formats/test_codec.py": "from tests.rows import ROWS\n",
    "tests/gemm/test_product.py": "import wmma_emu as we\n\nwe.product()\n",
    "tests/viz/test_picture.py": "from wmma_emu.viz import picture\n",
    "tests/docs/test_pages.py": "",
}


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run_again_after(root, name):
    before = tool.fingerprints(root)
    (root / name).write_text(FILES[name] + "# another\n", encoding="utf-8")
    return set(tool.changed(tool.fingerprints(root), before)) - {"tests/docs"}


@pytest.mark.parametrize(("name", "again"), [
    ("wmma_emu/viz/picture.py", "wmma_emu/viz tests/viz"),
    ("wmma_emu/formats/codec.py", "wmma_emu/formats wmma_emu/gemm wmma_emu/__init__.py tests/gemm"),
    ("tests/gemm/test_product.py", "tests/gemm"),
    ("tests/rows.py", "tests/formats"),
])  # fmt: skip
def test_what_imports_a_changed_file_through_however_many_packages_is_run_again(root, name, again):
    assert run_again_after(root, name) == set(again.split())


@pytest.mark.parametrize("name", tool.EVERYWHERE[:2])
def test_what_all_tests_rest_on_runs_all_again(root, name):
    assert run_again_after(root, name) == set(tool.fingerprints(root)) - {"tests/docs"}


def test_pages_are_read_every_time_and_nothing_else_is_run_without_a_change(root):
    now = tool.fingerprints(root)
    assert tool.changed(now, now) == ["tests/docs"] and set(tool.changed(now, {})) == set(now)


def test_a_failure_is_noted_for_its_unit(pytester):
    pytester.makepyfile(**{"tests/gemm/test_a": "def test_a(): assert 0", "tests/viz/test_b": "def test_b(): pass"})
    found = tool.Failures()
    pytester.inline_run("--import-mode=importlib", plugins=[found])
    assert found.units == {"tests/gemm"}


def test_the_gate_skips_nothing():
    assert "changed_tests" not in (tool.ROOT / ".ci/run").read_text(encoding="utf-8")
