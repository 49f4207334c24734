# SPDX-License-Identifier: MIT
"""Arithmetic that sm_100 and sm_120 brought: pairs of f32, three operands, two precisions, four bytes."""

from fractions import Fraction

import numpy as np
import pytest

from tests.formats.second_path import ROWS, round_fraction, value
from wmma_emu.ptx.program.program import PtxInstruction, Register
from wmma_emu.ptx.steps.values import VALUE_STEPS

R = Register(0, "%r", "b32")


def operation(opcode, sources):
    mnemonic, *modifiers = opcode.split(".")
    return VALUE_STEPS[mnemonic](PtxInstruction(opcode, mnemonic, tuple(modifiers), (R,) * (sources + 1), None, 1, 1))


def computed(opcode, *sources, dtype=np.uint32):
    result = operation(opcode, len(sources)).compute(*(np.array([x], dtype) for x in sources))
    return int(result[0])


def pair(low, high):
    return high << 32 | low


ONE, TWO, THREE, MINUS_ONE, NAN, INFINITY = 0x3F800000, 0x40000000, 0x40400000, 0xBF800000, 0x7FFFFFFF, 0x7F800000
TINY = 1


@pytest.mark.parametrize(
    ("opcode", "sources", "result"),
    [
        ("add.f32x2", [pair(ONE, TWO), pair(TWO, MINUS_ONE)], pair(THREE, ONE)),
        ("sub.rn.f32x2", [pair(ONE, TWO), pair(TWO, MINUS_ONE)], pair(MINUS_ONE, THREE)),
        ("mul.rn.f32x2", [pair(INFINITY, TWO), pair(0, ONE)], pair(NAN, TWO)),
        ("fma.rn.f32x2", [pair(ONE, TWO), pair(TWO, ONE), pair(ONE, MINUS_ONE)], pair(THREE, ONE)),
        ("add.ftz.f32x2", [pair(TINY, ONE), pair(TINY, TINY)], pair(0, ONE)),
        ("add.rp.f32x2", [pair(ONE, ONE), pair(TINY, 0)], pair(ONE + 1, ONE)),
        ("fma.rz.ftz.f32x2", [pair(TWO, TINY), pair(TWO, ONE), pair(0, 0)], pair(0x40800000, 0)),
    ],
)
def test_a_pair_is_two_operations_on_its_halves(opcode, sources, result):
    assert hex(computed(opcode, *sources, dtype=np.uint64)) == hex(result)
    assert operation(opcode, len(sources)).first == "sm_100"


@pytest.mark.property
def test_no_bit_of_one_half_reaches_the_other():
    rng = np.random.default_rng(25)
    words = rng.integers(0, 1 << 32, (2, 4, 500), np.uint64).astype(np.uint32)
    joined = [words[0, i].astype(np.uint64) | words[1, i].astype(np.uint64) << np.uint64(32) for i in range(3)]
    for opcode, count in (("add.rn", 2), ("mul.rm", 2), ("fma.rn", 3)):
        both = operation(f"{opcode}.f32x2", count).compute(*joined[:count]).view(np.uint32).reshape(-1, 2)
        for half in (0, 1):
            alone = operation(f"{opcode}.f32", count).compute(*words[half, :count])
            assert np.array_equal(both[:, half], alone)


@pytest.mark.parametrize(
    ("opcode", "sources", "result"),
    [
        ("min.f32", [ONE, MINUS_ONE, TWO], MINUS_ONE),
        ("max.f32", [ONE, NAN, TWO], TWO),
        ("max.f32", [NAN, NAN, ONE], ONE),
        ("min.f32", [NAN, 0xFFC00001, NAN], NAN),
        ("min.NaN.f32", [ONE, NAN, TWO], NAN),
        ("max.abs.f32", [ONE, 0xC0400000, TWO], THREE),
        ("min.abs.f32", [0xC0400000, TWO, MINUS_ONE], ONE),
        ("min.f32", [0, 0x80000000, 0], 0x80000000),
        ("max.ftz.f32", [0x80000001, 0x80000001, 0xFF800000], 0x80000000),
        ("max.ftz.NaN.abs.f32", [MINUS_ONE, 0xFFC00001, ONE], NAN),
    ],
)
def test_min_and_max_of_three_are_two_comparisons(opcode, sources, result):
    assert hex(computed(opcode, *sources)) == hex(result)
    assert operation(opcode, 3).first == "sm_100"


def test_min_of_two_is_older():
    assert operation("min.f32", 2).first == "sm_70"


