# SPDX-License-Identifier: MIT
"""Operands: the matrix with the lanes that hold it, and the registers of the lanes."""
