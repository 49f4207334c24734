# SPDX-License-Identifier: MIT
"""Block scales on the command line: their positions, products with them, and rejected options."""

import csv
import io
import json

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.instructions import lookup
from wmma_emu.layouts import scale_map, scale_selectors_of

MXF4 = "m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"
MXF8 = "m16n8k32.kind::mxf8f6f4.block_scale.f32.e2m1.e3m2.f32.ue8m0"
SPARSE = "mma.sp::ordered_metadata.m16n8k128.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"


@pytest.mark.parametrize("instruction", [MXF4, MXF8, SPARSE])
@pytest.mark.parametrize("operand", ["a", "b"])
def test_a_list_has_every_scale_where_the_selectors_put_it(run, instruction, operand):
    row = lookup(instruction)
    legal = scale_selectors_of(row, operand)
    byte_id, thread_id = legal.byte_ids[-1], legal.thread_ids[-1]
    out = run("layout", instruction, "--operand", f"SCALE_{operand}", "--byte-id", str(byte_id),
              "--thread-id", str(thread_id), "--format", "csv").out  # fmt: skip
    found = scale_map(row, operand, byte_id, thread_id)
    rows = [{name: int(x) for name, x in line.items()} for line in csv.DictReader(io.StringIO(out))]
    assert len(rows) == found.lane.size
    for line in rows:
        block = line["col"] if operand == "a" else line["row"]
        assert found.locate(line["row"], line["col"]) == (line["lane"], line["bit_low"] // 8)
        assert (line["register"], line["bit_high"] - line["bit_low"]) == (0, 7)
        assert (line["k_first"], line["k_last"]) == (block * row.scale_block, (block + 1) * row.scale_block - 1)


def test_where_and_what_answer_of_scales_too(run):
    out = run("where", MXF4, "--operand", "scale_a", "--row", "9", "--col", "1").out
    assert out.splitlines()[-1].split() == ["5", "15:8", "9", "1", "32-63"]
    assert "16 x 2 (m x scales of a row) ue8m0; each applies to 32 columns of a row" in out
    held = json.loads(
        run("what", MXF4, "--operand", "scale_b", "--lane", "8", "--register", "0", "--format", "json").out
    )
    assert [(x["row"], x["col"]) for x in held] == [(0, 2), (1, 2)]
    assert "The instruction does not read this register." in run(
        "what", MXF4, "--operand", "scale_a", "--lane", "6", "--register", "0"
    ).out  # fmt: skip


def test_the_head_of_an_operand_says_where_its_scales_are_and_which_bits_count(run):
    out = " ".join(run("layout", MXF8, "--operand", "A", "--lane", "5").out.split())
    assert "a value is in bits 5:2 of its byte, the other bits are ignored" in out
    assert "scales ue8m0, one for 32 columns in each row: --operand scale_a" in out
    line = run("what", MXF8, "--operand", "B", "--lane", "5", "--register", "1").out.splitlines()[-1]
    assert line.split() == ["5", "1", "29:24", "x7", "23", "1"]
    found = json.loads(run("where", MXF8, "--operand", "A", "--row", "9", "--col", "6", "--format", "json").out)
    assert [(x["lane"], x["register"], x["bit_low"], x["bit_high"]) for x in found] == [(5, 1, 18, 21)]


@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
def test_gemm_and_explain_take_block_scales_from_files(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(3)
    a, b = draw.integers(0, 256, (16, 32), np.uint8), draw.integers(0, 256, (32, 8), np.uint8)  # two per byte along k
    scales = draw.integers(120, 134, (16, 2), np.uint8), draw.integers(120, 134, (2, 8), np.uint8)
    for name, matrix in zip(("a", "b", "sa", "sb"), (a, b, *scales), strict=True):
        np.save(f"{name}.npy", matrix)
    words = ["a.npy", "b.npy", "--a-format", "e2m1", "--b-format", "e2m1", "--instr", MXF4, "--arch", "sm_120",
             "--scale-a", "sa.npy", "--scale-b", "sb.npy"]  # fmt: skip
    assert run("gemm", *words, "-o", "d.npy", "--model", "F=36").status == 0
    wanted = we.gemm(a, b, instr=MXF4, arch="sm_120", a_format="e2m1", b_format="e2m1", scale_a=scales[0],
                     scale_b=scales[1], model="F=36")  # fmt: skip
    assert (np.load("d.npy").view(np.uint32) == wanted.view(np.uint32)).all()
    out = run("explain", *words, "--row", "3", "--col", "5").out
    assert f"D[3, 5] = {int(wanted[3, 5].view(np.uint32)):#010x}" in out and "block scales (ue8m0)" in out
    chips = ["sm_120,sm_121" if x == "sm_120" else "--archs" if x == "--arch" else x for x in words]
    assert "sm_121" in run("compare", *chips, "--format", "json").out
    outcome = run("gemm", *words[:-4], "-o", "e.npy")
    assert outcome.status == 2 and "--scale-a and --scale-b are missing" in outcome.err


@pytest.mark.parametrize(("words", "message"), [
    (["layout", MXF4, "--operand", "scale_a", "--format", "svg"], "--format 'svg' is not one of table, csv, json"),
    (["layout", MXF4, "--operand", "A", "--byte-id", "0"], "--byte-id chooses among block scales; add --operand"),
    (["layout", MXF4, "--operand", "scale_a", "--byte-id", "1"], "--byte-id '1' is not one of 0, 2, which m16n8k64"),
    (["layout", MXF4, "--operand", "scale_b", "--thread-id", "x"], "--thread-id 'x' is not one of 0, 1, 2, 3, which"),
    (["layout", MXF4, "--operand", "scale_a", "--register", "0"], "--register: block scales take only one register "
        "per lane"),
    (["layout", MXF4, "--operand", "scale_a", "--view", "matrix"], "--view does not apply to block scales; omit it"),
    (["layout", "m16n8k16.f32.f16.f16.f32", "--operand", "scale_a"], "has no block scales; instructions with"),
    (["where", MXF4, "--operand", "scale_b", "--row", "2", "--col", "0"], "--row 2: scale_b has 2 rows; legal"),
    (["what", MXF4, "--operand", "scale_b", "--lane", "32", "--register", "0"], "--lane 32: a warp has 32 lanes"),
    (["layout", "tcgen05.mma.cta_group::1.kind::f16.m128n64k16.f32.f16.f16", "--operand", "A"],
     "has its operands in tensor memory and in shared memory, not in registers of lanes"),
])  # fmt: skip
def test_what_block_scales_do_not_have_is_refused(run, words, message):
    status, out, err = run(*words)
    assert (status, out) == (2, "") and message in err
