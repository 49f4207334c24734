# SPDX-License-Identifier: MIT
"""Compilation of CUDA C++ files to PTX: by NVRTC, by nvcc, or by NVRTC after removing the host code."""
