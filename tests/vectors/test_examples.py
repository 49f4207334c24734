# SPDX-License-Identifier: MIT
"""The Python kernels of examples/ equal their CUDA C++ twins on a Hopper GPU, bit for bit."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from tools.record_examples import EXAMPLES, load

FILE = Path(__file__).parents[1] / "data" / "sm90_examples.npz"

pytestmark = pytest.mark.vectors


@pytest.mark.parametrize("name", [x.name for x in EXAMPLES])
def test_a_kernel_returns_the_matrix_that_the_gpu_returned(name):
    matrices, recorded = load(FILE)[name]
    module = importlib.import_module(f"examples.{name}")
    result = (module.combine if name == "lop3" else module.multiply)(*matrices)
    assert (result.dtype, result.shape) == (recorded.dtype, recorded.shape)
    np.testing.assert_array_equal(result.view(np.uint32), recorded.view(np.uint32))
