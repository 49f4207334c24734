# SPDX-License-Identifier: MIT
"""Comparisons of chips: where their products differ, and how far."""
