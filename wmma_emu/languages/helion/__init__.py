# SPDX-License-Identifier: MIT
"""Helion's kernels, which Triton compiles and launches: their device, and configurations without times."""
