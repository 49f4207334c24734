# SPDX-License-Identifier: MIT
"""Layouts of `mma.sync`, `mma.sp` and `wgmma`, from the PTX ISA: one tiling rule, and quad pairs for f16 `m8n8k4`."""

from functools import cache

import numpy as np

from wmma_emu.evidence import Evidence, Run
from wmma_emu.instructions.arch import arch_of
from wmma_emu.instructions.spec import Arch, Instruction, Operand
from wmma_emu.instructions.table import GROUPS
from wmma_emu.layouts import quad_pairs
from wmma_emu.layouts.lane_map import LaneMap
from wmma_emu.layouts.spec import LANES
from wmma_emu.layouts.tiling import Tiling

_PROBED = "measured: raw registers of every instruction reproduced, NVIDIA H200, driver 580.159.04, 2026-11-21"
"""The evidence on sm_90 for the documented layouts; for instructions of other chips there is only the manual."""


def mma_layout(instruction: Instruction, operand: Operand, arch: "str | Arch") -> LaneMap:
    """Return the layout of an operand of `mma.sync`, `mma.sp` or `wgmma` in registers.

    The layout is the same on every chip; only its evidence depends on the chip. A sparse A is packed. For `wgmma`, four
    warps hold 16 rows each of A, C and D, from top to bottom. Elements of ``kind::f8f6f4`` and ``kind::mxf8f6f4`` take
    a byte each, and count as eight bits here; `Instruction.container` gives the position of a narrower element in it.

    Examples
    --------
    >>> from wmma_emu.instructions.table import INSTRUCTIONS
    >>> volta = INSTRUCTIONS["mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"]
    >>> mma_layout(volta, "d", "sm_70")
    <LaneMap 4 x 8x8: 8 elements of 32 bits a lane in 8 registers, documented>
    >>> mma_layout(volta, "d", "sm_70").locate(5, 6, matrix=2)
    (Location(lane=27, register=4, bit=0, element=4),)
    """
    m, n, k = instruction.m // instruction.warps, instruction.n, instruction.k
    bits = instruction.container(operand).bits
    known = _evidence(instruction, arch_of(arch).name)
    if (instruction.shape, instruction.a) == ("m8n8k4", "f16"):
        along_k = {"a": instruction.a_layout == "row", "b": instruction.b_layout == "col"}.get(operand, False)
        return _quad_pair_layout(operand, bits, along_k, known)
    run = max(1, 32 // bits)
    tiling = {
        "a": Tiling.over(m, instruction.terms, run),
        "b": Tiling.over(n, k, run, transposed=True),
    }.get(operand, Tiling.over(m, 8, 2)._replace(times=n // 8))
    return _tiled_layout(tiling, instruction.warps, bits, known, operand == "b")


def _evidence(instruction: Instruction, arch: str) -> Evidence:
    """Return the evidence for the layouts of an instruction on a chip."""
    name = instruction.mnemonic
    group = GROUPS.get(name)
    figure = group and group.figure(instruction)
    if not figure:
        return Evidence("inferred", "the rule of every shape of mma.sync that the manual has figures of")
    source = f"PTX ISA 9.1, section {figure}"
    figures = Evidence("documented", source, Run("assembled", arch))
    return Evidence("measured", f"{source}; {_PROBED}", Run("campaign", arch), figures).of(name)


@cache
def _tiled_layout(tiling: Tiling, warps: int, bits: int, known: Evidence, of_b: bool) -> LaneMap:
    """Build a layout once for all instructions that share it; tiles of four warps are stacked from top to bottom."""
    rows, cols = tiling.shape
    coords = tiling.coords()
    if warps > 1:
        below = np.stack((rows * np.arange(warps), np.zeros(warps, np.int64)), axis=-1)
        coords = coords[:, None] + below[:, None]
    return LaneMap(coords, rows * warps, cols, bits, tiling.num_elements, known.source, known.status, of_b=of_b)


@cache
def _quad_pair_layout(operand: Operand, bits: int, along_k: bool, known: Evidence) -> LaneMap:
    """Build the layout of four independent 8x8x4 products, each in one quad pair."""
    element = np.arange(4 if operand in ("a", "b") else 8)[:, None]
    lane = np.arange(LANES)
    if operand in ("a", "b"):
        outer, k = quad_pairs.multiplicand(element, lane, along_k)
        coords = np.stack((outer, k) if operand == "a" else (k, outer), axis=-1)
        rows, cols = (8, 4) if operand == "a" else (4, 8)
    else:
        coords = np.stack(quad_pairs.accumulator(element, lane, bits), axis=-1)
        rows, cols = 8, 8
    return LaneMap(
        coords, rows, cols, bits, len(coords), known.source, known.status, quad_pairs.QUAD_PAIR_OF_LANE, operand == "b"
    )
