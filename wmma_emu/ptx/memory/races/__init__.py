# SPDX-License-Identifier: MIT
"""Detection of races: the accesses to each byte of memory that no order separates."""
