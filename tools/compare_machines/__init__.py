# SPDX-License-Identifier: MIT
"""Comparisons of the native machine with the NumPy machine, launch by launch."""
