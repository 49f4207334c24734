# SPDX-License-Identifier: MIT
"""Shapes that no chip has, of every family, each a row of one file: everything works, and says that it is inferred."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wmma_emu.instructions import lookup

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[1]
END = ')  # fmt: skip\n"""The entries, '
"""The end of the table of instructions."""

SHAPES = {
    'Group("mma.sync", "sm_80", "m16n8k32", _F16, code="1x HMMA.{mnk}.{D}")': "m16n8k32.f32.f16.f16.f32",
    'Group("mma.sync", "sm_80", "m16n8k16", _TF32, code="1x HMMA.{mnk}.F32.TF32")': "m16n8k16.f32.tf32.tf32.f32",
    'Group("mma.sync", "sm_89", "m16n8k64", _FP8, code=NARROW, ptx=_PTX_FP8)':
        "m16n8k64.f32.e4m3.e5m2.f32 m16n8k64.f16.e5m2.e5m2.f16",
    'Group("mma.sync", "sm_120", "m16n8k64", _WITH_FP6_FP4, ("kind::f8f6f4",), code=NARROW, ptx=_PTX_KINDS)':
        "m16n8k64.kind::f8f6f4.f32.e4m3.e2m1.f32 m16n8k64.kind::f8f6f4.f16.e3m2.e5m2.f16",
    '*_block_scaled("mma.sync", "m16n8k128", "m16n8k128", NARROW)':
        "m16n8k128.kind::mxf8f6f4.block_scale.f32.e4m3.e3m2.f32.ue8m0 "
        "m16n8k128.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
    'Group("mma.sync", "sm_90", "m16n8k32", _F64, _ROUNDED, code=F64_TILES)': "m16n8k32.f64.f64.f64.f64.rz",
    'Group("mma.sync", "sm_75", "m8n8k32", _INT8, _SATURATE, code=INT8_OF_8_ROWS)': "m8n8k32.s32.s8.u8.s32.satfinite",
    'Group("mma.sync", "sm_80", "m16n8k128", _INT4, _SATURATE, code=INT4)': "m16n8k128.s32.s4.u4.s32",
    'Group("mma.sync", "sm_80", "m16n8k512", _B1, ("xor.popc", "and.popc"), code=BITS)':
        "m16n8k512.s32.b1.b1.s32.and.popc m16n8k512.s32.b1.b1.s32.xor.popc",
    'Group("wmma.mma", "sm_75", "m16n32k16", _F16_ANY, layouts=_ANY, code=WMMA_F16)':
        "wmma.mma.col.row.m16n32k16.f32.f16",
    'Group("wmma.mma", "sm_80", "m16n16k32", _BF16, layouts=_ANY, code=WMMA_BF16)':
        "wmma.mma.m16n16k32.f32.bf16.bf16.f32",
    'Group("wmma.mma", "sm_80", "m16n32k8", _TF32, layouts=_ANY, code=WMMA_TF32)':
        "wmma.mma.m16n32k8.f32.tf32.tf32.f32",
    'Group("wmma.mma", "sm_80", "m8n8k8", _F64, _ROUNDED, _ANY, code=F64)': "wmma.mma.m8n8k8.f64.f64.f64.f64",
    'Group("wmma.mma", "sm_72", "m16n16k32", _INT8, _SATURATE, _ANY, code=WMMA_INT8)':
        "wmma.mma.m16n16k32.s32.s8.s8.s32",
    'Group("wmma.mma", "sm_75", "m8n8k64", _INT4, _SATURATE, code=INT4)': "wmma.mma.m8n8k64.s32.u4.u4.s32",
    'Group("wmma.mma", "sm_80", "m8n8k256", _B1, ("and.popc",), code=BITS)': "wmma.mma.m8n8k256.s32.b1.b1.s32.and.popc",
    'Group("mma.sp", "sm_80", "m16n8k64", _F16, code="1x HMMA.SP.{mnk}.{D}")': "mma.sp.m16n8k64.f32.f16.f16.f32",
    'Group("mma.sp", "sm_89", "m16n8k32", _FP8_F32, code=SPARSE_NARROW, ptx=_PTX_FP8)':
        "mma.sp.m16n8k32.f32.e4m3.e5m2.f32",
    'Group("mma.sp::ordered_metadata", "sm_80", "m16n16k64", _INT8, _SATURATE, code=INT8)':
        "mma.sp::ordered_metadata.m16n16k64.s32.s8.s8.s32",
    'Group("mma.sp", "sm_80", "m16n16k128", _INT4, _SATURATE, code=INT4)': "mma.sp.m16n16k128.s32.s4.s4.s32",
    'Group("mma.sp::ordered_metadata", "sm_120", "m16n8k32", _WITH_FP6_FP4, ("kind::f8f6f4",), code=SPARSE_NARROW)':
        "mma.sp::ordered_metadata.m16n8k32.kind::f8f6f4.f32.e3m2.e2m1.f32",
    '*_block_scaled("mma.sp::ordered_metadata", "m16n8k32", "m16n8k64", SPARSE_NARROW)':
        "mma.sp::ordered_metadata.m16n8k32.kind::mxf8f6f4.block_scale.f32.e3m2.e2m1.f32.ue8m0 "
        "mma.sp::ordered_metadata.m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
    '_warpgroup("wgmma", _EIGHTS, 64, _F16, "1x HGMMA.{m}x{n}x{k}.{D}")': "wgmma.m64n24k64.f32.f16.f16",
    '_warpgroup("wgmma", _EIGHTS, 128, _FP8, "1x QGMMA.{m}x{n}x{k}.{D}.{A}.{B}")': "wgmma.m64n16k128.f16.e4m3.e5m2",
    '_warpgroup("wgmma", _SIXTEENS, 128, _INT8, "1x IGMMA.{m}x{n}x{k}.{A}.{B}")': "wgmma.m64n8k128.s32.s8.u8",
    '_warpgroup("wgmma", _SIXTEENS, 512, _B1, "1x BGMMA.{m}x{n}x{k}.AND.POPC", ("and.popc",))':
        "wgmma.m64n32k512.s32.b1.b1.and.popc",
    '_warpgroup("wgmma.sp", _EIGHTS, 64, _BF16, "1x HGMMA.SP.{m}x{n}x{k}.F32.BF16")': "wgmma.sp.m64n8k64.f32.bf16.bf16",
}  # fmt: skip
"""Rows, and instructions that they mean."""

