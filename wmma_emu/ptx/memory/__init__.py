# SPDX-License-Identifier: MIT
"""Memory of the PTX machine: address spaces, the heap, asynchronous copies, races and uninitialised bits."""
