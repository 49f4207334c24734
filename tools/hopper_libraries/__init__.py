# SPDX-License-Identifier: MIT
"""Kernels of public libraries for Hopper, launched by host programs of this project, recorded and compared."""
