# SPDX-License-Identifier: MIT
"""The pages on programs with Triton, torch.compile and Helion: programs, marked file: NAME, print what a page shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("run-a-triton-program.md", "run-a-torch-compile-program.md", "run-a-helion-program.md")
PAGE = "".join((ROOT / "docs/how-to" / x).read_text(encoding="utf-8") for x in NAMES)
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```", PAGE, re.DOTALL))
RUNS = re.findall(r"<!-- run: (\S+) -->\n```console\n\$ wmma-emu (.*?)\n(.*?)```", PAGE, re.DOTALL)
CACHES = "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "HELION_CACHE_DIR"

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize(("name", "command", "shown"), RUNS)
def test_a_program_prints_the_lines_on_the_page(name, command, shown, tmp_path):
    for library in ("triton", *(x for x in ("torch", "helion") if x in FILES[name])):
        pytest.importorskip(library, reason=f"{library} is not installed")
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "wmma_emu", *command.split()], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **dict.fromkeys(CACHES, str(tmp_path))},
    )  # fmt: skip
    said = (done.stdout + done.stderr).splitlines()
    assert [x for x in shown.splitlines() if x not in said] == []
    assert done.returncode == ("--findings raise" in command)


def test_the_pages_have_programs_with_and_without_a_mistake():
    assert [name for name, _, _ in RUNS] == list(FILES)
