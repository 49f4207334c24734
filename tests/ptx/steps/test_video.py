# SPDX-License-Identifier: MIT
"""Video instructions compared with a GPU and with results by hand; where the GPU differs from the manual they are
refused."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import HEAD
from tools.ptx_text_recording import load, samples
from tools.ptx_video_cases import emulated_rows, operands_of, spellings, video_cases
from tools.recordings import digest
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.steps.values import ALL_VIDEO_ENTRIES

RECORDING = Path(__file__).parents[2] / "data" / "sm90_ptx_video.npz"


@cache
def cases():
    return list(video_cases())


@cache
def recording():
    return load(RECORDING, cases())


def run(opcode, *sources):
    """Return the result of an instruction on numbers."""
    moves = " ".join(f"mov.b32 %s{i}, {x:#x};" for i, x in enumerate(sources))
    operands = ", ".join(f"%s{i}" for i in range(len(sources)))
    text = f""".entry k(.param .u64 out) {{ .reg .b64 %a; .reg .b32 %r; .reg .b32 %s<4>;
        ld.param.u64 %a, [out]; {moves} {opcode} %r, {operands}; st.global.b32 [%a], %r; ret; }}"""
    out = np.zeros(1, np.uint32)
    we.ptx.Module(HEAD + text)["k"][1, 1](out)
    return int(out[0])


@pytest.mark.vectors
@pytest.mark.parametrize("group", range(2))
def test_video_instructions_match_the_gpu(group):
    for case in cases()[group::2]:
        for row, results in emulated_rows(case).items():
            assert samples(results).tobytes() == recording()[row][1], row
            assert digest(results) == recording()[row][0], row


def test_every_entry_is_recorded():
    assert set(ALL_VIDEO_ENTRIES) <= set(recording())


@pytest.mark.parametrize(
    ("opcode", "sources", "result"),
    [
        ("vabsdiff4.u32.u32.u32", (0x01FF8003, 0xFF01FF01, 0), 0xFEFE7F02),
        ("vabsdiff4.u32.u32.u32.add", (0x01FF8003, 0xFF01FF01, 5), 0xFE + 0xFE + 0x7F + 0x02 + 5),
        ("vadd4.s32.u32.s32.sat", (0x01FF8003, 0xFF01FF01, 0), 0x007F7F04),
        ("vadd4.u32.u32.u32", (0x01FF8003, 0xFF01FF01, 0), 0x00007F04),
        ("vsub2.s32.s32.s32.sat", (0x8000_0005, 0x0001_0007, 0), 0x8000_FFFE),
        ("vavrg2.s32.s32.s32", (0xFFFE_0002, 0xFFFF_0003, 0), 0xFFFE_0003),
        ("vset4.u32.s32.lt", (0x80_01_FF_00, 0x80_80_01_00, 7), 0x00_00_00_00),
        ("vset4.s32.s32.lt.add", (0x80_01_FF_00, 0x80_80_01_00, 7), 8),
        ("vadd.s32.u32.u32.sat", (0xFFFFFFFF, 1), 0x7FFFFFFF),
        ("vshl.u32.u32.u32.clamp", (1, 40), 0),
        ("vshl.u32.u32.u32.wrap.add", (1, 40, 1), 0x101),
        ("vmad.u32.u32.u32.po", (3, 5, 1), 17),
    ],
)
def test_results_computed_by_hand(opcode, sources, result):
    assert len(sources) == operands_of(opcode)
    assert run(opcode, *sources) == result


def test_instructions_on_which_gpu_and_manual_differ_are_refused():
    refused = [x for x in spellings() if x not in ALL_VIDEO_ENTRIES]
    assert {x.split(".")[0] for x in refused} == set("vadd vsub vabsdiff vmin vmax vshl vshr vset vmad".split())
    for opcode in ("vadd.u32.u32.u32.sat", "vmin.s32.s32.s32.max", "vmad.s32.u32.u32.shr7"):
        assert opcode in refused
        with pytest.raises(UnsupportedInstructionError, match="results of an NVIDIA H200 differ from the PTX ISA"):
            run(opcode, *range(operands_of(opcode)))


def test_a_kernel_with_parts_of_registers_is_refused():
    text = ".entry k() { .reg .b32 %r<3>; vadd.u32.u32.u32 %r0, %r1.b0, %r2.h1; } .entry l() { ret; }"
    module = we.ptx.Module(HEAD + text)
    assert module["l"].compiled.missing == ()
    (missing,) = module["k"].compiled.missing
    assert (missing.opcode, missing.line) == ("vadd.u32.u32.u32", 4) and "%r1.b0 selects a part" in missing.reason
