# SPDX-License-Identifier: MIT
"""`mma.h` in Python, letter by letter: fragments, loads, stores and products of a warp."""
