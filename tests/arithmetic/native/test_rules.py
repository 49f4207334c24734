# SPDX-License-Identifier: MIT
"""Native code of dot products: which products have it, and the values that it computes with."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from llvmlite import ir

from wmma_emu.arithmetic import dot_product_of
from wmma_emu.arithmetic.native.code import POINTER, address, load, loop, store
from wmma_emu.arithmetic.native.operands import NONE, SPECIAL, exponent_of, scale_of, value_of
from wmma_emu.arithmetic.native.product import reason_against
from wmma_emu.formats import FORMATS, decode, format_of
from wmma_emu.instructions import INSTRUCTIONS, lookup
from wmma_emu.llvm.compile import load as load_code
from wmma_emu.llvm.compile import object_code

LANES = 32
NARROW = [x for x in FORMATS.values() if x.bits <= 16 and x.name not in ("b1", "ue8m0", "ue4m3")]


def computed(patterns, write, results):
    """Apply code to patterns, 32 at a time; ``write`` returns ``results`` vectors of 32 words."""
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), (POINTER, POINTER)), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    with loop(builder, len(patterns) // LANES) as index:
        given = load(builder, address(builder, function.args[0], index, 4 * LANES), np.uint32, LANES, 4)
        for i, x in enumerate(write(given)):
            place = address(builder, function.args[1], index, 4 * LANES * results)
            store(x, address(builder, place, i, 4 * LANES), 4)
    builder.ret_void()
    code = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(load_code(object_code(str(module)), ["f"])["f"])
    words = np.ascontiguousarray(patterns, np.uint32)
    out = np.zeros((len(words) // LANES, results, LANES), np.uint32)
    code(words.ctypes.data, out.ctypes.data)
    return out.swapaxes(0, 1).reshape(results, -1)


def test_every_instruction_of_warps_and_warpgroups_has_native_code():
    rows = [x for x in INSTRUCTIONS.values() if not x.is_tensor]
    assert len(rows) > 1000
    assert [x.mnemonic for x in rows if reason_against(dot_product_of(x, x.archs[0]))] == []


def test_sums_that_no_chip_has_give_the_reason_why_they_have_none():
    product = dot_product_of(lookup("m16n8k16.f32.f16.f16.f32"), "sm_90")
    assert "rounded RNE to f32" in reason_against(replace(product, model=replace(product.model, rounding="RNE")))
    many = replace(product.model, fraction_bits=60)
    assert reason_against(replace(product, model=many)) is not None


@pytest.mark.parametrize("fmt", NARROW, ids=str)
def test_every_pattern_has_its_value(fmt):
    patterns = np.arange(max(1 << fmt.bits, LANES)) % (1 << fmt.bits)
    (found,) = computed(patterns, lambda x: [value_of(x, fmt)], 1)
    expected = decode(patterns.astype(fmt.storage), fmt).astype(np.float32)
    values = found.view(np.float32)
    assert np.array_equal(np.isnan(values), np.isnan(expected))
    assert np.array_equal(values[~np.isnan(values)].view(np.uint32), expected[~np.isnan(expected)].view(np.uint32))


def test_tf32_is_read_without_its_low_bits():
    (found,) = computed([0x3F80_1FFF] * LANES, lambda x: [value_of(x, format_of("tf32"))], 1)
    assert found[0] == 0x3F80_0000


def test_subnormals_share_an_exponent_and_zeros_and_specials_have_none():
    patterns = np.zeros(LANES, np.uint32)
    patterns[:6] = 0x0001, 0x03FF, 0x0400, 0x8000, 0x7C00, 0xFE01
    (found,) = computed(patterns, lambda x: [exponent_of(value_of(x, format_of("f16")), -14)], 1)
    assert found.view(np.int32)[:6].tolist() == [-14, -14, -14, NONE, SPECIAL, SPECIAL]


def test_scales_are_significands_and_exponents():
    patterns = np.zeros(LANES, np.uint32)
    patterns[:4] = 0x00, 0x3C, 0x01, 0xBC
    significand, exponent = computed(patterns, lambda x: scale_of(x, format_of("ue4m3")), 2)
    assert significand.view(np.float32)[:4].tolist() == [0, 1.5, 0.125, 1.5]
    assert exponent.view(np.int32)[:4].tolist() == [NONE, 0, -6, 0]
    patterns[:3] = 0, 127, 255
    significand, exponent = computed(patterns, lambda x: scale_of(x, format_of("ue8m0")), 2)
    assert exponent.view(np.int32)[:3].tolist() == [-127, 0, SPECIAL]
    assert np.isnan(significand.view(np.float32)[:3]).tolist() == [False, False, True]