NAMES = [name for names in SHAPES.values() for name in names.split()]

CODE = {
    ("m16n8k64.f32.e4m3.e5m2.f32", "sm_89"): "1x QMMA.16864.F32.E4M3.E5M2",
    ("m16n8k64.f32.e4m3.e5m2.f32", "sm_90"): "2x HMMA.16832.F32",
    ("m16n8k32.f64.f64.f64.f64.rz", "sm_90"): "1x DMMA.16x8x32.RZ",
    ("m16n8k32.f64.f64.f64.f64.rz", "sm_100"): "16x DMMA.8x8x4.RZ",
    ("m16n8k128.s32.s4.u4.s32", "sm_121"): "2x IMMA.16864.S8.U8",
    ("m16n8k512.s32.b1.b1.s32.and.popc", "sm_100"): "16x IMMA.16832.U8.U8",
    ("wmma.mma.col.row.m16n32k16.f32.f16", "sm_75"): "8x HMMA.1688.F32",
    ("wmma.mma.col.row.m16n32k16.f32.f16", "sm_90"): "4x HMMA.16816.F32",
    ("wmma.mma.m16n16k32.s32.s8.s8.s32", "sm_72"): "8x IMMA.8816.S8.S8",
    ("mma.sp.m16n16k128.s32.s4.s4.s32", "sm_90"): "2x IMMA.SP.161664.S8.S8",
    ("wgmma.m64n24k64.f32.f16.f16", "sm_90"): "1x HGMMA.64x24x64.F32",
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What the new instructions answer, in a copy of the package."""
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "wmma_emu", copy / "wmma_emu", ignore=shutil.ignore_patterns("__pycache__"))
    table = copy / "wmma_emu" / "instructions" / "table.py"
    text = table.read_text(encoding="utf-8")
    assert text.count(END) == 1
    table.write_text(text.replace(END, "".join(f"    {row},\n" for row in SHAPES) + END), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "fictional_shapes.py"), *NAMES],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(copy), str(ROOT), str(ROOT / "docs" / "_ext")))},
        cwd=copy, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


def test_no_chip_has_them():
    for name in NAMES:
        with pytest.raises(ValueError, match="there is no"):
            lookup(name)


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("name", NAMES)
def test_everything_of_a_new_shape_is_inferred(answers, name: str):
    for chip, found in answers[name]["chips"].items():
        assert set(found["statuses"]) == {"inferred"} and len(found["statuses"]) > 4, chip
    shown = answers[name]["shown"]
    better = ("(documented)", "(measured)", "(recorded)", "H200", "recordings", "accepts them")
    assert "(inferred)" in shown and not any(x in shown for x in better)


@pytest.mark.parametrize("name", NAMES)
def test_the_emulator_multiplies_it_on_every_chip_in_registers_as_in_matrices(answers, name: str):
    for chip, found in answers[name]["chips"].items():
        assert found["kernel"] and found["compared"] >= 300 and found["mismatches"] == 0, chip


@pytest.mark.parametrize("name", NAMES)
def test_pages_and_the_explorer_have_it(answers, name: str):
    assert answers[name]["page"] and answers[name]["explorer"] and answers[name]["group"] != "other"


@pytest.mark.parametrize("name", NAMES)
def test_its_machine_instructions_have_an_order(answers, name: str):
    for chip, found in answers[name]["chips"].items():
        counts = [int(part.split("x ")[0]) for part in found["code"].split(" + ")]
        if ".xor" in name and found["code"] != "1x BMMA.168512.XOR.POPC":
            assert "has no schedule on" in found["schedule"][0], chip
        else:
            assert len(found["schedule"]) == sum(counts), chip


def test_machine_code_follows_the_shape(answers):
    assert {(name, chip): answers[name]["chips"][chip]["code"] for name, chip in CODE} == CODE
