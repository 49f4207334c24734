# SPDX-License-Identifier: MIT
"""Functions of constants, ties, scaled products and unrolled loops leave what an H200 and its driver left."""

import pytest

from tools.record_known_constants import cases
from wmma_emu.testing import assert_bits_equal

CASES = dict(cases())


@pytest.mark.vectors
@pytest.mark.parametrize("name", CASES)
def test_a_kernel_with_constants_leaves_what_the_gpu_left(name):
    case = CASES[name]
    for array, left in case.emulated().items():
        assert_bits_equal(left, case.left[array])
