# SPDX-License-Identifier: MIT
"""Run modules of PyTorch's own tests of Inductor, unedited, on an emulated chip."""

TESTS = (
    "test_softmax", "test_log_softmax", "test_layer_norm", "test_matmul_layer_norm", "test_batch_norm_2d", "test_gelu",
    "test_glu", "test_embedding", "test_nll_loss_forward", "test_var_mean", "test_logsumexp", "test_cumsum",
    "test_sort", "test_max_pool2d1", "test_avg_pool2d1", "test_index_put1", "test_scatter_add1",
    "test_upsample_bilinear2d_a", "test_linear2", "test_convolution1",
)  # fmt: skip
"""Tests of ``CommonTemplate`` in PyTorch's test_torchinductor.py, chosen before any of them ran here."""
