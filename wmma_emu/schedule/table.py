# SPDX-License-Identifier: MIT
"""The division of matrix instructions into machine instructions, and their order."""

from typing import Literal, NamedTuple

from wmma_emu.evidence import Evidence
from wmma_emu.instructions.table import INSTRUCTIONS

_SEEN = Evidence("inferred", "registers in the machine code of ptxas 13.0, 2026-11-22")
_SEEN_72 = Evidence("inferred", "registers in the machine code of ptxas 13.0 (sm_72: 12.4), 2026-11-22")

_VOLTA_SOURCE = (
    "Raihan, Goli and Aamodt, arXiv 1811.08309, tables II and III; registers in the machine code of ptxas 12.4 "
    "(sm_75: 13.0), 2026-11-22"
)
LIKE_TITAN_V = Evidence("inferred", f"as m16n16k16 on a Titan V: {_VOLTA_SOURCE}")
VOLTA_SETS = {
    "sm_70": Evidence(
        "literature",
        _VOLTA_SOURCE,
        frozenset(
            name for name, x in INSTRUCTIONS.items() if (x.family, x.shape, x.a) == ("wmma.mma", "m16n16k16", "f16")
        ),
        LIKE_TITAN_V,
    )
}
"""The evidence for sets, steps, threadgroups and octets, which machine code does not show: measured on a Titan V in the
paper."""

WHOLE_SOURCE = "one machine instruction, which makes all of D"
"""The source for instructions that are a single machine instruction."""


class Order(NamedTuple):
    """Machine instructions that divide a product into tiles of D and parts of k.

    ``opcode`` is the beginning of their names. ``tile`` is rows and columns of D, 0 for all; a product with fewer rows
    than a tile is computed as its transpose. ``loops`` lists the loops from the outermost to the innermost: ``k``,
    ``m`` (rows) or ``n`` (columns). ``ks`` are the parts of k: the number of k in a run, or residues:
    ``(modulus, ((0, 1), (2, 3)))`` is first every k with ``k % modulus`` 0 or 1, then the others, within each ``block``
    of k. ``b_ks`` are the parts for B, if A is sparse and packed. ``start`` is the addend of the first machine
    instruction of each tile, or ``"zeros"``: all of them add to zero, and the sums are added afterwards.
    """

    opcode: str
    families: str
    operands: str
    tile: tuple[int, int]
    loops: str
    ks: int | tuple[int, tuple[tuple[int, ...], ...]] = 0
    b_ks: tuple[int, tuple[tuple[int, ...], ...]] | None = None
    block: int = 0
    start: Literal["c", "zero", "zeros"] = "c"
    before: str = ""
    evidence: Evidence = _SEEN


_BYTES = (4, ((0, 1), (2, 3)))
_NIBBLES = (2, ((0,), (1,)))
_BITS = (4, ((3,), (2,), (1,), (0,)))
_TO_F16 = "bytes 0 and 1, later bytes 2 and 3, of every register of A and B are converted to f16"
_TO_BYTES = "the even, later the odd nibbles of A and B are widened to bytes"
_SPREAD = "every fourth bit of A and B, from bit 3 of each nibble down to bit 0, is spread to a byte"
_SPARSE = "mma.sp mma.sp::ordered_metadata"

ORDERS = (
    # Turing: k first, because the D of an instruction is the C of the next but one
    Order("HMMA.1688", "wmma.mma", "f16", (16, 8), "kmn", 8),
    Order("IMMA.8816", "wmma.mma", "s8 u8", (8, 8), "knm", 16, evidence=_SEEN_72),
    # Ampere and later
    Order("HMMA.16816", "wmma.mma", "f16 bf16", (16, 8), "kmn", 16),
    Order("IMMA.16816", "wmma.mma", "s8 u8", (16, 8), "kmn", 16),
    Order("HMMA.1684", "wmma.mma", "tf32", (16, 8), "kmn", 4),
    Order("DMMA.8x8x4", "mma.sync", "f64", (8, 8), "kmn", 4),
    # software around a narrower unit
    Order("HMMA", "mma.sync", "e4m3 e5m2", (0, 0), "k", _BYTES, start="zero", before=_TO_F16),
    Order("HMMA.SP", _SPARSE, "e4m3 e5m2", (0, 0), "k", _BYTES, (8, ((0, 1, 2, 3), (4, 5, 6, 7))), start="zero",
          before=_TO_F16),
    Order("IMMA", "mma.sync wmma.mma", "s4 u4", (0, 0), "k", _NIBBLES, start="zeros", before=_TO_BYTES),
    Order("IMMA.SP", _SPARSE, "s4 u4", (0, 0), "k", _NIBBLES, _NIBBLES, start="zeros", before=_TO_BYTES),
    Order("IMMA.16832", "mma.sync wmma.mma", "b1:and", (0, 0), "k", _BITS, block=128, before=_SPREAD),
)  # fmt: skip
"""Every instruction that becomes several machine instructions, except Volta's HMMA.884."""


class QuadStep(NamedTuple):
    """The part of a threadgroup in a step of HMMA.884: some of its four rows, and of its octet's eight columns."""

    rows: range
    cols: range


QUAD_STEPS: dict[str, tuple[QuadStep, ...]] = {
    "F32": tuple(QuadStep(range(row, row + 2), range(col, col + 4)) for col in (0, 4) for row in (0, 2)),
    "F16": tuple(QuadStep(range(4), range(col, col + 4)) for col in (0, 4)),
}
"""The steps of a set, by the format that is written."""


class Undivided(NamedTuple):
    """Instructions that have no schedule from a chip onward, with the reason; ``{machine}`` is their machine code."""

    families: str
    operands: str
    since: str
    reason: str
    evidence: Evidence = _SEEN
    shape: str = ""


_TWICE = "one for A and the complement of B, one for the complement of A and B"

UNDIVIDED = (
    Undivided("mma.sync", "f16", "sm_80",
              "it is executed by {machine}; no single one computes a block of D, and which lane computes what is not "
              "known",
              Evidence("inferred", "ptxas 12.8 (sm_86: 12.4; kinds of operations: 13.0), cubins disassembled, "
                       "2026-11-20"), "m8n8k4"),
    Undivided("mma.sync wmma.mma", "b1:xor", "sm_90",
              "it is executed by {machine}, " + _TWICE + ", added up with C: both take every k"),
    Undivided("mma.sync wmma.mma", "b1:xor", "sm_100",
              "it is executed by {machine} in a routine that runs twice, " + _TWICE + ", added up with C: every k is "
              "taken twice"),
)  # fmt: skip
"""Instructions whose machine code does not divide D and k, or is not known to do so."""
