# SPDX-License-Identifier: MIT
"""Triton's launches on the emulator: a driver, through the interface that Triton has for drivers."""
