# SPDX-License-Identifier: MIT
"""Tensor maps: the 128 bytes that describe a tensor to the copy engine (TMA), and the boxes that it copies."""
