# SPDX-License-Identifier: MIT
"""docs/how-to/live-with-findings.md: its kernel has the race that it says, and its comment silences that."""

import re
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import BackendUnavailableError

PAGE = (Path(__file__).parents[2] / "docs/how-to/live-with-findings.md").read_text(encoding="utf-8")


def block(mark):
    return re.search(rf"<!-- {re.escape(mark)} -->\n```cpp\n(.*?)```", PAGE, re.DOTALL)[1]


def launched(source):
    try:
        module = we.ptx.Module.from_cuda(source, name="turned.cu", findings="report")
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    return module["turned"][1, 64](np.arange(64, dtype=np.int32), np.zeros(64, np.int32))


def test_the_kernel_has_a_race_and_the_comment_silences_it():
    source, comment = block("file: turned.cu"), block("comment")
    (finding,) = launched(source).findings
    assert finding.title == "race on tile at turned.cu:4/5"
    line = comment.partition("  //")[0] + "\n"
    assert line in source and source in PAGE
    report = launched(source.replace(line, comment))
    assert not report.findings and report.silenced[0].silence.reason == "both warps store the same"
