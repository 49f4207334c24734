# SPDX-License-Identifier: MIT
"""Convolutions that cuDNN computed on an H200 have the same bits under ``like="torch"``."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the tests do not depend on it")

import wmma_emu as we  # noqa: E402
from tools.record_convolutions import cases, key_of, result_of  # noqa: E402
from tools.record_cublas import row_checksums  # noqa: E402
from tools.recordings import load_arrays  # noqa: E402
from wmma_emu.models.convolution_kernels import RECORDED  # noqa: E402

ARRAYS, METADATA = load_arrays(Path(__file__).parents[1] / "data" / "sm90_cudnn_convolutions.npz")
CASES = {key_of(case, dtype): (case, dtype) for case, dtype in cases()}


def test_every_kernel_of_the_table_is_recorded_in_both_formats_and_nothing_else():
    assert set(ARRAYS) == set(CASES) and len(CASES) == 2 * len(RECORDED)


@pytest.mark.sweep(keep=1 / 8)
@pytest.mark.parametrize("key", CASES)
def test_a_recorded_convolution_has_the_bits_of_the_library_in_every_channel(key):
    with we.torch.emulate("h100", like="torch") as emulation:
        bits = result_of(*CASES[key], METADATA["seed"], "cpu")
    np.testing.assert_array_equal(row_checksums(bits), ARRAYS[key])
    assert {record.order for record in emulation.log} == {"recorded"}


def test_the_assumed_order_does_not_explain_the_first_convolution_of_a_network():
    key = next(key for key in CASES if key.startswith("bf16|forward|3x224x224|64x7x7"))
    with we.torch.emulate("h100"):
        bits = result_of(*CASES[key], METADATA["seed"], "cpu")
    assert (row_checksums(bits) != ARRAYS[key]).any()
