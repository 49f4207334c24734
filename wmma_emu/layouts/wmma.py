# SPDX-License-Identifier: MIT
"""The layout of a WMMA fragment on a chip: the table's entry, or the exception of the chip's generation."""

from functools import cache

import numpy as np

from wmma_emu.chip_sets import chips_since
from wmma_emu.chips import ARCHS
from wmma_emu.errors import OptionError, UnsupportedInstructionError, shorten
from wmma_emu.formats import Format, format_of
from wmma_emu.instructions.arch import arch_of
from wmma_emu.instructions.spec import Arch
from wmma_emu.layouts.lane_map import LaneMap
from wmma_emu.layouts.tiling import Tiling
from wmma_emu.layouts.wmma_table import (
    DIFFERENT,
    FRAGMENTS,
    PADDED,
    USES,
    FragmentShape,
    MemoryLayout,
    Use,
)


def fragment_layout(
    use: Use,
    m: int,
    n: int,
    k: int,
    fmt: "str | Format",
    memory_layout: MemoryLayout | None,
    arch: "str | Arch",
) -> LaneMap:
    """Return the positions of a WMMA fragment's elements.

    Parameters
    ----------
    use : {"matrix_a", "matrix_b", "accumulator"}
    m, n, k : int
        The shape of the product.
    fmt : str or Format
        The format of the elements: ``"f16"``, ``"s8"``, ``"tf32"``.
    memory_layout : {"row", "col", None}
        The storage order of the matrix, which matters on Volta only. None for an accumulator.
    arch : str or Arch

    Raises
    ------
    UnsupportedInstructionError
        If `mma.h` or the chip does not have the fragment.

    Notes
    -----
    On Volta a quad pair multiplies separate replicas of A and B: all elements are read, and each replica belongs to
    one 8x8 block of the product. Since Turing the replicas are in the same lane and only the first ones are read.

    Examples
    --------
    >>> fragment_layout("matrix_a", 16, 16, 16, "f16", "row", "sm_75")
    <LaneMap 16x16: 16 elements of 16 bits a lane in 8 registers, each held 2 times, inferred>
    >>> fragment_layout("matrix_a", 16, 16, 16, "f16", "row", "sm_75").locate(0, 1)
    (Location(lane=0, register=0, bit=16, element=1), Location(lane=0, register=4, bit=16, element=9))
    >>> fragment_layout("matrix_a", 16, 16, 16, "f16", "row", "sm_70").locate(0, 1)
    (Location(lane=0, register=0, bit=16, element=1), Location(lane=8, register=0, bit=16, element=1))
    """
    chip, name, shape = arch_of(arch), format_of(fmt).name, f"m{m}n{n}k{k}"
    entry = FRAGMENTS.get((shape, use, name))
    if entry is None:
        raise UnsupportedInstructionError(f"WMMA has no {use} fragment of {shape} in {name}; {_legal(shape, use)}")
    if chip.name not in chips_since(entry.since):
        raise UnsupportedInstructionError(
            f"WMMA has {use} fragments of {shape} in {name} since {entry.since}, not on {chip.name}"
        )
    if use == "accumulator":
        if memory_layout is not None:
            raise OptionError(
                f"an accumulator fragment has no memory layout, {shorten(memory_layout)} was given; pass None"
            )
    elif memory_layout not in entry.stored:
        legal = " or ".join(repr(x) for x in entry.stored)
        raise OptionError(f"a {use} fragment of {shape} in {name} is stored as {legal}, not {shorten(memory_layout)}")
    return _fragment_layout(entry, name, memory_layout, chip.name)


@cache
def _fragment_layout(entry: FragmentShape, name: str, memory_layout: MemoryLayout | None, arch: str) -> LaneMap:
    """Build a layout once: the generation's exception if there is one, followed by duplicates."""
    generation, evidence = ARCHS[arch].wmma
    rule = DIFFERENT[generation].get((entry.shape, entry.use, name), entry.tiling)
    bits = format_of(name).bits
    if isinstance(rule, Tiling):
        coords = rule.coords()
    else:
        along_k = memory_layout == ("row" if entry.use == "matrix_a" else "col")
        coords = rule.coords(entry.use, bits, along_k)
    repeats = max(1, PADDED.get((entry.use, name), 0) // len(coords))
    rows, cols = entry.tiling.shape
    known = evidence.of(" ".join(x for x in (entry.use, entry.shape, name, memory_layout) if x))
    return LaneMap(np.tile(coords, (repeats, 1, 1)), rows, cols, bits, len(coords), known.source, known.status,
                   of_b=entry.use == "matrix_b")  # fmt: skip


def _legal(shape: str, use: str) -> str:
    """Return the legal alternatives to a fragment that does not exist."""
    if use not in USES:
        return f"uses are {', '.join(USES)}"
    shapes = list(dict.fromkeys(s for s, _, _ in FRAGMENTS))
    if shape not in shapes:
        return f"shapes are {', '.join(shapes)}"
    return f"formats are {', '.join(name for s, u, name in FRAGMENTS if (s, u) == (shape, use))}"
