# SPDX-License-Identifier: MIT
"""From a mnemonic to its row: every spelling that is meant to work, and the defaults."""

import pytest

from tests.representatives import FAMILIES, REPRESENTATIVES
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import (
    ARCHS,
    INSTRUCTIONS,
    Instruction,
    default_instruction,
    instructions_of,
    lookup,
)

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def spellings(row: Instruction) -> list[str]:
    name = row.mnemonic
    found = [
        name, name.upper(), f"  {name} ;\n", name.replace(".aligned", ""), name.replace(".sync.aligned", ""),
        row.short_mnemonic, row.short_mnemonic.upper() + ";", name.replace(".mma_async", ""),
    ]  # fmt: skip
    if row.family == "mma.sync":
        found += [name.removeprefix("mma.sync."), name.removeprefix("mma.sync.aligned.")]
    if (row.a_layout, row.b_layout) == ("row", "col"):
        found += [x.replace(".row.col", "").replace(".ROW.COL", "") for x in found]
    for modifier in row.modifiers:
        without = name.replace(f".{modifier}", "", 1)
        found += [f"{without}.{modifier}", without.replace(f".{row.shape}", f".{modifier}.{row.shape}")]
        found += [without.replace(f".{row.shape}", f".{row.shape}.{modifier}")]
        found += [without.replace(".sync", f".{modifier}.sync")]
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_every_spelling_of_a_row_finds_it(family: str):
    for row in instructions_of(family=family):
        for text in spellings(row):
            assert lookup(text) is row, text


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("chip", ARCHS)
def test_a_row_is_found_on_its_chips_and_refused_on_the_others(chip: str):
    for name, row in REPRESENTATIVES.items():
        if chip in row.archs:
            assert lookup(name, chip) is row
            assert lookup(row, ARCHS[chip]) is row
        else:
            for given in (name, row):
                with pytest.raises(UnsupportedInstructionError, match=f"that supports? it (is|are) {row.archs[0]}"):
                    lookup(given, chip)


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("m16n8k16.f32.f16.f16.f32", F16),
        ("wmma.mma.m16n16k16.f32.f32", "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"),
        ("wmma.mma.col.row.m16n16k16.f32.f16", "wmma.mma.sync.aligned.col.row.m16n16k16.f32.f16"),
        ("m8n8k4.f32.f16.f16.f32", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"),
        ("m8n8k4.col.col.f32.f16.f16.f32", "mma.sync.aligned.m8n8k4.col.col.f32.f16.f16.f32"),
        ("m8n8k4.rz.f64.f64.f64.f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64.rz"),
        ("m8n8k16.s32.s8.u8.s32.satfinite", "mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.u8.s32"),
        ("mma.xor.popc.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32",
         "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc"),
        ("wmma.mma.m8n8k128.s32.b1.b1.s32.and.popc",
         "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"),
        ("mma.sp.m16n8k32.f32.f16.f16.f32", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"),
        ("mma.sp::ordered_metadata.m16n8k64.s32.s8.u8.s32.satfinite",
         "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.satfinite.s32.s8.u8.s32"),
        ("wgmma.m64n8k16.f32.f16.f16", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"),
        ("wgmma.mma_async.m64n24k256.s32.b1.b1.and.popc",
         "wgmma.mma_async.sync.aligned.m64n24k256.s32.b1.b1.and.popc"),
        ("wgmma.sp.m64n256k64.satfinite.s32.s8.u8",
         "wgmma.mma_async.sp.sync.aligned.m64n256k64.s32.s8.u8.satfinite"),
        ("m16n8k32.f32.e4m3.e5m2.f32.kind::f8f6f4",
         "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e5m2.f32"),
        ("m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0",
         "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0"),
        ("m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
         "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"),
        ("mma.sp::ordered_metadata.m16n8k128.scale_vec::4x.f32.e2m1.e2m1.f32.ue4m3.block_scale.kind::mxf4nvf4",
         "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1."
         "f32.ue4m3"),
    ],
)  # fmt: skip
def test_what_may_be_left_out_or_moved(short: str, full: str):
    assert lookup(short).mnemonic == full


def test_filters_combine_and_keep_the_order_of_the_table():
    assert instructions_of() == tuple(INSTRUCTIONS.values())
    rows = instructions_of("h200", family="mma.sync", shape="m16n8k16", a="f16")
    assert [row.d for row in rows] == ["f32", "f16"]
    assert instructions_of("sm_72", a="s8") == instructions_of("sm_72", family="wmma.mma", b="s8", c="s32", d="s32")
    assert instructions_of("sm_100", a="e2m1") == instructions_of(a="ue8m0") == ()
    for chip in ARCHS:
        assert instructions_of(chip) == tuple(row for row in INSTRUCTIONS.values() if chip in row.archs)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            {"family": "tcgen05"},
            "there is no family 'tcgen05'; there is mma.sync, wmma.mma, mma.sp, "
            "mma.sp::ordered_metadata, wgmma, wgmma.sp",
        ),
        ({"shape": "m16n8k17"}, "there is no shape 'm16n8k17'; there is m8n8k4, "),
        ({"shape": 16}, "there is no shape 16"),
        ({"a": "f17"}, "there is no format 'f17'"),
        ({"arch": "sm_87"}, "sm_86"),
    ],
)
def test_a_filter_that_nothing_can_pass_is_an_error(question: dict[str, object], answer: str):
    with pytest.raises(UnsupportedInstructionError) as caught:
        instructions_of(**question)  # type: ignore[arg-type]
    assert answer in str(caught.value)


