# SPDX-License-Identifier: MIT
"""The script on the page about many machines can be pasted, and prints what the page shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/use-many-machines.md").read_text(encoding="utf-8")


def test_the_script_prints_what_the_page_shows(tmp_path):
    pytest.importorskip("distributed")
    (script,) = re.findall(r"<!-- script -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    (output,) = re.findall(r"<!-- output -->\n```text\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "cluster.py"
    path.write_text(script, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, env=environment, timeout=120)
    assert done.stdout == output, done.stderr
    assert done.returncode == 0
