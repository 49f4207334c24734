# SPDX-License-Identifier: MIT
"""Shapes and layouts of tcgen05.ld and tcgen05.st: the word of tensor memory for each register of each lane."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from wmma_emu.errors import OptionError, UnsupportedInstructionError, shorten
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.formats.arrays import integer_of
from wmma_emu.layouts.lane_map import LaneMap
from wmma_emu.layouts.spec import LANES, Ints

_MANUAL = "PTX ISA 9.0, 9.7.16.2.3 (data movement shape) and 9.7.16.8.3 (registers)"
_CUTE = "CuTe, copy_traits_sm100.hpp: SM100_TMEM_LOAD_*"
_B200 = (
    "published notes on LDTM (cicuvc/nvidia-sass-document on GitHub), 2026-09-19: tagged data stored in one shape and "
    "loaded in another on a B200 (32x32b.x2, 16x64b.x2, 16x128b.x4, 16x256b.x1, both halves of 16x32bx2)"
)
_SEEN = frozenset({"32x32b.x2", "16x64b.x2", "16x128b.x4", "16x256b.x1", "16x32bx2.x2"})
_KNOWN = Evidence("recorded", f"{_MANUAL}; {_CUTE}; {_B200}", _SEEN, Evidence("documented", f"{_MANUAL}; {_CUTE}"))


@dataclass(frozen=True, slots=True)
class TransferShape(Sourced):
    """One shape of tcgen05.ld and .st, for a repeat of 1.

    Parameters
    ----------
    name : str
        ``"16x64b"``: lanes of tensor memory, and bits of each lane.
    lanes : int
        The number of lanes of tensor memory that are accessed: 32, or 16.
    columns : int
        The number of columns for a repeat of 1.
    registers : int
        The number of registers of each lane of the warp.
    most : int
        The largest repeat, with 128 registers.
    position : callable
        The function from register and lane of the warp to lane and column of tensor memory, relative to the address.
    evidence : Evidence
        The evidence for the recorded repeats; see `known`.
    """

    name: str
    lanes: int
    columns: int
    registers: int
    most: int
    position: Callable[[Ints, Ints, int], tuple[Ints, Ints]]
    evidence: Evidence = _KNOWN

    @property
    def repeats(self) -> tuple[int, ...]:
        """Every legal ``.num``."""
        return tuple(1 << i for i in range(self.most.bit_length()))

    def known(self, num: int, packed: bool = False) -> Evidence:
        """Return the evidence for the positions of a repeat, or of its packed form, which was never read back."""
        return self.evidence.of(f"{self.name}.x{num}{'.packed' if packed else ''}")


def _32x32b(register: Ints, lane: Ints, num: int) -> tuple[Ints, Ints]:
    return lane, register


def _16x64b(register: Ints, lane: Ints, num: int) -> tuple[Ints, Ints]:
    return lane // 4 + 8 * (lane % 2), 2 * register + lane // 2 % 2


def _16x128b(register: Ints, lane: Ints, num: int) -> tuple[Ints, Ints]:
    return lane // 4 + 8 * (register % 2), 4 * (register // 2) + lane % 4


def _16x256b(register: Ints, lane: Ints, num: int) -> tuple[Ints, Ints]:
    return lane // 4 + 8 * (register // 2 % 2), 8 * (register // 4) + 2 * (lane % 4) + register % 2


def _16x32bx2(register: Ints, lane: Ints, num: int) -> tuple[Ints, Ints]:
    return lane % 16, register + num * (lane // 16)


SHAPES: dict[str, TransferShape] = {entry.name: entry for entry in (
    TransferShape("32x32b", 32, 1, 1, 128, _32x32b),
    TransferShape("16x64b", 16, 2, 1, 128, _16x64b),
    TransferShape("16x128b", 16, 4, 2, 64, _16x128b),
    TransferShape("16x256b", 16, 8, 4, 32, _16x256b),
    TransferShape("16x32bx2", 16, 2, 1, 128, _16x32bx2),
)}  # fmt: skip
"""Every shape by name. For 16x32bx2 the columns of the second access follow those of the first; in memory the two
accesses begin ``immHalfSplitoff`` columns apart."""


def tcgen05_layout(shape: str, num: int = 1, packed: bool = False) -> LaneMap:
    """Return the position of each register's word in tensor memory, in lanes and columns relative to the address.

    Parameters
    ----------
    shape : {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"}
    num : int
        The repeat, ``.num``: a power of two such that a lane has at most 128 registers.
    packed : bool
        With ``.pack::16b`` and ``.unpack::16b``, a register holds the lower halves of two adjacent columns.

    Returns
    -------
    LaneMap
        Rows are lanes of tensor memory, columns its columns: 32 bits each, or 16 if packed. For 16x32bx2 the second
        access's columns follow the first one's.

    Raises
    ------
    UnsupportedInstructionError
        If the shape or repeat does not exist.

    Examples
    --------
    >>> layout = tcgen05_layout("16x64b", 2)
    >>> layout
    <LaneMap 16x4: 2 elements of 32 bits a lane in 2 registers, recorded>
    >>> layout.element_at(lane=1, register=1)                     # lane bit 0 is the upper eight lanes
    (8, 2)
    >>> layout.locate(8, 2)
    (Location(lane=1, register=1, bit=0, element=1),)
    """
    entry = SHAPES.get(shape) if isinstance(shape, str) else None
    if entry is None:
        raise UnsupportedInstructionError(
            f"tcgen05.ld and .st have no shape {shorten(shape)}; legal shapes are {', '.join(SHAPES)}"
        )
    if not isinstance(packed, bool | np.bool_):
        raise OptionError(f"packed is True or False, not {shorten(packed)}")
    if integer_of(num) not in entry.repeats:
        legal = ", ".join(f".x{x}" for x in entry.repeats)
        raise UnsupportedInstructionError(f"{entry.name} has no repeat {shorten(num)}; legal repeats are {legal}")
    return _layout(entry, int(num), bool(packed))


@cache
def _layout(entry: TransferShape, num: int, packed: bool) -> LaneMap:
    register, lane = np.indices((entry.registers * num, LANES), np.int64)
    place, column = entry.position(register, lane, num)
    columns = entry.columns * num
    coords = np.stack((place, column), -1)
    if packed:
        halves = [np.stack((place, 2 * column + i), -1) for i in (0, 1)]
        coords = np.stack(halves, 1).reshape(-1, LANES, 2)
        columns *= 2
    known = entry.known(num, packed)
    return LaneMap(coords, entry.lanes, columns, 16 if packed else 32, len(coords), known.source, known.status)
