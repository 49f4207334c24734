# SPDX-License-Identifier: MIT
"""Approximate functions compared with a GPU: every word of two instructions, and arrays in GPU memory."""

import importlib

import numpy as np
import pytest

from tools.approx_gpu import run
from tools.approx_inputs import SPECIAL
from tools.prove_approx import prove
from wmma_emu.errors import FragmentMismatchError
from wmma_emu.scalar import approx, approx_div

pytestmark = pytest.mark.gpu


@pytest.fixture
def cupy():
    return importlib.import_module("cupy")


@pytest.mark.parametrize("instruction", ["ex2.approx.ftz.f32", "tanh.approx.f32", "tanh.approx.bf16"])
def test_every_word_matches_the_instruction(instruction):
    found = prove(instruction, 1)
    assert (found["inputs"], found["mismatches"]) == (1 << (16 if "b" in instruction else 32), 0)


def test_arrays_on_the_gpu_are_not_copied_to_the_host(cupy):
    x = cupy.asarray(SPECIAL)
    result = approx("lg2", x.reshape(2, -1), ftz=True)
    assert isinstance(result, cupy.ndarray) and result.shape == (2, len(SPECIAL) // 2)
    assert np.array_equal(cupy.asnumpy(result).ravel(), approx("lg2", SPECIAL, ftz=True))
    assert np.array_equal(cupy.asnumpy(run("div.full.f32", x, x[::-1].copy())), approx_div(SPECIAL, SPECIAL[::-1]))
    with pytest.raises(FragmentMismatchError, match="on different devices"):
        approx_div(x, SPECIAL)


def test_rsqrt_in_f64_without_ftz_requires_host_arrays(cupy):
    with pytest.raises(FragmentMismatchError, match="host"):
        approx("rsqrt", cupy.zeros(3, np.uint64), format="f64")
