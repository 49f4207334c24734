# SPDX-License-Identifier: MIT
import numpy as np


def test_gemm(emulated_gpu):
    gemm = emulated_gpu.file("gemm.cu")["gemm"]
    A, B = np.random.default_rng(0).integers(-4, 5, (2, 32, 32)).astype(np.float32)
    D = np.zeros((32, 32), np.float32)
    gemm[(2, 2), (16, 16)](A, B, D, 32)
    assert (D == A @ B).all()
