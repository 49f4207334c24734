# SPDX-License-Identifier: MIT
"""Comparison with gfloat's block formats: every element with every scale, and blocks of every kind of number."""

import ml_dtypes
import numpy as np
import pytest

from tests.quantise.arrays import BF16, MX, spread
from wmma_emu.quantise import BLOCK_FORMATS, dequantise, quantise

pytest.importorskip("gfloat")
import gfloat
from gfloat import RoundMode
from gfloat import formats as gf

pytestmark = pytest.mark.oracle

BLOCKS = {name: next(x for x in gf.all_block_formats if x.name == name) for name in MX}
MODES = {
    "RNE": RoundMode.TiesToEven,
    "RZ": RoundMode.TowardZero,
    "RD": RoundMode.TowardNegative,
    "RU": RoundMode.TowardPositive,
    "RNA": RoundMode.TiesToAway,
}


def same(a, b):
    """Return whether bits are equal, where all NaNs are equal and -0 differs from +0."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return bool(((a.view(np.uint64) == b.view(np.uint64)) | (np.isnan(a) & np.isnan(b))).all())


def test_the_table_has_every_block_format_of_gfloat_with_its_size():
    for block in gf.all_block_formats:
        row = BLOCK_FORMATS[block.name]
        assert (row.block, row.element.bits, row.max_exponent) == (block.k, block.etype.k, block.etype.emax)
        assert (row.max_element, row.scale.bits) == (block.etype.max, block.stype.k)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MX)
def test_every_element_with_every_scale_has_the_value_that_gfloat_computes(name):
    codes = np.arange(1 << BLOCKS[name].element_bits, dtype=np.uint8)
    padded = np.resize(codes, -(-len(codes) // 32) * 32)
    for scale in range(256):
        ours = dequantise(padded, np.full(len(padded) // 32, scale, np.uint8), name)[: len(codes)]
        assert same(ours, list(gfloat.decode_block(BLOCKS[name], [scale, *codes.tolist()]))), scale


def by_gfloat(blocks, name, mode="RNE"):
    """Return scale and elements of float64 blocks as in ``gfloat.quantize_block``, without its loop over elements."""
    block = BLOCKS[name]
    scales = np.array([gfloat.compute_scale_amax(block.etype.emax, x) for x in blocks])
    rounded = gfloat.round_ndarray(block.etype, blocks / scales[:, None], MODES[mode], sat=True)
    codes = gfloat.encode_ndarray(block.etype, rounded)
    return scales, np.asarray(codes).astype(np.uint8), rounded * scales[:, None]


def check(blocks, name, mode="RNE"):
    ours = quantise(blocks, name, rounding=mode, symmetric=name != "mxint8")
    scales, codes, values = by_gfloat(blocks.astype(np.float64), name, mode)
    assert (np.ldexp(1.0, ours.scale_bits[:, 0].astype(int) - 127) == scales).all()
    assert (ours.element_bits == codes).all()
    assert (ours.dequantise() == values).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MX)
def test_every_bfloat16_in_a_block_of_similar_numbers_is_quantised_as_in_gfloat(name):
    signed = np.where(np.arange(len(BF16)) % 3 == 0, -BF16.astype(np.float64), BF16.astype(np.float64))
    signed = np.resize(signed, -(-len(signed) // 32) * 32)
    check(signed.reshape(-1, 32).astype(ml_dtypes.bfloat16), name)
    stride = signed.reshape(32, -1).T  # neighbours that are eight exponents apart
    check(np.ascontiguousarray(stride).astype(ml_dtypes.bfloat16), name)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", MX)
def test_blocks_of_float32_are_quantised_as_in_gfloat_in_every_rounding(name, mode):
    check(spread(3, (200, 32)), name, mode)


@pytest.mark.parametrize("name", MX)
def test_whole_blocks_match_the_gfloat_function_for_blocks(name):
    blocks = spread(4, (12, 32), dtype=np.float64)
    blocks[0] = 0
    theirs = [gfloat.quantize_block(BLOCKS[name], x, gfloat.compute_scale_amax) for x in blocks]
    ours = quantise(blocks, name, symmetric=name != "mxint8").dequantise()
    assert (ours == np.array(theirs)).all()


@pytest.mark.parametrize("name", MX)
def test_any_scale_and_elements_match_the_gfloat_encoder(name):
    block = BLOCKS[name]
    for exponent in (-127, -1, 0, 127):
        scaled = np.array([0.3, -0.7, 1.0, -block.etype.max, block.etype.max, 1.5, 1e-9, -1.25] * 4)
        values = np.ldexp(scaled, exponent)
        scale, *codes = gfloat.encode_block(block, 2.0**exponent, scaled)
        ours = quantise(values, name)
        assert ours.scale_bits.tolist() == [scale]
        assert ours.element_bits.tolist() == codes
