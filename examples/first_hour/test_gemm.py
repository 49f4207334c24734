import numpy as np


def test_gemm(emulated_gpu):
    A, B = np.random.default_rng(0).integers(-8, 8, (2, 64, 64)).astype(np.float32)
    D = np.zeros_like(A)
    emulated_gpu.file("gemm.cu")["gemm"][(4, 4), (16, 16)](A, B, D)
    assert (D == A @ B).all()
