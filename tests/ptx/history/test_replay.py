# SPDX-License-Identifier: MIT
"""A launch is run again on its initial arrays, even if they have changed since."""

import copy
import pickle

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.history.histories import finding_of, launched, module, rows
from wmma_emu.ptx.history.recording_execution import RecordingExecution
from wmma_emu.ptx.history.recording_memory import RecordingMemory
from wmma_emu.ptx.launch.arguments import Argument
from wmma_emu.ptx.launch.kept_arrays import bytes_to_keep, keep
from wmma_emu.ptx.machine.wave_execution import WaveExecution
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.program.program import Parameter

SUMS = """
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 rounds = 1;
.visible .entry sums(.param .u64 x, .param .u64 y)
{
    .reg .b32 %r<4>; .reg .b64 %a<4>;
    ld.param.u64 %a0, [x];
    ld.param.u64 %a1, [y];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %a2, %r0, 4;
    add.s64 %a2, %a0, %a2;
    ld.global.u32 %r1, [rounds];
    ld.global.u32 %r2, [%a2];
    add.u32 %r2, %r2, %r1;
    st.global.u32 [%a2], %r2;
    st.global.u32 [rounds], %r2;
    st.global.u32 [%a1], %r2;
    ret;
}"""


def sums():
    return we.ptx.Module(SUMS, arch="sm_90", findings="report")["sums"]


def finding_at(report, text):
    return next(x for x in report.findings if text in x.text or any(text in y.text for y in x.sightings))


def written_to(finding):
    return [x.bits for x in finding.explain().events if x.what in ("writes", "updates")]


def test_later_changes_of_the_arrays_do_not_affect_a_replay():
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    finding = next(f for f in launched("reversed", x, y).findings if f.kind == "race")
    before = rows(finding.explain())
    x[:], y[:] = -1, -1
    assert rows(finding.explain()) == before
    assert (x == -1).all()
    assert (y == -1).all()


def test_variables_of_the_module_are_as_they_were_and_stay():
    kernel = sums()
    x, y = np.full(64, 16, np.uint32), np.zeros(1, np.uint32)
    report = kernel[1, 64](x, y)
    finding = finding_at(report, "[rounds]")
    left = kernel.module.variables.read("rounds").tobytes()
    first = written_to(finding)
    assert first[0] == "0x00000011"
    kernel[1, 64](x, y)
    assert written_to(finding) == first
    assert kernel.module.variables.read("rounds").tobytes() != left


def test_arrays_that_overlap_do_so_in_the_run_that_explains():
    x = np.arange(65, dtype=np.uint32)
    report = sums()[1, 64](x[:64], x[63:])
    finding = finding_at(report, "[%a1]")
    history = finding.explain()
    assert history.is_replayed
    assert {e.text for e in history.events if e.is_access} == {
        "ld.global.u32 %r2, [%a2];", "st.global.u32 [%a2], %r2;", "st.global.u32 [%a1], %r2;",
    }  # fmt: skip


def test_copies_of_arrays_have_their_strides_their_alignment_and_their_flags():
    parameter = Parameter("p", "u64", 8, 8, 0)
    x = np.arange(24, dtype=np.float64).reshape(4, 6)
    part = x[1:3]
    part.flags.writeable = False
    given = [x, part, we.ptx.raw(x.T[::-1]), we.ptx.Struct(x[3], np.int32(7))]
    kept = keep([Argument(parameter, str(i), value) for i, value in enumerate(given)])
    one, two, three, four = (y.value for y in kept.values)
    assert bytes_to_keep([Argument(parameter, "x", x), Argument(parameter, "part", part)]) == x.nbytes
    assert not two.flags.writeable
    assert three.array.strides == x.T[::-1].strides
    one[...] = 5
    assert (two == 5).all()
    assert (three.array == 5).all()
    assert (four.fields[0] == 5).all()
    assert x[0, 1] == 1


def test_uninitialised_arrays_are_uninitialised_in_a_replay_too():
    values = we.ptx.empty(64, np.int32)
    values[:10] = 3
    report = launched("reversed", values, np.zeros(64, np.int32))
    finding = next(f for f in report.findings if f.kind == "uninitialised")
    values[:] = 1
    history = finding.explain()
    assert history.is_replayed
    assert [x.bits for x in history.events if x.what == "reads"][:1] == ["0xffffffff"]
    assert history.conclusion == ("No thread wrote these bytes.",)


def test_an_exception_has_findings_that_explain_themselves():
    with pytest.raises(we.KernelFindingsError) as caught:
        launched("reversed", findings="raise")
    assert len(caught.value.report.findings[0].explain().events) == 2


def test_a_finding_of_another_schedule_is_explained_in_it():
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    report = launched("reversed", x, y, schedule=5)
    history = next(f for f in report.findings if f.kind == "race").explain()
    assert history.is_replayed
    assert history.replayed == "The launch was run again for this with schedule=5, and reproduced the finding."


def test_too_many_bytes_are_not_kept_and_the_error_names_the_option_to_keep_them():
    finding = finding_of("reversed", keep_bytes=511)
    with pytest.raises(we.MemoryLimitError, match=r"have 512 bytes; at most 511 bytes are kept .* keep_bytes=512"):
        finding.explain()
    assert finding_of("reversed", keep_bytes=512).explain().is_replayed


@pytest.mark.parametrize("given", [-1, 1.5, True, "1"])
def test_bytes_to_keep_must_be_a_non_negative_integer(given):
    with pytest.raises(we.OptionError, match="keep_bytes"):
        launched("reversed", keep_bytes=given)


@pytest.mark.parametrize("send", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_finding_that_was_sent_elsewhere_says_that_nothing_is_kept(send):
    sent = send(finding_of("reversed"))
    with pytest.raises(we.WmmaEmuError, match="came from another process"):
        sent.explain()


def test_a_launch_without_a_recorder_has_the_plain_memory_and_execution(monkeypatch):
    made = []
    for kind in (WaveMemory, WaveExecution):
        monkeypatch.setattr(kind, "__init__", noted(made, kind.__init__))
    report = launched("reversed")
    assert set(made) == {WaveMemory, WaveExecution}
    made.clear()
    next(iter(report.findings)).explain()
    assert set(made) == {RecordingMemory, RecordingExecution}


def noted(made, begin):
    def init(self, *arguments):
        made.append(type(self))
        begin(self, *arguments)

    return init


def test_a_launch_without_findings_keeps_nothing(monkeypatch):
    kept = []
    monkeypatch.setattr("wmma_emu.ptx.launch.launching.kept_for_replay", lambda *x: kept.append(x))
    x = np.arange(100, dtype=np.float32)
    assert not module("bounds")["read_past_the_end"][1, 32](x, np.zeros(100, np.float32), 32).findings
    assert not kept
