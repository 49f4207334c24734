# SPDX-License-Identifier: MIT
"""One question for each distinct layout, and the answer of the layouts' room to compare with."""

from typing import NamedTuple

from tests.representatives import REPRESENTATIVES
from wmma_emu.instructions import OPERANDS
from wmma_emu.layouts import LaneMap, layout_for


class LayoutWords(NamedTuple):
    """A command line's words for a layout, and the layout."""

    instruction: str
    operand: str
    chip: str
    layout: LaneMap

    @property
    def words(self) -> list[str]:
        return [self.instruction, "--operand", self.operand, "--arch", self.chip]

    def __str__(self) -> str:
        return f"{self.operand} {self.instruction} {self.chip}"


def _distinct() -> list[LayoutWords]:
    found: dict[LaneMap, LayoutWords] = {}
    for row in REPRESENTATIVES.values():
        for chip in row.archs:
            for operand in (x for x in OPERANDS if row.registers(x)):
                layout = layout_for(row, operand, chip)
                found.setdefault(layout, LayoutWords(row.short_mnemonic, operand.upper(), chip, layout))
    return list(found.values())


CASES = _distinct()
"""Every distinct layout once, of `wgmma` those of three n.

Two layouts are equal if their elements, shapes and copies are.
"""
