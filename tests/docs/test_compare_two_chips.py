# SPDX-License-Identifier: MIT
"""The picture of docs/how-to/compare-two-chips.md is what its code draws, and its command runs."""

import doctest
import re
import shlex
from pathlib import Path

from wmma_emu.cli import main

ROOT = Path(__file__).parents[2]
HOW_TO = ROOT / "docs/how-to"
PAGE = (HOW_TO / "compare-two-chips.md").read_text(encoding="utf-8")
PICTURE = "compare-two-chips.svg"


def test_the_code_of_the_page_draws_its_picture(tmp_path, monkeypatch):
    before, mark, after = PAGE.partition("<!-- example: picture -->\n```python\n")
    names: dict[str, object] = {}
    for example in doctest.DocTestParser().get_examples(before):
        exec(example.source, names)
    monkeypatch.chdir(tmp_path)
    exec(after.partition("```")[0], names)
    assert mark and (tmp_path / PICTURE).read_bytes() == (HOW_TO / PICTURE).read_bytes()


def test_the_page_shows_the_picture_which_is_small():
    assert f"]({PICTURE})" in PAGE
    assert (HOW_TO / PICTURE).stat().st_size < 40_000


def test_the_command_prints_and_draws(tmp_path, monkeypatch, capsys):
    (command,) = re.findall(r"```sh\nwmma-emu (.*)\n```", PAGE)
    words = [str(ROOT / x) if x.startswith("examples/") else x for x in shlex.split(command)]
    monkeypatch.chdir(tmp_path)
    assert main(words) == 0
    assert [x.name for x in tmp_path.iterdir()] == ["compare.svg"]
    out = capsys.readouterr().out
    assert out.count("\nsm_80 ") == 1 + 3 and out.count("\nsm_90 ") == 1 + 3
