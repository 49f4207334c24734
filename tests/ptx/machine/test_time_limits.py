# SPDX-License-Identifier: MIT
"""max_seconds is kept between the instructions of straight code and within those that take long: a clock of ours."""

from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_kernels import launch, numbers, text_of
from tests.ptx.texts_of_launches import VPRINTF
from wmma_emu.errors import LaunchLimitError, OptionError
from wmma_emu.ptx.machine import limits
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.pages import zeroed


class _Clock:
    """A clock that advances by one second each time that it is read."""

    def __init__(self):
        self.seconds = 0

    def __call__(self):
        self.seconds += 1
        return self.seconds


@pytest.fixture
def clock(monkeypatch):
    ours = _Clock()
    monkeypatch.setattr(limits, "_clock", ours)
    return ours


def test_straight_line_code_is_stopped_at_the_instruction_at_which_the_time_limit_is_reached(clock):
    x = numbers()
    with pytest.raises(LaunchLimitError, match=r"more than 260 seconds \(max_seconds\); block \(0, 0, 0\): warp 0"):
        launch("st.global.u32 [%rd1], %r0;\n" + "add.u32 %r2, %r0, %r1;\n" * 200, x, max_seconds=260, machine="numpy")
    assert 260 < clock.seconds < 270
    assert x.tolist() == numbers().tolist()


def test_a_launch_within_its_limit_is_not_stopped(clock):
    launch("add.u32 %r2, %r0, %r1;\n" * 200, numbers(), max_seconds=1000, machine="numpy")
    assert 400 < clock.seconds < 1000


@pytest.mark.parametrize(("fmt", "argument"), [("%d" * 80, "%rd4"), ("%s", "%rd3")], ids=["fields", "letters"])
def test_one_call_of_printf_is_stopped_at_the_time_limit(clock, monkeypatch, fmt, argument):
    loads, load = [], WaveMemory.load
    monkeypatch.setattr(WaveMemory, "load", lambda *given, **more: (loads.append(1), load(*given, **more))[1])
    letters = ", ".join(map(str, fmt.encode() + b"\0"))
    long = ", ".join(["65"] * 500 + ["0"])
    before = f"{VPRINTF}\n.global .align 8 .b8 fmt[] = {{{letters}}};\n.global .align 8 .b8 long[] = {{{long}}};\n"
    body = f"""
    .local .align 8 .b8 buffer[512];
    mov.u64 %rd2, fmt; cvta.global.u64 %rd2, %rd2; mov.u64 %rd3, long; cvta.global.u64 %rd3, %rd3; mov.u64 %rd4, 7;
    st.local.u64 [buffer], {argument}; mov.u64 %rd5, buffer; cvta.local.u64 %rd5, %rd5;
    {{ .param .b64 p0; .param .b64 p1; .param .b32 q; st.param.b64 [p0], %rd2; st.param.b64 [p1], %rd5;
    call.uni (q), vprintf, (p0, p1); }}"""
    with pytest.raises(LaunchLimitError, match=r"more than 250 seconds"):
        launch(body, numbers(), before=before, max_seconds=250)
    assert 250 < clock.seconds < 260
    assert len(loads) < 250


def test_one_word_of_large_local_memory_takes_one_small_page_a_thread():
    status = Path("/proc/self/statm")
    if not status.exists():
        pytest.skip("needs /proc/self/statm, for the resident memory")

    def resident():
        return int(status.read_text().split()[1]) * 4096

    before, array = resident(), zeroed(1 << 29)
    array[:: 1 << 19] = 1
    assert resident() - before < 1 << 26
    assert int(np.count_nonzero(array[:: 1 << 18])) == 1 << 10


def test_the_compilation_counts_and_is_stopped_too(clock):
    body = "st.global.u32 [%rd1], 1;\n" + "add.u32 %r2, %r0, %r1;\n" * 200
    x = numbers()
    with pytest.raises(LaunchLimitError, match=r"the compilation of k, which has 20\d instructions, took more than 50"):
        launch(body + "ret;", x, max_seconds=50)
    assert clock.seconds < 55 and not x.any()
    with pytest.raises(LaunchLimitError, match=r"k: the launch took more than 300 seconds"):
        launch(body + "ret;", x, max_seconds=300, machine="numpy")
    assert not x.any()


def test_a_kernel_is_compiled_once_and_a_later_launch_has_all_its_time(clock):
    kernel = we.ptx.Module(text_of("add.u32 %r2, %r0, %r1;\n" * 100 + "ret;"), findings="report")["k"]
    first = kernel[1, 32](numbers(), max_seconds=1000, machine="numpy")
    began = clock.seconds
    assert kernel[1, 32](numbers(), max_seconds=150).completed and first.completed
    assert clock.seconds - began < 150


@pytest.mark.parametrize("seconds", [0, -1, "1", True, float("nan")])
def test_an_illegal_time_limit_is_refused_as_an_option(seconds):
    with pytest.raises(OptionError, match="max_seconds="):
        launch("ret;", numbers(), max_seconds=seconds)


def test_the_error_of_a_limit_has_the_findings_until_then():
    body = "st.global.u32 [%rd1], %r0;\nL: add.u32 %r2, %r2, 1;\nbra L;"
    with pytest.raises(LaunchLimitError, match=r"findings until then: k: 1 error\nerror: race on") as caught:
        launch(body, numbers(), block=64, max_steps=1000)
    (finding,) = caught.value.report.findings
    assert (finding.kind, caught.value.report.completed) == ("race", False)
