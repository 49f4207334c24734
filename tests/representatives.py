# SPDX-License-Identifier: MIT
"""Instructions for tests that do not need every n of `wgmma` or every mix of narrow formats."""

from wmma_emu.instructions import INSTRUCTIONS, Instruction

FAMILIES = tuple(dict.fromkeys(row.family for row in INSTRUCTIONS.values()))

_FP8 = {"e4m3", "e5m2"}
_MIXES = {("e4m3", "e2m1"), ("e2m1", "e3m2"), ("e3m2", "e5m2"), ("e5m2", "e2m3"), ("e2m3", "e4m3")}
"""Pairs of formats that represent all twenty: each format once in A and once in B."""


def _represents(row: Instruction) -> bool:
    if row.is_warpgroup:
        return row.n in (8, 24, 256)
    plain_fp8 = {row.a, row.b} <= _FP8 and not row.is_block_scaled
    mixes = any(x in row.modifiers for x in ("kind::f8f6f4", "kind::mxf8f6f4"))
    return plain_fp8 or not mixes or row.a == row.b or (row.a, row.b) in _MIXES


REPRESENTATIVES = {name: row for name, row in INSTRUCTIONS.items() if _represents(row)}
"""All instructions, with two exceptions: of `wgmma` the smallest n, the largest, and one n between powers of two; of
the 25 mixes of FP8, FP6 and FP4 the five of one format, and five of two."""
