# SPDX-License-Identifier: MIT
"""Control characters in sources are shown as escapes: in findings, warnings, errors and reports."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_kernels import text_of
from wmma_emu.errors import KernelFindingsError, KernelFindingsWarning, LaunchLimitError, UnsupportedInstructionError
from wmma_emu.ptx import Silence

TITLE = "\x1b]0;pwn\x07\x9b2J\u202e"
SHOWN = r"\x1b]0;pwn\x07\x9b2J\u202e"


def module(body, before="", **options):
    return we.ptx.Module(text_of(body, 1, before), **options)["k"][1, 1]


def is_plain(text):
    return all(x.isprintable() or x == "\n" for x in text)


OUTSIDE = f".loc 1 7 0\nst.global.u32 [%rd1+64], 1; // {TITLE}\nret;"
FILE = f'.file 1 "{TITLE}.cu"'


def test_findings_warnings_and_errors_are_escaped():
    report = module(OUTSIDE, FILE, findings="report")(np.zeros(1, np.uint32))
    (finding,) = report.findings
    assert SHOWN in finding.text and f"{SHOWN}.cu:7" in str(finding.source)
    assert is_plain(str(finding)) and is_plain(str(report))
    with pytest.warns(KernelFindingsWarning) as caught:
        module(OUTSIDE, FILE)(np.zeros(1, np.uint32))
    assert SHOWN in str(caught[0].message) and is_plain(str(caught[0].message))
    with pytest.raises(KernelFindingsError) as error:
        module(OUTSIDE, FILE, findings="raise")(np.zeros(1, np.uint32))
    assert SHOWN in str(error.value) and is_plain(str(error.value))


def test_limits_deadlocks_and_refusals_are_escaped():
    with pytest.raises(LaunchLimitError) as error:
        module(f"L: bra L; // {TITLE}", max_steps=10)(np.zeros(1, np.uint32))
    assert SHOWN in str(error.value) and is_plain(str(error.value))
    deadlock = module(f"barrier.sync 0, 64; // {TITLE}", findings="report")(np.zeros(1, np.uint32))
    assert SHOWN in deadlock.findings[0].message and is_plain(str(deadlock))
    with pytest.raises(UnsupportedInstructionError) as refused:
        module(f"frobnicate.u32 %r1, %r2; // {TITLE}")(np.zeros(1, np.uint32))
    assert SHOWN in str(refused.value) and is_plain(str(refused.value))


def test_silences_are_escaped():
    comment = f"st.global.u32 [%rd1+64], 1; // wmma-emu: ignore[out of bounds] {TITLE}"
    report = module(comment, findings="report")(np.zeros(1, np.uint32))
    assert report.silenced and SHOWN in str(report) and is_plain(str(report))
    with pytest.raises(UnsupportedInstructionError) as refused:
        module("ret;", silence=[Silence("race", f"{TITLE}.cu:7", "x")])(np.zeros(1, np.uint32))
    assert is_plain(str(refused.value))
    with pytest.raises(UnsupportedInstructionError) as refused:
        module(f"ret; // wmma-emu: ignore[{TITLE}] x")(np.zeros(1, np.uint32))
    assert is_plain(str(refused.value))
