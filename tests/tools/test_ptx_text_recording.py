# SPDX-License-Identifier: MIT
"""Recordings of kernels as text: what differs is shown and recorded all the same, and other cases are refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tools.ptx_text_recording import NAME, TextCase, emulated, load, record, results_of, samples
from tools.recordings import digest
from wmma_emu.errors import KernelFindingsError

TEXT = f""".visible .entry {NAME}(.param .u64 a, .param .u64 out) {{ .reg .b64 %a<3>; .reg .b32 %r<3>;
    mov.u32 %r0, %tid.x; mul.wide.u32 %a0, %r0, 4; ld.param.u64 %a1, [a]; add.s64 %a1, %a1, %a0;
    ld.param.u64 %a2, [out]; add.s64 %a2, %a2, %a0; ld.global.b32 %r1, [%a1]; not.b32 %r2, %r1;
    st.global.b32 [%a2], %r2; st.global.b32 [%a2+256], %r1; ret; }}
"""
CASE = TextCase(("not", "copy"), TEXT, (np.arange(64, dtype=np.uint32),), 64, "u4", 1, 64)


def measured(*changes):
    def measure(cases):
        results = [emulated(x) for x in cases]
        for row, place in changes:
            results[0][row, place] ^= 1
        return {"gpu": "none", "driver": "0"}, results

    return measure


def test_a_kernel_is_emulated_and_its_rows_are_recorded(tmp_path, capsys):
    path = tmp_path / "x.npz"
    assert record("", "x", [CASE], "rows", ["--out", str(path)], measure=measured()) == 0
    assert "2 rows, 0 differ" in capsys.readouterr().out
    entry = json.loads((tmp_path / "sources.json").read_text())["x.npz"]
    assert (entry["gpu"], entry["contents"]) == ("none", "rows")
    copy = CASE.inputs[0]
    assert load(path, [CASE]) == {x: (digest(y), samples(y).tobytes()) for x, y in (("not", ~copy), ("copy", copy))}


def test_what_differs_is_shown_and_recorded_and_what_the_emulator_leaves_out_is_not_compared(tmp_path, capsys):
    def only_not(case):
        return {"not": results_of(case)["not"]}

    path, all_results = tmp_path / "x.npz", tmp_path / "differing.npz"
    arguments = ["--out", str(path), "--differing", str(all_results)]
    assert record("", "x", [CASE], "rows", arguments, only_not, measured((0, 5), (1, 6))) == 1
    shown = capsys.readouterr().out
    assert "not: 1 of 64 differ: [5] GPU 0xfffffffb, emulator 0xfffffffa" in shown and "copy" not in shown
    with np.load(all_results) as file:
        assert list(file) == ["not"]
    assert record("", "x", [CASE], "rows", arguments[:2], only_not, measured((1, 6))) == 0


def test_equal_rows_share_their_samples(tmp_path):
    same = replace(CASE, text=TEXT.replace("not.b32", "mov.b32"))
    record("", "x", [same], "rows", ["--out", str(tmp_path / "x.npz")], measure=measured())
    with np.load(tmp_path / "x.npz") as file:
        assert file["samples"].size == samples(CASE.inputs[0]).nbytes
    one, other = load(tmp_path / "x.npz", [same]).values()
    assert one == other


def test_a_recording_of_other_kernels_or_inputs_is_refused(tmp_path):
    path = tmp_path / "x.npz"
    record("", "x", [CASE], "rows", ["--out", str(path)], measure=measured())
    for other in (replace(CASE, text=TEXT.replace("not", "neg")), replace(CASE, inputs=(CASE.inputs[0] + 1,))):
        with pytest.raises(ValueError, match="no longer those of the recording"):
            load(path, [other])


def test_a_kernel_with_findings_is_rejected():
    with pytest.raises(KernelFindingsError):
        emulated(replace(CASE, inputs=(CASE.inputs[0][:60],)))
