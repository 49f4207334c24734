# SPDX-License-Identifier: MIT
"""Rows for tests that need not see every n of `wgmma`: the rows that differ in n alone stand for each other."""

from wmma_emu.instructions import INSTRUCTIONS

FAMILIES = tuple(dict.fromkeys(row.family for row in INSTRUCTIONS.values()))

REPRESENTATIVES = {
    name: row for name, row in INSTRUCTIONS.items() if not row.is_warpgroup or row.n in (8, 24, 256)
}  # fmt: skip
"""Every row, but of `wgmma` the smallest n, the largest, and one that is no power of two."""
