# SPDX-License-Identifier: MIT
"""Explanations: terms as rows of bits on one ruler, what is cut, the sum, its rounding."""
