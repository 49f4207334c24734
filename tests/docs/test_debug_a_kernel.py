# SPDX-License-Identifier: MIT
"""docs/how-to/debug-a-kernel.md: Python's debugger stops at the line and prints the values on the page."""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/debug-a-kernel.md").read_text(encoding="utf-8")


def shown(marker):
    (found,) = re.findall(rf"<!-- {re.escape(marker)} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    return found


def test_the_debugger_stops_in_a_kernel_of_python_and_shows_all_lanes(tmp_path):
    (tmp_path / "look.py").write_text(shown("file: look.py"), encoding="utf-8")
    session = shown("session: look.py")
    typed = "".join(f"{line}\n" for line in re.findall(r"^\(Pdb\) (.*)$", session, re.MULTILINE))
    done = subprocess.run(
        [sys.executable, "look.py"], cwd=tmp_path, input=typed, capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    _, _, answers = done.stdout.partition("(Pdb) ")
    expected = re.sub(r"^\(Pdb\) .*\n", "(Pdb) ", session, flags=re.MULTILINE).removeprefix("(Pdb) ")
    assert answers.strip() == expected.strip()


@pytest.mark.thorough
def test_the_history_of_its_race_is_the_one_it_shows():
    pytest.importorskip("nvidia", reason="NVRTC is not installed")
    out = io.StringIO()
    names = {}
    with contextlib.redirect_stdout(out):
        for block in re.findall(r"```python\n(.*?)```", PAGE.partition("<!-- output: explain -->")[0], re.DOTALL):
            exec(block, names)

    def plain(text):
        return re.sub(r"\(line \d+\)", "(line N)", text)

    assert plain(out.getvalue()).split() == plain(shown("output: explain")).split()
