# SPDX-License-Identifier: MIT
"""Schedules: the machine instructions of a product, and the blocks that each of them multiplies."""
