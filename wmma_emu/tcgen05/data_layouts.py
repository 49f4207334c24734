# SPDX-License-Identifier: MIT
"""Positions of the matrices of `tcgen05.mma` in tensor memory: D, A, the block scales, the metadata of a sparse A.

All of them follow from the data path of the instruction: the number of rows of D per CTA, whether they fill all lanes
or half of every 32, and the number of parts into which the columns of D are folded.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal

import numpy as np

from wmma_emu.errors import (
    ArgumentError,
    CallError,
    OptionError,
    UnknownNameError,
    UnsupportedInstructionError,
    shorten,
)
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.formats.arrays import integer_of
from wmma_emu.instructions.spec import Instruction
from wmma_emu.layouts import granularity_of
from wmma_emu.layouts.spec import Ints

_MANUAL = "PTX ISA 9.3, data path layout organization of tcgen05"
_CUTE = "CuTe (CUTLASS 4), mma_traits_sm100.hpp"
_documented = partial(Evidence, "documented")
_QUARTER, _WORD = 32, 32
_KEPT = 32
"""The number of cached placements; the largest take two million bytes."""


@dataclass(frozen=True, slots=True)
class DataPath(Sourced):
    """A distribution of the rows and columns of D over the lanes.

    Parameters
    ----------
    layout : str
        The manual's letter for it.
    m, cta_group : int
    sparse, ws : tuple of bool
        The instructions that use it.
    parts : int
        The number of parts into which the columns are folded, stacked in the lanes.
    half : bool
        Whether 16 of every 32 lanes are used, the lower or the upper ones.
    evidence : Evidence
    """

    layout: str
    m: int
    cta_group: int
    sparse: tuple[bool, ...]
    ws: tuple[bool, ...]
    parts: int
    half: bool
    evidence: Evidence

    @property
    def rows(self) -> int:
        """The number of rows of D of a CTA."""
        return self.m // self.cta_group

    def lane(self, row: Ints, part: Ints | int = 0) -> Ints:
        """Return the lane of a CTA's row, in a part of the columns."""
        if self.half:
            return _QUARTER * (row // 16) + row % 16
        found: Ints = row + self.rows * part
        return found


_BOTH = (False, True)

DATA_PATHS = (
    DataPath("A", 256, 2, _BOTH, (False,), 1, False, _documented(f"{_MANUAL}: layout A, 4x1")),
    DataPath("B", 128, 2, (False,), (False,), 2, False,
             _documented(f"{_MANUAL}: layout B, 2x2; {_CUTE}, tmem_frg_2sm")),
    DataPath("C", 128, 2, (True,), (False,), 1, True, _documented(f"{_MANUAL}: layout C, 4x1, half the lanes")),
    DataPath("D", 128, 1, _BOTH, _BOTH, 1, False,
             _documented(f"{_MANUAL}: layout D, 4x1; {_CUTE}, tmem_frg_1sm, tmem_frg_ws")),
    DataPath("E", 64, 1, _BOTH, (True,), 2, False, _documented(f"{_MANUAL}: layout E; {_CUTE}, tmem_frg_ws")),
    DataPath("F", 64, 1, _BOTH, (False,), 1, True,
             _documented(f"{_MANUAL}: layout F, 4x1, half the lanes; {_CUTE}, tmem_frg_1sm")),
    DataPath("G", 32, 1, _BOTH, (True,), 4, False, _documented(f"{_MANUAL}: layout G, 1x4; {_CUTE}, tmem_frg_ws")),
)  # fmt: skip
"""Every data path, A to G."""


def require_tensor(instruction: object) -> None:
    """Reject anything but a `tcgen05.mma` instruction."""
    if not isinstance(instruction, Instruction):
        raise CallError(
            f"{shorten(instruction)} is not an Instruction; use tensor_instruction or tensor_instruction_named"
        )
    if not instruction.is_tensor:
        raise OptionError(f"{instruction.mnemonic} is not a tcgen05.mma: it does not use tensor memory")


def data_path(instruction: Instruction) -> DataPath:
    """Return the data path of an instruction.

    Raises
    ------
    UnsupportedInstructionError
        If the instruction is not a `tcgen05.mma`.

    Examples
    --------
    >>> from wmma_emu.instructions.tensor import tensor_instruction
    >>> data_path(tensor_instruction("f16", 128, 64, "f32", "f16", "f16", cta_group=2)).layout
    'B'
    """
    require_tensor(instruction)
    group = 2 if "cta_group::2" in instruction.modifiers else 1
    ws = instruction.family.startswith("tcgen05.mma.ws")
    return next(
        x
        for x in DATA_PATHS
        if (x.m, x.cta_group) == (instruction.m, group) and instruction.is_sparse in x.sparse and ws in x.ws
    )


@dataclass(frozen=True, eq=False)
class Placement(Sourced):
    """The position of every element of an operand: the CTA of the pair, lane and column of tensor memory, and bits.

    Parameters
    ----------
    operand : str
    shape : tuple of int
        Rows and columns of the operand's matrix.
    bits : int
        Bits of a cell: an element with its padding; four for metadata.
    cta, lane, column, bit : int array, shape (copies, rows, columns)
        Lane and column relative to the operand's address, and the bit of the cell's lowest bit.
        An operand that several parts of the unit read is stored once for each of them: the replicas.
    evidence : Evidence
    """

    operand: str
    shape: tuple[int, int]
    bits: int
    cta: Ints
    lane: Ints
    column: Ints
    bit: Ints
    evidence: Evidence

    def __repr__(self) -> str:
        rows, cols = self.shape
        copies = "" if self.copies == 1 else f" in {self.copies} copies"
        return (
            f"<Placement of {self.operand}: {rows}x{cols} cells of {self.bits} bits{copies}, {self.columns} columns of "
            f"tensor memory, {self.status}>"
        )

    @property
    def copies(self) -> int:
        """The number of replicas of each element."""
        return int(self.cta.shape[0])

    @property
    def columns(self) -> int:
        """The number of columns of tensor memory that it occupies from its address."""
        return int(self.column.max()) + 1

    def element(self, cta: int, lane: int, column: int, bit: int) -> tuple[int, int] | None:
        """Return row and column of the element that includes a bit, or None if no element does: the inverse.

        Raises
        ------
        FragmentMismatchError
            If a value is not an integer.

        Examples
        --------
        >>> from wmma_emu.instructions.tensor import tensor_instruction
        >>> d = d_placement(tensor_instruction("f16", 64, 32, "f32", "f16", "f16"))
        >>> d.lane[0, 17, 5], d.column[0, 17, 5], d.element(0, 33, 5, 0), d.element(0, 17, 5, 0)
        (np.int64(33), np.int64(5), (17, 5), None)
        """
        for name, given in (("cta", cta), ("lane", lane), ("column", column), ("bit", bit)):
            if integer_of(given) is None:
                raise ArgumentError(f"{name} of a position in tensor memory is an integer, not {shorten(given)}")
        at = (self.cta == cta) & (self.lane == lane) & (self.column == column)
        found = np.argwhere(at & (self.bit <= bit) & (bit < self.bit + self.bits))
        return (int(found[0, 1]), int(found[0, 2])) if len(found) else None


def _placement(operand: str, bits: int, cta: Ints, lane: Ints, position: Ints, known: Evidence) -> Placement:
    """Complete a placement; ``position`` counts bits along a lane."""
    places = np.broadcast_arrays(cta, lane, position // _WORD, position % _WORD)
    pair, lanes, column, bit = (np.ascontiguousarray(x) for x in places)
    for shared in (pair, lanes, column, bit):
        shared.setflags(write=False)
    rows, columns = pair.shape[1:]
    return Placement(operand, (rows, columns), bits, pair, lanes, column, bit, known)


def d_placement(instruction: Instruction) -> Placement:
    """Return the placement of D, and of C, which D overwrites.

    An element occupies a column; a 16-bit element occupies its lower half.

    Examples
    --------
    >>> from wmma_emu.instructions.tensor import tensor_instruction
    >>> d = d_placement(tensor_instruction("tf32", 32, 64, "f32", "tf32", "tf32", ws=True))
    >>> d.lane[0, 3, ::16].tolist(), d.column[0, 3, ::16].tolist()
    ([3, 35, 67, 99], [0, 0, 0, 0])
    """
    require_tensor(instruction)
    return _d(instruction)


@lru_cache(maxsize=_KEPT)
def _d(instruction: Instruction) -> Placement:
    path = data_path(instruction)
    row, column = np.indices((instruction.m, instruction.n))
    width = instruction.n // path.parts
    lane = path.lane(row % path.rows, column // width)
    position = (column % width) * _WORD
    bits = instruction.format("d").bits
    return _placement("D", bits, (row // path.rows)[None], lane[None], position[None], path.evidence)


_A_SOURCE = (
    f"{_MANUAL}; packing formats of A in tensor memory; {_CUTE}, FrgTypeA of the TS atoms, TmemAllocMode::Duplicated; "
    "of .ws CuTe has no such atom: as the data path of D asks for"
)


def a_placement(instruction: Instruction) -> Placement:
    """Return the placement of A in tensor memory: a row per lane, k along the columns; a sparse A is packed.

    If the columns of D are folded, every part has a replica of A. A cell is the container of an element (see
    `Instruction.container`). The manual shows the position of a narrow element in its byte only in a figure; it is
    assumed to be as for `mma.sync`, which the text describes.

    Examples
    --------
    >>> from wmma_emu.instructions.tensor import tensor_instruction
    >>> a = a_placement(tensor_instruction("f16", 128, 64, "f32", "f16", "f16", cta_group=2))
    >>> a.copies, a.cta[:, 70, 3].tolist(), a.lane[:, 70, 3].tolist(), a.column[0, 70, 3], a.bit[0, 70, 3]
    (2, [1, 1], [6, 70], np.int64(1), np.int64(16))
    """
    require_tensor(instruction)
    return _a(instruction)


@lru_cache(maxsize=_KEPT)
def _a(instruction: Instruction) -> Placement:
    path = data_path(instruction)
    row, k = np.indices((instruction.m, instruction.terms))
    bits = instruction.container("a").bits
    lane = path.lane(row % path.rows, np.arange(path.parts)[:, None, None])
    padded = bits != instruction.format("a").bits
    known = Evidence("inferred" if path.parts > 1 or path.half or padded else "documented", _A_SOURCE)
    return _placement("A", bits, (row // path.rows)[None], lane, (k * bits)[None], known)


_SCALES = "PTX ISA 9.3, block scaling of tcgen05: scale factor IDs, 32 lanes, duplicated; " + _CUTE + ", tmem_sf_frg"


def scale_placement(instruction: Instruction, operand: Literal["a", "b"], scale_id: int = 0) -> Placement:
    """Return the placement of block scales: 32 rows of A, or columns of B, in the 32 lanes of a column.

    A word holds four scales of a row; ``scale_id`` is the byte of the first. Every 32 lanes hold a replica. Both
    CTAs of a pair hold the scales of all columns of B; if these are folded into two parts, the 64 lanes of a part
    hold only the scales of its columns.

    Parameters
    ----------
    instruction : Instruction
    operand : {"a", "b"}
    scale_id : int
        The scale factor ID in the instruction descriptor.

    Raises
    ------
    UnsupportedInstructionError
        If the instruction has no block scales, or k is 96, whose layouts are shown only in figures.

    Examples
    --------
    >>> from wmma_emu.instructions.tensor import tensor_instruction
    >>> instruction = tensor_instruction("mxf4", 128, 64, "f32", "e2m1", "e2m1")
    >>> a = scale_placement(instruction, "a", 2)
    >>> a.lane[:, 40, 1].tolist(), a.column[0, 40, 1], a.bit[0, 40].tolist()
    ([8, 40, 72, 104], np.int64(1), [16, 24])
    """
    require_tensor(instruction)
    if not instruction.is_block_scaled:
        raise UnsupportedInstructionError(f"{instruction.mnemonic} has no block scales")
    if instruction.k == 96:
        raise UnsupportedInstructionError(
            f"{instruction.mnemonic}: the layout of block scales with k = 96 in tensor memory is shown only in "
            "figures, and not modelled; multiply matrices by calling the instruction"
        )
    if not isinstance(operand, str) or operand not in ("a", "b"):
        raise UnknownNameError(f"A and B have block scales, not {shorten(operand)}")
    first = integer_of(scale_id)
    if first is None or first % instruction.scale_vec or not 0 <= first <= 4 - instruction.scale_vec:
        legal = ", ".join(str(x) for x in range(0, 4, instruction.scale_vec))
        raise OptionError(
            f"the scale factor ID of {instruction.mnemonic} must be one of {legal}, not {shorten(scale_id)}"
        )
    return (_scales_of_a if operand == "a" else _scales_of_b)(instruction, first)


@lru_cache(maxsize=_KEPT)
def _scales_of_a(instruction: Instruction, first: int) -> Placement:
    path = data_path(instruction)
    row, block = np.indices((instruction.m, instruction.scale_vec))
    own = row % path.rows
    lane = own % _QUARTER + _QUARTER * np.arange(4)[:, None, None]
    position = (own // _QUARTER * 4 + first + block) * 8
    return _placement("scale_A", 8, (row // path.rows)[None], lane, position[None], Evidence("documented", _SCALES))


@lru_cache(maxsize=_KEPT)
def _scales_of_b(instruction: Instruction, first: int) -> Placement:
    path = data_path(instruction)
    block, column = np.indices((instruction.scale_vec, instruction.n))
    width = instruction.n // path.parts
    own, part = column % width, column // width
    copies = 4 // path.parts
    pair = np.arange(path.cta_group).repeat(copies)[:, None, None]
    copy = np.tile(np.arange(copies), path.cta_group)[:, None, None]
    lane = own % _QUARTER + _QUARTER * (copies * part + copy)
    position = (own // _QUARTER * 4 + first + block) * 8
    known = Evidence("documented" if path.parts == 1 else "inferred", _SCALES)
    return _placement("scale_B", 8, pair, lane, position[None], known)


_META = (
    f"PTX ISA 9.3, sparse matrices of tcgen05; {_CUTE}, tmem_e_frg and tmem_e_frg_ws; of 128 rows without .ws the same "
    "in JAX (mosaic/gpu/tcgen05.py), with selectors 0 and 1; "
    "published notes on sparse metadata in Triton, run on an sm_110"
)
_HALF = (
    "; half of the lanes: the rows' arrangement of M = 128, in the lanes of D, as those notes read the manual's figure"
)


def metadata_placement(instruction: Instruction, selector: int = 0) -> Placement:
    """Return the placement of the metadata of a sparse A: a nibble for each chunk of each row, (copies, m, chunks).

    For kinds with elements of 8 bits or fewer, a row's sixteen nibbles are in two columns of its lane. For other kinds
    a row's eight nibbles are in one column, which the selector chooses: of sixteen rows, the first eight lanes hold
    chunks 0 to 3 and the others chunks 4 to 7, rows 0 to 7 in the lower halves of the words and rows 8 to 15 in the
    upper halves.

    Parameters
    ----------
    instruction : Instruction
    selector : int
        The sparsity selector of the instruction descriptor.

    Raises
    ------
    UnsupportedInstructionError
        If the instruction is dense, or for selectors 2 and 3, whose meaning no source describes.

    Examples
    --------
    >>> from wmma_emu.instructions.tensor import tensor_instruction
    >>> e = metadata_placement(tensor_instruction("f16", 128, 64, "f32", "f16", "f16", sparse=True), selector=1)
    >>> e.lane[0, 26].tolist(), e.column[0, 26, 0], e.bit[0, 26].tolist()
    ([18, 18, 18, 18, 26, 26, 26, 26], np.int64(1), [16, 20, 24, 28, 16, 20, 24, 28])
    """
    require_tensor(instruction)
    if not instruction.is_sparse:
        raise UnsupportedInstructionError(f"{instruction.mnemonic} has no metadata: its A is dense")
    wide = instruction.container("a").bits >= 16
    given = integer_of(selector)
    if given is None or given not in (range(4) if wide else range(1)):
        legal = "0 or 1" if wide else "0"
        raise OptionError(f"the sparsity selector of {instruction.mnemonic} must be {legal}, not {shorten(selector)}")
    if given in (2, 3):
        raise UnsupportedInstructionError(
            f"sparsity selector {given} of {instruction.mnemonic} is not modelled: the manual shows its effect only in "
            "a figure, and CuTe uses 0 and 1"
        )
    return _metadata(instruction, given)


@lru_cache(maxsize=_KEPT)
def _metadata(instruction: Instruction, selector: int) -> Placement:
    path = data_path(instruction)
    chunks = instruction.k // granularity_of(instruction).chunk
    row, chunk = np.indices((instruction.m, chunks))
    own = row % path.rows
    if instruction.container("a").bits >= 16:
        holder = own // 16 * 16 + own % 8 + 8 * (chunk // 4)
        position = _WORD * selector + 16 * (own // 8 % 2) + 4 * (chunk % 4)
    else:
        holder, position = own, 4 * chunk
    lane = path.lane(holder, np.arange(path.parts)[:, None, None])
    source = _META + (_HALF if path.half else "")
    return _placement("metadata", 4, (row // path.rows)[None], lane, position[None], Evidence("inferred", source))
