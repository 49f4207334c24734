# SPDX-License-Identifier: MIT
"""Kernels of public repositories: their launches as bundles, and a page of what a GPU and the emulator made of them."""
