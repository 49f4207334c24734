# SPDX-License-Identifier: MIT
"""The picture of docs/how-to/cute-layouts-and-machine-code.md is what its code draws; its commands do what they say."""

import re
import shlex
from pathlib import Path

import pytest

from wmma_emu.cli import main

HOW_TO = Path(__file__).parents[2] / "docs/how-to"
PAGE = (HOW_TO / "cute-layouts-and-machine-code.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_draws_its_picture(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"<!-- example: picture -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    exec(block, {})
    (name,) = [x.name for x in tmp_path.iterdir()]
    assert f"]({name})" in PAGE
    assert (tmp_path / name).read_bytes() == (HOW_TO / name).read_bytes()


COMMANDS = re.findall(r"^wmma-emu .*$", PAGE, re.MULTILINE) + re.findall("`(wmma-emu [^`]+)`", PAGE)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_page_runs(line, tmp_path, monkeypatch):
    if line.endswith(".png"):
        pytest.importorskip("resvg_py", reason="resvg-py, of the extra png, is not installed")
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(line)[1:]) == 0