def test_a_sum_of_two_precisions_is_rounded_once():
    numbers = [0x3C00, 0x0001, 0xFBFF, 0x7C00, 0x8000, 0x3555]
    addends = [ONE, 0x00000001, 0x33800001, 0xBF800001, 0x4B000001, 0xFF800000]
    for a in numbers:
        for c in addends:
            sources = np.array([a], np.uint16), np.array([c], np.uint32)
            got = int(operation("add.f32.f16", 2).compute(*sources)[0])
            kinds = value(a, ROWS["f16"]), value(c, ROWS["f32"])
            if "inf" in (kinds[0][1], kinds[1][1]):
                infinite = {x[0] for x in kinds if x[1] == "inf"}
                assert got == (NAN if len(infinite) == 2 else 0xFF800000 if infinite == {1} else INFINITY)
                continue
            exact = sum((-1) ** sign * size for sign, size in kinds)
            assert exact
            assert got == round_fraction(int(exact < 0), abs(exact), ROWS["f32"])


@pytest.mark.parametrize(
    ("opcode", "halves", "single", "result"),
    [
        ("add.f32.bf16", [0x3F80], TWO, THREE),
        ("sub.f32.bf16", [0x3F80], TWO, MINUS_ONE),
        ("add.sat.f32.bf16", [0x3F80], TWO, ONE),
        ("add.sat.f32.f16", [0x7E00], TWO, 0),
        ("fma.rn.f32.f16", [0x3C00, 0x4000], ONE, THREE),
        ("fma.rn.f32.bf16", [0x3F81, 0x3F81], 0xBF800000, 0x3C808000),
        ("fma.rz.sat.f32.bf16", [0x4000, 0x4000], ONE, ONE),
        ("fma.rp.f32.f16", [0x0001, 0x0001], ONE, ONE + 1),
    ],
)
def test_operands_of_16_bits_are_converted_without_rounding(opcode, halves, single, result):
    found = operation(opcode, len(halves) + 1)
    sources = [*(np.array([x], np.uint16) for x in halves), np.array([single], np.uint32)]
    assert hex(int(found.compute(*sources)[0])) == hex(result)
    assert found.first == "sm_100"


@pytest.mark.parametrize(
    ("opcode", "sources", "result"),
    [
        ("add.u8x4", [0xFF01_7F80, 0x0101_0180], 0x0002_8000),
        ("add.sat.u8x4", [0xFF01_7F80, 0x0101_0180], 0xFF02_80FF),
        ("add.sat.s8x4", [0x7F80_01FF, 0x01FF_0101], 0x7F80_0200),
        ("sub.s8x4", [0x0080_0001, 0x0101_0102], 0xFF7F_FFFF),
        ("sub.sat.u8x4", [0x0080_0001, 0x0101_0102], 0x007F_0000),
        ("sub.sat.s8x4", [0x0080_0001, 0x0101_0102], 0xFF80_FFFF),
        ("neg.s8x4", [0x0180_FF00], 0xFF80_0100),
        ("min.u8x4", [0xFF01_7F80, 0x0102_80FF], 0x0101_7F80),
        ("max.s8x4", [0xFF01_7F80, 0x0102_80FF], 0x0102_7FFF),
        ("max.relu.s8x4", [0xFF01_7F80, 0xFE02_80FF], 0x0002_7F00),
        ("add.sat.u16x2", [0xFFFF_0001, 0x0001_0001], 0xFFFF_0002),
        ("add.sat.s16x2", [0x7FFF_8000, 0x0001_FFFF], 0x7FFF_8000),
        ("add.sat.u32", [0xFFFF_FFFF, 1], 0xFFFF_FFFF),
    ],
)
def test_elements_of_a_word_wrap_or_saturate_alone(opcode, sources, result):
    assert f"{computed(opcode, *sources):08x}" == f"{result:08x}"
    assert operation(opcode, len(sources)).first == "sm_120"


def test_a_fused_product_is_exact_before_its_rounding():
    words = [0x3F81, 0x4049, 0xBF03, 0x0080]
    for a in words:
        for b in words:
            for c in (ONE, 0xBF800000, 0x00800000):
                sources = np.array([a], np.uint16), np.array([b], np.uint16), np.array([c], np.uint32)
                got = int(operation("fma.rn.f32.bf16", 3).compute(*sources)[0])
                (x, p), (y, q), (z, r) = (*(value(w, ROWS["bf16"]) for w in (a, b)), value(c, ROWS["f32"]))
                exact = (-1) ** (x + y) * p * q + Fraction((-1) ** z * r)
                assert got == round_fraction(int(exact < 0), abs(exact), ROWS["f32"]), (hex(a), hex(b), hex(c))