DEFAULTS = {
    "f16": {"sm_70": "m8n8k4", "sm_75": "m16n8k8", "sm_80": "m16n8k16"},
    "bf16": {"sm_80": "m16n8k16"},
    "tf32": {"sm_80": "m16n8k8"},
    "f64": {"sm_80": "m8n8k4", "sm_90": "m16n8k16"},
    "e4m3": {"sm_89": "m16n8k32"},
    "e5m2": {"sm_89": "m16n8k32"},
    "e3m2": {"sm_120": "m16n8k32"},
    "e2m1": {"sm_120": "m16n8k32"},
    "s8": {"sm_75": "m8n8k16", "sm_80": "m16n8k32"},
    "u8": {"sm_75": "m8n8k16", "sm_80": "m16n8k32"},
    "s4": {"sm_75": "m8n8k32", "sm_80": "m16n8k64"},
    "u4": {"sm_75": "m8n8k32", "sm_80": "m16n8k64"},
    "b1": {"sm_75": "m8n8k128", "sm_80": "m16n8k256"},
}
WIDEST = {"f64": "f64", "b1": "s32", "s8": "s32", "u8": "s32", "s4": "s32", "u4": "s32"}


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_default_is_the_widest_k_with_the_widest_accumulator(name: str):
    shape = None
    for chip in ARCHS:
        shape = DEFAULTS[name].get(chip, shape)
        if shape is None:
            with pytest.raises(UnsupportedInstructionError, match="the first chip that has one is"):
                default_instruction(name, name, chip)
            continue
        row = default_instruction(name, name, chip)
        accumulator = WIDEST.get(name, "f32")
        modifiers = {"b1": ("xor.popc",), "e3m2": ("kind::f8f6f4",), "e2m1": ("kind::f8f6f4",)}.get(name, ())
        assert (row.family, row.shape, row.d, row.a, row.b, row.c) == (
            "mma.sync", shape, accumulator, name, name, accumulator)  # fmt: skip
        assert (row.modifiers, row.a_layout, row.b_layout) == (modifiers, "row", "col")
        assert chip in row.archs


def test_operands_that_may_be_mixed_have_a_default():
    for a, b in (("e4m3", "e5m2"), ("u8", "s8"), ("s4", "u4")):
        row = default_instruction(a, b, "sm_90")
        assert (row.a, row.b) == (a, b)
    row = default_instruction("e4m3", "e2m1", "sm_121")
    assert row.short_mnemonic == "m16n8k32.kind::f8f6f4.f32.e4m3.e2m1.f32"


@pytest.mark.parametrize(
    ("a", "b", "chip", "message"),
    [
        ("f32", "f32", "sm_90", "precision 'highest'), which is instr='fma.f32'; after "
         "torch.set_float32_matmul_precision('high') it is TF32 on tensor cores, which is "
         "instr='m16n8k8.f32.tf32.tf32.f32' and reads 19 of the 32 bits"),
        ("f32", "f32", "sm_70", "precision 'highest'), which is instr='fma.f32'; sm_70 has no TF32"),
        ("f32", "f16", "sm_90", "no instruction multiplies f32 by f16; bring both matrices to one format"),
        ("s8", "f16", "sm_90", "no mma.sync multiplies s8 times f16; s8 multiplies s8 or u8"),
        ("e2m1", "e3m2", "sm_100", "sm_100 has no mma.sync that multiplies e2m1 times e3m2; the first chip that has "
         "one is sm_120"),
        ("ue8m0", "ue8m0", "sm_120", "ue8m0 multiplies nothing in any instruction of the table"),
        ("e4m3", "e4m3", "a100",
         "sm_80 has no mma.sync that multiplies e4m3 times e4m3; the first chip that has one is sm_89"),
        ("s8", "s8", "xavier",
         "the first chip that has one is sm_75; on sm_72 name instr='wmma.mma.m16n16k16.s32.s8.s8.s32'"),
        ("f17", "f16", "sm_90", "there is no format 'f17'"),
    ],
)  # fmt: skip
def test_no_default_says_what_to_do(a: str, b: str, chip: str, message: str):
    with pytest.raises(UnsupportedInstructionError) as caught:
        default_instruction(a, b, chip)
    assert message in str(caught.value)
