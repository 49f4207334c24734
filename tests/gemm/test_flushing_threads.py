# SPDX-License-Identifier: MIT
"""A thread that flushes subnormals is noticed and refused by the engine that computes on floats."""

import numpy as np
import pytest

import wmma_emu as we
from tests.control_word import DENORMALS_ARE_ZERO, FLUSH_TO_ZERO, flags


@pytest.mark.parametrize("bits", [FLUSH_TO_ZERO, DENORMALS_ARE_ZERO], ids=hex)
def test_products_are_refused_in_a_thread_that_flushes(control, bits):
    A, B = np.full((16, 16), 2.0**-24, np.float16), np.full((16, 8), 2.0**-24, np.float16)
    ins = we.instruction("m16n8k16.f32.f16.f16.f32")
    expected = we.mma(A, B).view(np.uint32)
    registers = ins.a.pack(A), ins.b.pack(B), ins.c.pack(np.zeros((16, 8), np.float32))
    with flags(control, bits):
        for product in (
            lambda: we.mma(A, B),
            lambda: we.gemm(A, B),
            lambda: ins(A, B),
            lambda: ins.execute(*registers),
        ):
            with pytest.raises(we.BackendUnavailableError, match="flushes subnormal numbers to zero"):
                product()
        found = we.mma(A, B, engine="reference").view(np.uint32)
    np.testing.assert_array_equal(found, expected)
