# SPDX-License-Identifier: MIT
"""Recordings of the launches of unmodified CUDA programs, in C++ or with the runtime's C interface."""
