# SPDX-License-Identifier: MIT
"""Metadata of a sparse A: the bits of the lanes' registers that give the column of each packed element.

A row of A is divided into chunks. Four bits of metadata, a nibble, hold two positions within a chunk, the first in the
low two bits. The meaning of a position depends on the elements. Usually it is one of four columns. For elements stored
in four bits it is one of four pairs of columns (e2m1 that takes a byte, in ``kind::f8f6f4``, counts as eight bits). For
tf32, which keeps one of two columns, the whole nibble selects one column.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from wmma_emu.errors import ArgumentValueError, UnsupportedInstructionError, shorten
from wmma_emu.evidence import Evidence, Run, Sourced
from wmma_emu.formats.arrays import integer_of
from wmma_emu.instructions import Instruction
from wmma_emu.layouts.spec import Ints


@dataclass(frozen=True, slots=True)
class Granularity:
    """The number of elements that a chunk keeps, and the nibbles that select them.

    Parameters
    ----------
    name : str
        The manual's notation, ``"2:4"``.
    chunk : int
        The number of columns of A that a nibble describes.
    kept : int
        The number of packed elements among them.
    width : int
        The number of adjacent columns that are kept together: 2 for elements stored in four bits.
    nibbles : dict of int to tuple of int
        Columns within the chunk of each legal nibble, in the order of the packed elements.
    """

    name: str
    chunk: int
    kept: int
    width: int
    nibbles: dict[int, tuple[int, ...]]


def _pairs(width: int, ordered: bool) -> dict[int, tuple[int, ...]]:
    """Return the nibbles of two different positions out of four, each ``width`` columns wide."""
    return {
        first | second << 2: tuple(place * width + i for place in (first, second) for i in range(width))
        for first in range(4)
        for second in range(4)
        if (first < second if ordered else first != second)
    }


_TWO_OF_FOUR = {x: Granularity("2:4", 4, 2, 1, _pairs(1, x)) for x in (False, True)}
_FOUR_OF_EIGHT = {x: Granularity("4:8", 8, 4, 2, _pairs(2, x)) for x in (False, True)}
_ONE_OF_TWO = Granularity("1:2", 2, 1, 1, {0b0100: (0,), 0b1110: (1,)})


def granularity_of(instruction: Instruction) -> Granularity:
    """Return the granularity of an instruction's A, with the nibbles that the manual permits.

    ``mma.sp::ordered_metadata`` requires ascending positions; the other instructions accept any two different ones.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> g = granularity_of(lookup("mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32"))
    >>> g.name, [f"{nibble:04b}" for nibble in g.nibbles]
    ('2:4', ['0100', '1000', '1100', '1001', '1101', '1110'])
    >>> name = "mma.sp::ordered_metadata.{}.f32.e2m1.e2m1.f32{}"
    >>> packed = lookup(name.format("m16n8k128.kind::mxf4.block_scale", ".ue8m0"))
    >>> granularity_of(packed).name, granularity_of(lookup(name.format("m16n8k64.kind::f8f6f4", ""))).name
    ('4:8', '2:4')
    """
    _require_sparse(instruction)
    if instruction.a == "tf32":
        return _ONE_OF_TWO
    by_order = _FOUR_OF_EIGHT if instruction.container("a").bits == 4 else _TWO_OF_FOUR
    return by_order[instruction.family == "mma.sp::ordered_metadata"]


@dataclass(frozen=True)
class MetadataMap(Sourced):
    """The lane, and the nibble of its register, that describe each chunk of each row, for one selector.

    Parameters
    ----------
    lane, nibble : int array, shape (m, chunks of a row)
        Lane within the warp that owns the row, and number of the nibble, counted from the low bits.
    evidence : Evidence
        The layout is the same on every chip; it is measured if sm_90 supports the instruction.
    """

    lane: Ints
    nibble: Ints
    evidence: Evidence


_SOURCE = "PTX ISA 9.1, sections 9.7.14.6.1 and 9.7.14.6.2 (mma.sp), 9.7.15.6 (wgmma.mma_async.sp)"
_DOCUMENTED = (
    _SOURCE
    + "; the same arrangement in CUTLASS 4 (cute/atom/mma_traits_sm120_sparse.hpp, ELayout of m16n8k64, m16n8k128)"
)
_MEASURED = "on sm_90: NVIDIA H200, driver 580.159.04, 2026-11-21, registers of every sparse instruction reproduced"


@dataclass(frozen=True, slots=True)
class _Arrangement:
    """The distribution of two rows' metadata over a group of four lanes.

    ``threads`` of the four hold metadata; the selector chooses them. Each holds ``chunks`` nibbles of a row and, if
    ``both_rows``, also the nibbles of the row eight below, after the first ones.
    """

    threads: int
    chunks: int
    both_rows: bool


def _arrangement(instruction: Instruction) -> _Arrangement:
    """Return how registers are filled: with nibbles of both rows for elements of at least 16 bits, else of one row."""
    both_rows = instruction.format("a").bits >= 16
    chunks = instruction.k // granularity_of(instruction).chunk
    threads = chunks // 4  # two rows of chunks, eight nibbles a register
    if not (1 if both_rows else 2) <= threads <= 4:
        raise UnsupportedInstructionError(
            f"no metadata layout is modelled for {instruction.mnemonic}: {chunks} nibbles of each row in four registers"
        )
    return _Arrangement(threads, 4 if both_rows else 8, both_rows)


def selectors_of(instruction: Instruction) -> range:
    """Return the legal sparsity selectors of an instruction: one for each set of threads that may hold metadata.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> selectors_of(lookup("mma.sp.m16n8k16.f32.f16.f16.f32")), selectors_of(lookup("mma.sp.m16n8k64.s32.s8.s8.s32"))
    (range(0, 4), range(0, 1))
    """
    _require_sparse(instruction)
    return range(4 // _arrangement(instruction).threads)


def metadata_map(instruction: Instruction, selector: int = 0) -> MetadataMap:
    """Return the positions of a sparse instruction's metadata in the registers of its lanes.

    Parameters
    ----------
    instruction : Instruction
    selector : int
        The sparsity selector, which chooses the threads of every four that hold metadata.

    Raises
    ------
    UnsupportedInstructionError
        If the instruction is dense.
    FragmentMismatchError
        If the selector is not legal for the instruction.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> found = metadata_map(lookup("mma.sp.m16n8k16.f32.f16.f16.f32"), selector=2)
    >>> found.lane[3].tolist(), found.nibble[3].tolist(), found.nibble[11].tolist()
    ([14, 14, 14, 14], [0, 1, 2, 3], [4, 5, 6, 7])
    """
    legal = selectors_of(instruction)
    given = integer_of(selector)
    if given is None or given not in legal:
        fix = "0 only" if len(legal) == 1 else f"0 to {legal[-1]}"
        raise ArgumentValueError(
            f"the sparsity selector of {instruction.mnemonic} is {shorten(selector)}; it must be {fix}"
        )
    return _metadata_map(instruction, given)


@cache
def _metadata_map(instruction: Instruction, selector: int) -> MetadataMap:
    way = _arrangement(instruction)
    chunks = instruction.k // granularity_of(instruction).chunk
    row, chunk = np.indices((instruction.m, chunks))
    group, below = row % 8, row // 8 % 2
    thread = np.where(way.both_rows, chunk // way.chunks, below + 2 * (chunk // way.chunks))
    nibble = np.where(way.both_rows, chunk % way.chunks + way.chunks * below, chunk % way.chunks)
    lane = 4 * group + way.threads * selector + thread
    for shared in (lane, nibble):
        shared.setflags(write=False)
    return MetadataMap(lane, nibble, _probed(instruction.archs[0]).of(instruction.mnemonic))


def _probed(arch: str) -> Evidence:
    """Return the evidence: measured on sm_90, documented for instructions of other chips."""
    written = Evidence("documented", _DOCUMENTED, Run("assembled", arch))
    return Evidence("measured", f"{_SOURCE}; {_MEASURED}", Run("campaign", "sm_90"), written)


def _require_sparse(instruction: Instruction) -> None:
    if not instruction.is_sparse:
        raise UnsupportedInstructionError(
            f"{instruction.mnemonic} has no metadata: its A is dense; sparse instructions begin with mma.sp, "
            "mma.sp::ordered_metadata or wgmma.mma_async.sp"
        )
