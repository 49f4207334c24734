# SPDX-License-Identifier: MIT
"""Tables of Triton kernels of public repositories."""
