# SPDX-License-Identifier: MIT
"""The inputs of a seed never change: recordings would be worthless otherwise."""

import dataclasses

import numpy as np
import pytest

from tests.representatives import REPRESENTATIVES
from tools.recording_inputs import FLOAT_GENERATORS, VERSION, generators_of, random_words, regenerate_inputs
from tools.recordings import inputs_checksum
from wmma_emu.api import instruction
from wmma_emu.arithmetic import matmul
from wmma_emu.formats import decode
from wmma_emu.instructions import INSTRUCTIONS

F16 = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"]
BF16 = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"]

CHECKSUMS = {
    "m16n8k16.f16.f16.f16.f16": [
        0xD3062B52,
        0x54B0E5F3,
        0xD1DE16DC,
        0x6942B1E4,
        0x391AA75B,
        0x82DD1591,
        0xAA588D1A,
        0x863CC643,
        0xEB3800E7,
        0x4BBBE1D7,
        0xA380A917,
    ],
    "m16n8k16.f32.bf16.bf16.f32": [
        0xA34FFB10,
        0x4E3B6DCF,
        0xD6DEF76E,
        0xB56EFFD2,
        0x07FE9FB1,
        0xFDB1C3CB,
        0x0A049619,
        0x62DA9F02,
        0xFE1DA4BA,
        0x3EC552BC,
        0x01ABFA3A,
    ],
    "m16n8k8.f32.tf32.tf32.f32": [
        0xEBA97E42,
        0x9362AA32,
        0x176270C2,
        0xA4874AD9,
        0x482873CE,
        0xE322DC7E,
        0x373FF452,
        0x65FFB646,
        0xFBC9FA4A,
        0x6A5A5210,
        0x6715EA43,
    ],
    "m16n8k32.f32.e4m3.e5m2.f32": [
        0x545149FC,
        0x6C9D3BE6,
        0xEAC2A238,
        0xE5144AD4,
        0x81731E7C,
        0x0C56084D,
        0x37189AA1,
        0xFF196140,
        0xED903F48,
        0x0691A895,
        0x8D04544C,
    ],
    "m16n8k4.f64.f64.f64.f64": [
        0x7268013F,
        0x8656C75B,
        0x7E3ABDB0,
        0x1654BEA5,
        0x1CFFAE68,
        0x2AE20EB1,
        0xC80645BA,
        0xCCFE8639,
        0xAFB32F1D,
        0x5EB50636,
        0xFB72A66D,
    ],
    "m16n8k32.satfinite.s32.s8.u8.s32": [
        0x8830D107,
        0x7380FBD3,
        0x3CA2A014,
    ],
    "m8n8k32.s32.s4.u4.s32": [
        0xCDC855F0,
        0x68CD2FF1,
        0x01C8E37B,
    ],
    "m8n8k128.s32.b1.b1.s32.xor.popc": [
        0xB2338818,
        0x835E9B54,
        0x58A5E141,
    ],
    "wmma.mma.m32n8k16.f32.f16": [
        0x4110F161,
        0x858BE788,
        0x6C009A7F,
        0xB18C66D5,
        0x15121BB2,
        0xB92496E7,
        0x2403EAC9,
        0x3A03A71E,
        0x6C3DD3C8,
        0x62EDCA51,
        0xE5B87741,
    ],
}


def values(row, operand, registers):
    fmt = row.format(operand)
    count = max(fmt.bits, 32) // fmt.bits
    shifts = (np.arange(count) * fmt.bits).astype(np.uint64)
    patterns = (registers[..., None].astype(np.uint64) >> shifts) & np.uint64(fmt.mask)
    return decode(patterns.astype(fmt.storage), fmt)


def test_random_words_equal_the_output_of_shake_128():
    assert [hex(x) for x in random_words("a key", 2).tolist()] == ["0x7dada3520e18ecc1", "0xcaf3fb8a0721f8f5"]


