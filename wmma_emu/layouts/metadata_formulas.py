# SPDX-License-Identifier: MIT
"""Formulas for the metadata of a sparse A: the lane and nibble that describe a chunk of a row, and the inverse."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from wmma_emu.instructions import Instruction
from wmma_emu.layouts.formula_set import FormulaSet
from wmma_emu.layouts.formula_text import Formula
from wmma_emu.layouts.linear import Linear, fit
from wmma_emu.layouts.metadata import granularity_of, metadata_map, selectors_of
from wmma_emu.layouts.spec import LANES


@dataclass(frozen=True, repr=False)
class MetadataFormulas(FormulaSet):
    """The formulas of the metadata of one sparse instruction; ``print`` writes them.

    Parameters
    ----------
    instruction : Instruction
    lane, nibble : Linear
        Functions of row and chunk of A, and of the sparsity selector if there are several.
    row, chunk : Linear
        Functions of a lane and a nibble of its register, counted from the low bits. Each lane belongs to one selector.
    selector : Linear or None
        A function of a lane: the selector with which the instruction reads its register.
    bit : Linear
        A function of a nibble: its lowest bit.

    Notes
    -----
    For `wgmma`, the lane is the thread of the warpgroup, 0 to 127.
    """

    instruction: Instruction
    lane: Linear
    nibble: Linear
    row: Linear
    chunk: Linear
    selector: Linear | None
    bit: Linear

    def __repr__(self) -> str:
        return f"<MetadataFormulas of {self.instruction.mnemonic}>"

    def _formulas(self) -> tuple[Formula, ...]:
        selector = () if self.selector is None else (Formula("selector", self.selector),)
        return (
            Formula("lane", self.lane, by_weight=True),
            Formula("nibble", self.nibble, by_weight=True),
            Formula("row", self.row),
            Formula("chunk", self.chunk),
            *selector,
            Formula("bit", self.bit, is_derived=False),
        )

    def _title(self, name: str) -> list[str]:
        ins = self.instruction
        about, found = granularity_of(ins), metadata_map(ins)
        what = f"metadata of {ins.mnemonic}, {about.name}: a nibble for each {about.chunk} columns of A."
        ranges = self.row.inputs + self.lane.inputs
        return [
            f"{name}: {what}" if name else what,
            ", ".join(f"{x} is 0 to {size - 1}" for x, size in ranges) + ".",
            f"{found.status.capitalize()}; source: {found.source}.",
        ]

    def _remarks(self) -> list[str]:
        return [f"bit = {self.one_line()['bit']}: a nibble is four bits of the register."]


@cache
def metadata_formulas(instruction: Instruction) -> MetadataFormulas:
    """Derive the formulas from the metadata maps of all selectors, and verify them on every nibble, both ways.

    Raises
    ------
    UnsupportedInstructionError
        If the instruction is dense.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> print(metadata_formulas(lookup("mma.sp.m16n8k16.f32.f16.f16.f32")))
    lane = row % 8 * 4 + selector
    nibble = row / 8 * 4 + chunk
    row = lane / 4 + nibble / 4 * 8
    chunk = nibble % 4
    selector = lane % 4
    bit = nibble * 4
    >>> print(metadata_formulas(lookup("mma.sp.m16n8k64.s32.s8.s8.s32")))
    lane = row % 8 * 4 + chunk / 8 * 2 + row / 8
    nibble = chunk % 8
    row = lane % 2 * 8 + lane / 4
    chunk = 8 * (lane / 2 % 2) + nibble
    bit = nibble * 4
    """
    maps = [metadata_map(instruction, selector) for selector in selectors_of(instruction)]
    several = len(maps) > 1
    # With four warps, each warp has the metadata of its sixteen rows.
    warp = np.arange(instruction.m)[:, None] // 16
    lane = np.stack([found.lane + LANES * warp for found in maps], axis=-1)
    nibble = np.stack([found.nibble for found in maps], axis=-1)
    holder = np.argsort(lane * 8 + nibble, axis=None).reshape(LANES * instruction.warps, 8)
    row, chunk, selector = np.unravel_index(holder, lane.shape)
    names = ("row", "chunk", "selector")[: 2 + several]
    if not several:
        lane, nibble = lane[..., 0], nibble[..., 0]
    return MetadataFormulas(
        instruction,
        fit("lane", lane, names),
        fit("nibble", nibble, names),
        fit("row", row, ("lane", "nibble")),
        fit("chunk", chunk, ("lane", "nibble")),
        fit("selector", selector[:, 0], ("lane",)) if several else None,
        fit("bit", np.arange(8) * 4, ("nibble",)),
    )
