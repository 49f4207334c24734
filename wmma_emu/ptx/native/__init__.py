# SPDX-License-Identifier: MIT
"""The native machine: threaded code for PTX, with the bits of the NumPy machine, which alone writes findings.

A kernel is a table: each entry names a native function for one operation on the 32 lanes of a warp, and a record with
the positions of its operands. Nothing is compiled for a kernel, except operations that no kernel has used before.
"""
