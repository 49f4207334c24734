# SPDX-License-Identifier: MIT
"""Block scales of an instruction for the page: the lanes with the scales of each row of A and each column of B."""

from typing import NamedTuple

from wmma_emu.applications.explorer.weights import linear, weights_of
from wmma_emu.errors import FragmentMismatchError
from wmma_emu.instructions import Instruction
from wmma_emu.layouts import scale_map, scale_selectors_of
from wmma_emu.layouts.block_scales import SCALED, Scaled


class LinesOfScales(NamedTuple):
    """The lanes with the scales of rows of A, or of columns of B.

    The amount that each bit of their number adds to the lane.

    There are ``thread_ids`` values of thread-id, starting at 0; the scales of each are ``step`` lanes further.
    """

    lines: int
    thread_ids: int
    step: int
    lane_of_line: tuple[int, ...]


class CodedScales(NamedTuple):
    """Block scales as the page reads them: the byte of a block is byte-id plus the number of the block.

    There are ``scales`` scales of a row of A and of a column of B, one for each ``block`` columns (rows); ``byte_ids``
    are the legal values of byte-id.
    """

    format: str
    scales: int
    block: int
    byte_ids: tuple[int, ...]
    a: LinesOfScales
    b: LinesOfScales
    source: str
    status: str


def coded_scales(instruction: Instruction) -> CodedScales:
    """Return the positions of the block scales of an instruction, by a rule that all instructions follow.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> found = coded_scales(lookup("m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"))
    >>> found[:4], tuple(found.a), tuple(found.b)
    (('ue8m0', 2, 32, (0, 2)), (16, 2, 2, (4, 8, 16, 1)), (8, 4, 1, (4, 8, 16)))
    """
    a, b = (_lines(instruction, operand) for operand in SCALED)
    found = scale_map(instruction, "a")
    byte_ids = scale_selectors_of(instruction, "a").byte_ids
    return CodedScales(
        instruction.scale, instruction.scale_vec, instruction.scale_block, byte_ids, a, b, found.source, found.status
    )


def _lines(instruction: Instruction, operand: Scaled) -> LinesOfScales:
    """Fit the rule of an operand, and check it for every choice of the selectors."""
    legal = scale_selectors_of(instruction, operand)
    first, second = (scale_map(instruction, operand, 0, x).lane for x in legal.thread_ids[:2])
    lanes = first[:, 0] if operand == "a" else first[0]
    found = LinesOfScales(len(lanes), len(legal.thread_ids), int(second[0, 0] - first[0, 0]), weights_of(lanes))
    of_line = linear(found.lines, found.lane_of_line)
    for thread_id in legal.thread_ids:
        for byte_id in legal.byte_ids:
            places = scale_map(instruction, operand, byte_id, thread_id)
            lane, byte = (x if operand == "a" else x.T for x in (places.lane, places.byte))
            expected = of_line[:, None] + found.step * thread_id
            if not ((lane == expected).all() and (byte == byte_id + linear(instruction.scale_vec, (1, 2))).all()):
                raise FragmentMismatchError(f"the scales of {instruction.mnemonic} are not linear in rows and columns")
    return found
