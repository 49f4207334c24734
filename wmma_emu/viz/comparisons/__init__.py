# SPDX-License-Identifier: MIT
"""Comparisons of chips: where and by how much their products differ."""
