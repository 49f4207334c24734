# SPDX-License-Identifier: MIT
"""torch.compile with its own backend, Inductor: the Triton kernels that it generates for CUDA, without a GPU."""
