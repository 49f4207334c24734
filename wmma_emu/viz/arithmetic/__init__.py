# SPDX-License-Identifier: MIT
"""Explanations: terms as rows of bits on one ruler, truncated bits, the sum and its rounding."""
