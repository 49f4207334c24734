# SPDX-License-Identifier: MIT
"""Memory: who loads what from where, which banks meet, and where a swizzle puts it."""
