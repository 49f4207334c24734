# SPDX-License-Identifier: MIT
"""Which bits of a value nobody wrote, where that comes from, and what instructions make of it."""
