# SPDX-License-Identifier: MIT
"""The tutorials: pytest's output at each step equals the page's; the picture of a fragment equals its layout's."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from wmma_emu import wmma

ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "docs/tutorials"
PAGE = (TUTORIALS / "test-a-kernel-without-a-gpu.md").read_text(encoding="utf-8")
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "pytest_wmma_emu", "-W", "error"]
RUN_ALL = """
import contextlib, io, json, os, sys
import pytest

said = {}
for folder in sys.argv[1:]:
    os.chdir(folder)
    sys.modules.pop("test_linear", None)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        pytest.main(OPTIONS)
    said[os.path.basename(folder)] = out.getvalue()
print(json.dumps(said))
"""


def shown(marker):
    (found,) = re.findall(rf"<!-- {re.escape(marker)} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    return found


def changed(source, marker):
    """Apply a change that the page shows: its lines without + must be there, once."""
    lines = shown(marker).splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    assert source.count(before) == 1
    return source.replace(before, after)


def with_bits(tests):
    lines = "".join(line[1:] for line in shown("fix: the bits").splitlines(keepends=True))
    head, blank, body = tests.partition("\n\n\n")
    return f"{head}\n{lines}{blank[1:]}{body}\n\n{shown('more: test_linear.py')}"


@pytest.fixture
def said(tmp_path):
    """What pytest prints at each step of the page, all in one process."""
    pytest.importorskip("nvidia", reason="NVRTC is not installed")
    kernel, tests = shown("file: linear.cu"), shown("file: test_linear.py")
    steps = {"race": (kernel, tests)}
    kernel = changed(kernel, "fix: the barrier")
    steps["with the barrier"] = (kernel, tests)
    tests = changed(tests, "fix: the sizes")
    steps["sizes"] = (kernel, tests)
    halves, kernel = kernel, changed(kernel, "fix: the loop")
    steps["with the loop"] = (kernel, tests)
    tests = with_bits(tests)
    steps["with the bits"] = (kernel, tests)
    steps["halves"] = (halves, tests)
    for name, (source, test) in steps.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "linear.cu").write_text(source, encoding="utf-8")
        (tmp_path / name / "test_linear.py").write_text(test, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    program = RUN_ALL.replace("OPTIONS", repr(OPTIONS))
    command = [sys.executable, "-c", program, *(str(tmp_path / name) for name in steps)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def plain(text):
    """What pytest prints, without the numbers of lines of the PTX, which are NVRTC's."""
    return re.sub(r"\bline \d+ of the PTX", "line N of the PTX", text)


@pytest.mark.thorough
def test_pytest_prints_at_each_step_what_the_page_shows(said):
    for step in ("with the barrier", "with the loop", "with the bits"):
        assert re.sub(r" in [\d.]+s", "", said[step]) == shown(f"output: {step}")
    for step, count in (("race", "2 failed"), ("sizes", "1 failed, 2 passed")):
        assert count in said[step] and count in PAGE
        assert f"\n{plain(shown(f'output: {step}'))}" in plain(said[step])
    assert "test_the_bits_of_linear - AssertionError" in said["halves"]
    assert "elements differ" in said["halves"]


def test_the_findings_name_the_lines_on_the_page():
    lines = shown("file: linear.cu").splitlines()
    assert "load_matrix_sync(a, A" in lines[15] and "sums[0][i] + sums[1][i]" in lines[21]


def cells_of(picture):
    """Lane and element of every cell of a picture; a cell may stand for neighbours in a row."""
    held = {}
    for tag in re.findall(r'<g class="cell[^>]*>', picture):
        number = {name: int(value) for name, value in re.findall(r'data-(\w+)="(\d+)"', tag)}
        for i in range(number.get("cols", 1)):
            held[number["row"], number["col"] + i] = (number["lane"], number["index"] + i)
    return held


def test_the_picture_of_the_first_fragment_equals_the_picture_of_its_layout(tmp_path, monkeypatch):
    page = (TUTORIALS / "your-first-fragment.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"<!-- example: picture -->\n```python\n(.*?)```", page, re.DOTALL)
    a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major, arch="a100")
    monkeypatch.chdir(tmp_path)
    exec(code, {"a": a})
    committed = cells_of((TUTORIALS / "your-first-fragment.svg").read_text(encoding="utf-8"))
    assert committed == cells_of((tmp_path / "your-first-fragment.svg").read_text(encoding="utf-8"))
    assert len(committed) == 256
    assert all(a.coords[index, lane].tolist() == [*cell] for cell, (lane, index) in committed.items())
