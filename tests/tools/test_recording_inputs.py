# SPDX-License-Identifier: MIT
"""The inputs of recordings come out of a seed alike for ever: recordings are worthless otherwise."""

import dataclasses

import numpy as np
import pytest

from tools.recording_inputs import FLOAT_FAMILIES, VERSION, families_of, random_words, regenerate_inputs
from tools.recordings import inputs_checksum
from wmma_emu.api import instruction
from wmma_emu.arithmetic import matmul
from wmma_emu.formats import decode
from wmma_emu.instructions import INSTRUCTIONS

F16 = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"]
BF16 = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"]

CHECKSUMS = {
    "m16n8k16.f16.f16.f16.f16": [
        0xd3062b52, 0x54b0e5f3, 0xd1de16dc, 0x6942b1e4, 0x391aa75b,
        0x82dd1591, 0xaa588d1a, 0x863cc643, 0xeb3800e7, 0x4bbbe1d7,
    ],
    "m16n8k16.f32.bf16.bf16.f32": [
        0xa34ffb10, 0x4e3b6dcf, 0xd6def76e, 0xb56effd2, 0x07fe9fb1,
        0xfdb1c3cb, 0x0a049619, 0x62da9f02, 0xfe1da4ba, 0x3ec552bc,
    ],
    "m16n8k8.f32.tf32.tf32.f32": [
        0xeba97e42, 0x9362aa32, 0x176270c2, 0xa4874ad9, 0x482873ce,
        0xe322dc7e, 0x373ff452, 0x65ffb646, 0xfbc9fa4a, 0x6a5a5210,
    ],
    "m16n8k32.f32.e4m3.e5m2.f32": [
        0x545149fc, 0x6c9d3be6, 0xeac2a238, 0xe5144ad4, 0x81731e7c,
        0x0c56084d, 0x37189aa1, 0xff196140, 0xed903f48, 0x0691a895,
    ],
    "m16n8k4.f64.f64.f64.f64": [
        0x7268013f, 0x8656c75b, 0x7e3abdb0, 0x1654bea5, 0x1cffae68,
        0x2ae20eb1, 0xc80645ba, 0xccfe8639, 0xafb32f1d, 0x5eb50636,
    ],
    "m16n8k32.satfinite.s32.s8.u8.s32": [
        0x8830d107, 0x7380fbd3, 0x3ca2a014,
    ],
    "m8n8k32.s32.s4.u4.s32": [
        0xcdc855f0, 0x68cd2ff1, 0x01c8e37b,
    ],
    "m8n8k128.s32.b1.b1.s32.xor.popc": [
        0xb2338818, 0x835e9b54, 0x58a5e141,
    ],
    "wmma.mma.m32n8k16.f32.f16": [
        0x4110f161, 0x858be788, 0x6c009a7f, 0xb18c66d5, 0x15121bb2,
        0xb92496e7, 0x2403eac9, 0x3a03a71e, 0x6c3dd3c8, 0x62edca51,
    ],
}


def values(row, operand, registers):
    fmt = row.format(operand)
    count = max(fmt.bits, 32) // fmt.bits
    shifts = (np.arange(count) * fmt.bits).astype(np.uint64)
    patterns = (registers[..., None].astype(np.uint64) >> shifts) & np.uint64(fmt.mask)
    return decode(patterns.astype(fmt.storage), fmt)


def test_random_words_are_those_of_shake_128():
    assert [hex(x) for x in random_words("a key", 2).tolist()] == ["0x7dada3520e18ecc1", "0xcaf3fb8a0721f8f5"]


def test_the_version_stands_for_these_inputs():
    drawn = {}
    for short in CHECKSUMS:
        row = next(x for x in INSTRUCTIONS.values() if x.short_mnemonic == short)
        drawn[short] = [inputs_checksum(*regenerate_inputs(row, x, 1, 2)) for x in families_of(row)]
    assert VERSION == 1
    assert drawn == CHECKSUMS


@pytest.mark.parametrize("row", INSTRUCTIONS.values(), ids=str)
def test_every_instruction_has_registers_for_every_family(row):
    for family in families_of(row):
        registers = regenerate_inputs(row, family, seed=7, tiles=3)
        assert [x.shape for x in registers] == [(row.registers(x), 3, 32) for x in "abc"]
        assert [x.dtype.itemsize for x in registers] == [8 if row.format(x).bits == 64 else 4 for x in "abc"]


def test_an_unknown_family_is_refused():
    with pytest.raises(ValueError, match="no family 'limits'"):
        regenerate_inputs(F16, "limits", 1, 1)


def test_memory_layouts_and_modifiers_share_inputs_and_seeds_do_not():
    rows = [x for x in INSTRUCTIONS.values() if x.family == "wmma.mma" and x.a == "s8" and x.shape == "m16n16k16"]
    assert len(rows) == 8
    assert len({inputs_checksum(*regenerate_inputs(row, "raw", 1, 2)) for row in rows}) == 1
    assert len({inputs_checksum(*regenerate_inputs(rows[0], "raw", seed, 2)) for seed in range(4)}) == 4


def test_the_normal_family_has_no_specials_and_the_special_one_all():
    for family in ("normal", "wide", "tiny", "cancel", "ties", "edges", "zeros", "zero_times_huge"):
        for operand, registers in zip("abc", regenerate_inputs(BF16, family, 1, 8), strict=True):
            assert np.isfinite(values(BF16, operand, registers)).all(), (family, operand)
    a = values(BF16, "a", regenerate_inputs(BF16, "special", 1, 8)[0])
    magnitude = np.abs(a)
    assert np.isnan(a).any() and np.isinf(a).any() and (a == 1).any()
    assert ((magnitude > 0) & (magnitude < 2.0**-126)).any()
    assert (np.signbit(a) & (a == 0)).any() and (~np.signbit(a) & (a == 0)).any()


def test_products_of_the_zeros_family_are_all_minus_zero_in_even_tiles():
    a, b, c = (values(F16, x, y) for x, y in zip("abc", regenerate_inputs(F16, "zeros", 1, 2), strict=True))
    assert (a[:, 0] == 0).all() and np.signbit(a[:, 0]).all()
    assert not np.signbit(b[:, 0]).any()
    assert (c[:, 0] == 0).all() and np.signbit(c[:, 0]).any() and not np.signbit(c[:, 0]).all()


def test_e4m3_never_gets_nan_outside_special_and_raw():
    row = INSTRUCTIONS["mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"]
    for family in set(FLOAT_FAMILIES) - {"special", "raw"}:
        for operand, registers in zip("ab", regenerate_inputs(row, family, 1, 8)[:2], strict=True):
            assert np.isfinite(values(row, operand, registers)).all(), family


@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("name", ["min_exponent", "fraction_bits"])
@pytest.mark.parametrize("row", [F16, BF16], ids=str)
def test_the_edges_family_tells_models_apart_that_differ_in_one_bit(row, name, step):
    ins = instruction(row.mnemonic, arch="sm_90")
    other = dataclasses.replace(ins.model, **{name: getattr(ins.model, name) + step})
    registers = regenerate_inputs(row, "edges", 1, 2)
    a, b, c = (x.unpack_bits(y) for x, y in zip((ins.a, ins.b, ins.c), registers, strict=True))
    products = ins.product, dataclasses.replace(ins.product, model=other)
    right, wrong = (matmul(x, a, b, c) for x in products)
    assert np.count_nonzero(right != wrong) >= 5
