# SPDX-License-Identifier: MIT
"""Metadata of sparse instructions for the page: the nibble and lane for each chunk, as weights."""

from typing import NamedTuple

from wmma_emu.applications.explorer.weights import linear, weights_of
from wmma_emu.errors import FragmentMismatchError
from wmma_emu.instructions import Instruction
from wmma_emu.layouts import granularity_of, metadata_map, selectors_of


class CodedMetadata(NamedTuple):
    """The positions of metadata, as the page reads them; granularity is in the manual's notation, ``"2:4"``.

    A row has ``chunks`` chunks of ``chunk`` columns, each described by a nibble. Each selector's metadata is ``step``
    lanes further. Weights are the amounts that each bit of a row and of a chunk adds to the lane and to the nibble.
    Each legal nibble comes with the columns of its chunk that it names.
    """

    granularity: str
    chunk: int
    chunks: int
    selectors: int
    step: int
    lane_of_row: tuple[int, ...]
    lane_of_chunk: tuple[int, ...]
    nibble_of_row: tuple[int, ...]
    nibble_of_chunk: tuple[int, ...]
    legal: tuple[tuple[int, tuple[int, ...]], ...]
    rows: int


def coded_metadata(instruction: Instruction) -> CodedMetadata:
    """Return the positions of the metadata of a sparse instruction, which are linear in the bits of row and chunk.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> coded_metadata(lookup("mma.sp.m16n8k32.f32.f16.f16.f32"))[:9]
    ('2:4', 4, 8, 2, 2, (4, 8, 16, 0), (0, 0, 1), (0, 0, 0, 4), (1, 2, 0))
    """
    granularity = granularity_of(instruction)
    maps = [metadata_map(instruction, selector) for selector in selectors_of(instruction)]
    first = maps[0]
    rows, chunks = first.lane.shape
    step = int(maps[1].lane[0, 0]) if len(maps) > 1 else 0
    of_lane = (weights_of(first.lane[:, 0]), weights_of(first.lane[0]))
    of_nibble = (weights_of(first.nibble[:, 0]), weights_of(first.nibble[0]))
    lane, nibble = (linear(rows, row)[:, None] + linear(chunks, chunk) for row, chunk in (of_lane, of_nibble))
    for selector, found in enumerate(maps):
        if not ((found.lane == lane + step * selector).all() and (found.nibble == nibble).all()):
            raise FragmentMismatchError(f"the metadata of {instruction.mnemonic} is not linear in rows and chunks")
    return CodedMetadata(
        granularity.name, granularity.chunk, chunks, len(maps), step, *of_lane, *of_nibble,
        tuple(granularity.nibbles.items()), rows,
    )  # fmt: skip
