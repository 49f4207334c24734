# SPDX-License-Identifier: MIT
"""A warp-level kernel written in Python, launched over a grid."""
