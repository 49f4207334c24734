# SPDX-License-Identifier: MIT
"""`wmma_emu.quantize` is the American spelling of `wmma_emu.quantise`."""

import numpy as np

import wmma_emu as we
from wmma_emu import quantise
from wmma_emu.quantize import dequantize, quantize
from wmma_emu.testing import assert_bits_equal


def test_the_american_names_are_the_same_functions():
    assert we.quantize.quantize is quantize is quantise.quantise
    assert dequantize is quantise.dequantise


def test_every_public_name_is_in_both():
    assert set(we.quantize.__all__) == {*quantise.__all__, "quantize", "dequantize"}
    assert all(getattr(we.quantize, name) is getattr(quantise, name) for name in quantise.__all__)


def test_a_result_has_both_spellings():
    q = quantize(np.linspace(-1, 1, 64, dtype=np.float32), "mxfp8_e4m3")
    assert_bits_equal(q.dequantize("bf16"), q.dequantise("bf16"))
