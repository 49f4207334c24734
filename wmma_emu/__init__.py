# SPDX-License-Identifier: MIT
"""A bit-exact functional emulator of NVIDIA's matrix instructions, in Python on NumPy."""

__version__ = "0.1.0"
