# SPDX-License-Identifier: MIT
"""PyTorch's host code without a GPU: tensors in host memory, and answers to questions about CUDA."""
