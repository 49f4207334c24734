# SPDX-License-Identifier: MIT
"""FP8 layers of torchao on a GPU: outputs and gradients, recorded by tools/record_torchao_linear.py, bit for bit."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: the tests do not depend on it")

import wmma_emu as we
from tools.record_torchao_linear import DTYPES, RECIPES, SHAPES, layer_of, results

pytestmark = pytest.mark.vectors

with np.load(Path(__file__).with_name("torchao_linear.npz")) as _file:
    RECORDED = dict(_file)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_step_of_a_layer_has_the_bits_of_the_gpu(recipe, dtype, shape):
    layer, x, gradient = layer_of(shape, dtype)
    with we.torch.emulate("h200", recipe=f"torchao_{recipe}"):
        found = results(layer, x, gradient)
    for name, sums in found.items():
        key = f"{recipe} {dtype} {'x'.join(map(str, shape))} {name}"
        assert (sums == RECORDED[key]).all(), f"{name}: {(sums != RECORDED[key]).mean():.1%} of the rows"
