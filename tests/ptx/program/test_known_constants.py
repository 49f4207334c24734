# SPDX-License-Identifier: MIT
"""Kernels with functions of constants, ties, scaled products and unrolled loops match an H200 and its driver."""

import pytest

from tools.record_known_constants import cases
from wmma_emu.testing import assert_bits_equal

CASES = dict(cases())


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.vectors
@pytest.mark.parametrize("name", CASES)
def test_a_kernel_with_constants_matches_the_gpu(name):
    case = CASES[name]
    for array, left in case.emulated().items():
        assert_bits_equal(left, case.left[array])
