# SPDX-License-Identifier: MIT
"""The output of kernels on standard output: once per launch, with escapes, also if the launch fails."""

import io
import sys

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.launch.test_printing import kernel
from tests.ptx.texts_of_launches import entry
from wmma_emu.errors import LaunchLimitError, OptionError
from wmma_emu.ptx.launch.calls import echo

ASSERTS = entry(
    ".param .u64 out",
    """
    .reg .b64 %a; .reg .b64 %f;
    mov.u64 %a, text; cvta.global.u64 %a, %a; mov.u64 %f, file; cvta.global.u64 %f, %f;
    { .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 c;
    st.param.b64 [m], %a; st.param.b64 [f], %f; st.param.b32 [l], 7; st.param.b64 [n], %f; st.param.b64 [c], 1;
    call.uni __assertfail, (m, f, l, n, c); }
    ret;""",
    before=""".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);
.global .align 1 .b8 text[6] = {120, 32, 62, 32, 51, 0};
.global .align 1 .b8 file[4] = {107, 46, 99, 0};""",
)


def launch(text, **options):
    return we.ptx.Module(text, **options).kernel[1, 2](np.zeros(2, np.uint32))


@pytest.mark.parametrize("schedules", [1, 3])
def test_the_output_of_a_kernel_is_printed_once(capsys, schedules):
    report = launch(kernel("one\t1\n", ""), echo=True, schedules=schedules)
    assert capsys.readouterr().out == "one\t1\n" * 2 == report.output


def test_without_the_option_the_output_is_only_in_the_report(capsys):
    assert launch(kernel("one\n", "")).output == "one\n" * 2
    assert capsys.readouterr().out == ""


def test_an_emulated_gpu_prints_by_default(capsys):
    from wmma_emu.ptx.launch.emulated_gpu import EmulatedGpu

    for options, printed in (({}, "one\n" * 2), ({"echo": False}, "")):
        EmulatedGpu().ptx(kernel("one\n", ""), **options).kernel[1, 2](np.zeros(2, np.uint32))
        assert capsys.readouterr().out == printed


def test_control_characters_are_escaped(capsys):
    launch(kernel("\x1b[2J\rtext\n", ""), echo=True)
    assert capsys.readouterr().out == "\\x1b[2J\\rtext\n" * 2


def test_a_failed_assertion_is_printed_as_a_gpu_does_for_the_first_thread(capsys):
    report = launch(ASSERTS, echo=True, findings="report")
    said = "k.c:7: k.c: block: [0,0,0], thread: [0,0,0] Assertion `x > 3` failed. (and 1 more thread)\n"
    assert capsys.readouterr().out == report.output == said


def test_a_launch_that_does_not_end_shows_its_output(capsys):
    with pytest.raises(LaunchLimitError) as caught:
        launch(kernel("about to spin\n", "", loops=1000), echo=True, max_steps=100)
    printed = capsys.readouterr().out
    assert set(printed.splitlines()) == {"about to spin"} and caught.value.output == printed


def test_characters_that_standard_output_cannot_encode_are_escaped(monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    echo("gr\u00f6\u00dfe\n")
    out.flush()
    assert out.buffer.getvalue() == b"gr\\xf6\\xdfe\n"


def test_missing_standard_output_is_not_an_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    echo("text")


def test_an_invalid_choice_is_rejected():
    with pytest.raises(OptionError, match="echo='yes' is neither True nor False"):
        launch(kernel("one\n", ""), echo="yes")
    with pytest.raises(OptionError, match="watch=7 is not a function"):
        launch(kernel("one\n", ""), watch=7)
    with pytest.raises(OptionError, match="observe=7 is not a function"):
        launch(kernel("one\n", ""), observe=7)