def test_the_version_stands_for_these_inputs():
    drawn = {}
    for short in CHECKSUMS:
        row = next(x for x in INSTRUCTIONS.values() if x.short_mnemonic == short)
        drawn[short] = [inputs_checksum(*regenerate_inputs(row, x, 1, 2)) for x in generators_of(row)]
    assert VERSION == 1
    assert drawn == CHECKSUMS


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("row", [x for x in REPRESENTATIVES.values() if x.family in ("mma.sync", "wmma.mma")], ids=str)
def test_every_dense_instruction_of_one_warp_has_registers_for_every_generator(row):
    for generator in generators_of(row):
        registers = regenerate_inputs(row, generator, seed=7, tiles=3)
        assert [x.shape for x in registers] == [(row.registers(x), 3, 32) for x in "abc"]
        assert [x.dtype.itemsize for x in registers] == [8 if row.format(x).bits == 64 else 4 for x in "abc"]


def test_an_unknown_generator_is_refused():
    with pytest.raises(ValueError, match="no input generator 'limits'"):
        regenerate_inputs(F16, "limits", 1, 1)


def test_memory_layouts_and_modifiers_share_inputs_and_seeds_do_not():
    rows = [x for x in INSTRUCTIONS.values() if x.family == "wmma.mma" and x.a == "s8" and x.shape == "m16n16k16"]
    assert {x.modifiers for x in rows} > {()} and len({(x.a_layout, x.b_layout) for x in rows}) == 4
    assert len({inputs_checksum(*regenerate_inputs(row, "raw", 1, 2)) for row in rows}) == 1
    assert len({inputs_checksum(*regenerate_inputs(rows[0], "raw", seed, 2)) for seed in range(4)}) == 4


def test_the_normal_generator_has_no_specials_and_the_special_one_all():
    for generator in ("normal", "wide", "tiny", "cancel", "ties", "edges", "zeros", "zero_times_huge"):
        for operand, registers in zip("abc", regenerate_inputs(BF16, generator, 1, 8), strict=True):
            assert np.isfinite(values(BF16, operand, registers)).all(), (generator, operand)
    a = values(BF16, "a", regenerate_inputs(BF16, "special", 1, 8)[0])
    magnitude = np.abs(a)
    assert np.isnan(a).any() and np.isinf(a).any() and (a == 1).any()
    assert ((magnitude > 0) & (magnitude < 2.0**-126)).any()
    assert (np.signbit(a) & (a == 0)).any() and (~np.signbit(a) & (a == 0)).any()


def test_products_of_the_zeros_generator_are_all_minus_zero_in_even_tiles():
    a, b, c = (values(F16, x, y) for x, y in zip("abc", regenerate_inputs(F16, "zeros", 1, 2), strict=True))
    assert (a[:, 0] == 0).all() and np.signbit(a[:, 0]).all()
    assert not np.signbit(b[:, 0]).any()
    assert (c[:, 0] == 0).all() and np.signbit(c[:, 0]).any() and not np.signbit(c[:, 0]).all()


def test_e4m3_never_gets_nan_outside_special_and_raw():
    row = INSTRUCTIONS["mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"]
    for generator in set(FLOAT_GENERATORS) - {"special", "raw"}:
        for operand, registers in zip("ab", regenerate_inputs(row, generator, 1, 8)[:2], strict=True):
            assert np.isfinite(values(row, operand, registers)).all(), generator


@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("name", ["min_exponent", "fraction_bits"])
@pytest.mark.parametrize("row", [F16, BF16], ids=str)
def test_the_edges_generator_distinguishes_models_that_differ_in_one_bit(row, name, step):
    ins = instruction(row.mnemonic, arch="sm_90")
    other = dataclasses.replace(ins.model, **{name: getattr(ins.model, name) + step})
    registers = regenerate_inputs(row, "edges", 1, 2)
    a, b, c = (x.unpack_bits(y) for x, y in zip((ins.a, ins.b, ins.c), registers, strict=True))
    products = ins.product, dataclasses.replace(ins.product, model=other)
    right, wrong = (matmul(x, a, b, c) for x in products)
    assert np.count_nonzero(right != wrong) >= 5
