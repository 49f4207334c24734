# SPDX-License-Identifier: MIT
"""Races on shared and global memory: who accessed each granule last, and whether that is ordered before what comes."""
