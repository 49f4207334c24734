# SPDX-License-Identifier: MIT
"""The README's picture shows what its example says today: a race in the kernel, and none where the barrier is."""

import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tools import terminal_picture

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples/first_hour"
PICTURE = ROOT / "docs/_static/caught-race.svg"
BARRIER = "        __syncthreads();\n"


def shown():
    """Return the lines of the picture, from its description for screen readers."""
    return ET.parse(PICTURE).getroot().find("{http://www.w3.org/2000/svg}desc").text.splitlines()


def words(lines):
    """Return the words of some lines, without pytest's mark of an error: where lines break is the terminal's."""
    return " ".join(" ".join(line.removeprefix("E ") for line in lines).split())


def launch(folder):
    """Launch the kernel as the example's test does; return the report and whether all elements are right."""
    A, B = np.random.default_rng(0).integers(-4, 5, (2, 32, 32)).astype(np.float32)
    D = np.zeros((32, 32), np.float32)
    gemm = we.ptx.Module.from_file(folder / "gemm.cu", arch="h100")["gemm"]
    report = gemm[(2, 2), (16, 16)](A, B, D, 32, findings="report")
    return report, (D == A @ B).all()


def needs_a_compiler():
    try:
        we.ptx.Module.from_file(FOLDER / "gemm.cu", arch="h100")
    except we.BackendUnavailableError as error:
        pytest.skip(f"CUDA C++ cannot be compiled here: {error}")


@pytest.mark.thorough
def test_the_finding_in_the_picture_is_up_to_date(tmp_path):
    needs_a_compiler()
    shutil.copy(FOLDER / "gemm.cu", tmp_path)
    report, _ = launch(tmp_path)
    (finding,) = report.findings
    assert words(str(finding).splitlines()) in words(shown())
    assert f"FAILED test_gemm.py::test_gemm - {finding.title}" in shown()


@pytest.mark.thorough
def test_the_barrier_of_the_session_fixes_the_kernel(tmp_path):
    needs_a_compiler()
    number = int(re.search(r"sed -i '(\d+)a", (FOLDER / "session.sh").read_text(encoding="utf-8"))[1])
    lines = (FOLDER / "gemm.cu").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "gemm.cu").write_text("".join([*lines[:number], BARRIER, *lines[number:]]), encoding="utf-8")
    report, right = launch(tmp_path)
    assert report.findings == () and right


def test_the_picture_shows_the_commands_of_the_session_and_both_verdicts():
    lines = shown()
    assert [line[2:] for line in lines if line.startswith("$ ")] == terminal_picture.commands_of(FOLDER)
    verdicts = [line for line in lines if re.match(r"1 (failed|passed)", line)]
    assert [line.split()[1] for line in verdicts] == ["failed", "passed"]
    assert len(lines) <= terminal_picture.MOST_LINES


def test_the_picture_needs_no_network_and_has_a_name():
    text = PICTURE.read_text(encoding="utf-8")
    root = ET.fromstring(text)
    assert re.findall(r"https?://[^\s\"'<)]+", text.replace("http://www.w3.org/2000/svg", "")) == []
    assert "@font-face" not in text and root.get("role") == "img"
    named = root.get("aria-labelledby").split()
    assert {x.get("id") for x in root if x.tag.endswith(("title", "desc"))} == set(named)


def test_a_terminal_shows_what_a_command_writes_in_its_width_and_colours(tmp_path):
    said = terminal_picture.said_by(
        "stty size; printf '\\033[31mred\\033[0m\\n'; [ -t 1 ] && echo terminal", tmp_path, 72
    )
    assert said.splitlines() == ["45 72", "\x1b[31mred\x1b[0m", "terminal"]
    pytest.importorskip("rich")
    drawn = terminal_picture.picture(said, "a < b", 72)
    assert "a &lt; b</title>" in drawn and "45 72\nred\nterminal" in drawn
