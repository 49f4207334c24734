# SPDX-License-Identifier: MIT
"""Memory: addresses and lanes of loads, bank conflicts, and swizzles."""
