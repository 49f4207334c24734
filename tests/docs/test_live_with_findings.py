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


def launched(source, name, x):
    try:
        module = we.ptx.Module.from_cuda(source, name=name, findings="report")
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    out = np.zeros_like(x)
    return module.kernel[1, 64](x, out), out


@pytest.mark.thorough
def test_the_kernel_has_a_race():
    report, _ = launched(block("file: turned.cu"), "turned.cu", np.arange(64, dtype=np.int32))
    assert [x.title for x in report.findings] == ["race on tile at turned.cu:4/5"]


@pytest.mark.thorough
def test_the_comment_silences_what_is_right():
    source, comment = block("file: negative.cu"), block("comment")
    x = np.arange(-40, 24, dtype=np.int32)
    report, out = launched(source, "negative.cu", x)
    assert [x.title for x in report.findings] == ["race of equal bytes on found at negative.cu:4"] and out[0] == 1
    line = comment.partition("  //")[0] + "\n"
    assert line in source
    report, out = launched(source.replace(line, comment), "negative.cu", x)
    assert not report.findings and out[0] == 1
    assert [x.silence.reason for x in report.silenced] == ["all threads store the same value"]
