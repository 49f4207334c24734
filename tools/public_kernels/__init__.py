# SPDX-License-Identifier: MIT
"""Kernels of public repositories: their launches as bundles, and a page that compares a GPU with the emulator."""
