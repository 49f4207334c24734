# SPDX-License-Identifier: MIT
"""Textures and surfaces: what an object is, where a coordinate lies, and what a fetch returns."""
