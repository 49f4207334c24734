# SPDX-License-Identifier: MIT
"""Metadata of a sparse A: which bits of which lane's register say where a packed element stands in its row.

A row of A is cut into chunks; four bits of metadata, a nibble, name two places of a chunk, the first in the low two
bits. What a place is, depends on the elements: one of four columns; a pair of columns out of four pairs, where
elements have four bits; and of tf32, which keeps one of two columns, a whole nibble stands for one column.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError, shorten
from wmma_emu.formats.arrays import as_numpy, integer_of
from wmma_emu.instructions import Instruction
from wmma_emu.layouts.spec import LANES, Ints

__all__ = ["Granularity", "MetadataMap", "granularity_of", "metadata_map", "pack_metadata", "unpack_metadata"]


@dataclass(frozen=True, slots=True)
class Granularity:
    """How many elements of a chunk are there, and how nibbles name them.

    Parameters
    ----------
    name : str
        As the manual writes it, ``"2:4"``.
    chunk : int
        Columns of A that a nibble speaks of.
    kept : int
        Packed elements among them.
    nibbles : dict of int to tuple of int
        Columns within the chunk of each legal nibble, in the order of the packed elements.
    """

    name: str
    chunk: int
    kept: int
    nibbles: dict[int, tuple[int, ...]]


def _pairs(width: int, ordered: bool) -> dict[int, tuple[int, ...]]:
    """Nibbles of two different places out of four, each ``width`` columns wide."""
    return {
        first | second << 2: tuple(place * width + i for place in (first, second) for i in range(width))
        for first in range(4)
        for second in range(4)
        if (first < second if ordered else first != second)
    }


_TWO_OF_FOUR = {x: Granularity("2:4", 4, 2, _pairs(1, x)) for x in (False, True)}
_FOUR_OF_EIGHT = {x: Granularity("4:8", 8, 4, _pairs(2, x)) for x in (False, True)}
_ONE_OF_TWO = Granularity("1:2", 2, 1, {0b0100: (0,), 0b1110: (1,)})


def granularity_of(instruction: Instruction) -> Granularity:
    """Return the granularity of an instruction's A, with the nibbles that the manual allows it.

    ``mma.sp::ordered_metadata`` wants ascending places; the others take any two different ones.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> g = granularity_of(lookup("mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32"))
    >>> g.name, [f"{nibble:04b}" for nibble in g.nibbles]
    ('2:4', ['0100', '1000', '1100', '1001', '1101', '1110'])
    """
    _require_sparse(instruction)
    if instruction.a == "tf32":
        return _ONE_OF_TWO
    by_order = _FOUR_OF_EIGHT if instruction.format("a").bits == 4 else _TWO_OF_FOUR
    return by_order[instruction.family == "mma.sp::ordered_metadata"]


@dataclass(frozen=True)
class MetadataMap:
    """Which lane and which nibble of its register speak of each chunk of each row, for one selector.

    Parameters
    ----------
    lane, nibble : int array, shape (m, chunks of a row)
        Lane within the warp that holds the row, and number of the nibble, counted from the low bits.
    source, status : str
        The same layout on every chip; measured on one.
    """

    lane: Ints
    nibble: Ints
    source: str
    status: str


_SOURCE = "PTX ISA 9.1, sections 9.7.14.6.1 and 9.7.14.6.2 (mma.sp), 9.7.15.6 (wgmma.mma_async.sp)"
_MEASURED = "on sm_90: NVIDIA H200, driver 580.159.04, 2026-11-21, registers of every sparse instruction reproduced"


@dataclass(frozen=True, slots=True)
class _Arrangement:
    """How the lanes of a group of four share the metadata of their two rows.

    ``threads`` of the four hold metadata; the selector says which ones. Each holds ``chunks`` nibbles of a row, and
    where it has room for both rows (``both_rows``), those of the row eight below after them.
    """

    threads: int
    chunks: int
    both_rows: bool


_ARRANGEMENTS = {
    # (bits of an element of A at least 16, chunks of a row)
    (True, 4): _Arrangement(threads=1, chunks=4, both_rows=True),
    (True, 8): _Arrangement(threads=2, chunks=4, both_rows=True),
    (False, 8): _Arrangement(threads=2, chunks=8, both_rows=False),
    (False, 16): _Arrangement(threads=4, chunks=8, both_rows=False),
}


def _arrangement(instruction: Instruction) -> _Arrangement:
    chunks = instruction.k // granularity_of(instruction).chunk
    return _ARRANGEMENTS[instruction.format("a").bits >= 16, chunks]


def metadata_map(instruction: Instruction, selector: int = 0) -> MetadataMap:
    """Return where the metadata of a sparse instruction lies in the registers of its lanes.

    Parameters
    ----------
    instruction : Instruction
    selector : int
        The sparsity selector: which threads of four hold metadata.

    Raises
    ------
    UnsupportedInstructionError
        For a dense instruction.
    FragmentMismatchError
        For a selector that the instruction does not take.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> found = metadata_map(lookup("mma.sp.m16n8k16.f32.f16.f16.f32"), selector=2)
    >>> found.lane[3].tolist(), found.nibble[3].tolist(), found.nibble[11].tolist()
    ([14, 14, 14, 14], [0, 1, 2, 3], [4, 5, 6, 7])
    """
    _require_sparse(instruction)
    legal = 4 // _arrangement(instruction).threads
    given = integer_of(selector)
    if given is None or not 0 <= given < legal:
        fix = "0 only" if legal == 1 else f"0 to {legal - 1}"
        raise FragmentMismatchError(
            f"the sparsity selector of {instruction.mnemonic} is {fix}, not {shorten(selector)}"
        )
    return _metadata_map(instruction, given)


@cache
def _metadata_map(instruction: Instruction, selector: int) -> MetadataMap:
    """Build a map once."""
    way = _arrangement(instruction)
    chunks = instruction.k // granularity_of(instruction).chunk
    row, chunk = np.indices((instruction.m, chunks))
    group, below = row % 8, row // 8 % 2
    thread = np.where(way.both_rows, chunk // way.chunks, below + 2 * (chunk // way.chunks))
    nibble = np.where(way.both_rows, chunk % way.chunks + way.chunks * below, chunk % way.chunks)
    lane = 4 * group + way.threads * selector + thread
    return MetadataMap(lane, nibble, f"{_SOURCE}; {_MEASURED}", "measured")


def unpack_metadata(instruction: Instruction, metadata: NDArray[np.uint32], selector: int = 0) -> Ints:
    """Read the metadata of a sparse A, as the instruction does: for every packed element the k that it stands at.

    Lanes that the selector leaves out are not looked at.

    Parameters
    ----------
    instruction : Instruction
    metadata : uint32 array, shape (*warps, 32); of `wgmma` (*batch, 4, 32)
    selector : int

    Returns
    -------
    int array, shape (*warps, m, terms)

    Raises
    ------
    FragmentMismatchError
        For another dtype or shape; for a selector that does not exist; for a nibble that the manual forbids.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> ins = lookup("mma.sp.m16n8k16.f32.f16.f16.f32")
    >>> e = np.full(32, 0x4E4E_4E4E, np.uint32)
    >>> unpack_metadata(ins, e)[0].tolist()                      # 0xE: places 2 and 3; 0x4: places 0 and 1
    [2, 3, 4, 5, 10, 11, 12, 13]
    """
    found = metadata_map(instruction, selector)
    words = _lanes_of_rows(instruction, _checked(instruction, metadata), found)
    nibbles = (words >> (4 * found.nibble).astype(np.uint32)) & np.uint32(15)
    places = granularity_of(instruction)
    table = np.full((16, places.kept), -1, np.int64)
    for nibble, columns in places.nibbles.items():
        table[nibble] = columns
    within = table[nibbles]
    if (within < 0).any():
        raise FragmentMismatchError(_forbidden(instruction, nibbles, found, places))
    k = within + np.arange(nibbles.shape[-1])[:, None] * places.chunk
    indices: Ints = k.reshape(*k.shape[:-2], instruction.terms)
    return indices


def pack_metadata(instruction: Instruction, indices: NDArray[np.integer], selector: int = 0) -> NDArray[np.uint32]:
    """Write the metadata of a sparse A into the lanes' registers: the inverse of `unpack_metadata`.

    Parameters
    ----------
    instruction : Instruction
    indices : int array, shape (*warps, m, terms)
        The k of each packed element.
    selector : int

    Returns
    -------
    uint32 array, shape (*warps, 32); of `wgmma` (*batch, 4, 32)
        0 in lanes that the selector leaves out.

    Raises
    ------
    FragmentMismatchError
        If no legal metadata says this.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> ins = lookup("mma.sp.m16n8k8.f32.tf32.tf32.f32")
    >>> k = np.broadcast_to([0, 3, 4, 7], (16, 4))               # of each two columns, the first or the second
    >>> hex(pack_metadata(ins, k, selector=1)[1])
    '0xe4e4e4e4'
    """
    found, places = metadata_map(instruction, selector), granularity_of(instruction)
    shape = (instruction.m, instruction.terms)
    given = np.asarray(indices)
    if given.dtype.kind not in "iu" or given.shape[-2:] != shape:
        raise FragmentMismatchError(
            f"indices are {shorten(given.dtype, str)} of shape {given.shape}; {instruction.mnemonic} takes integers of "
            f"shape (..., {shape[0]}, {shape[1]}): the k of each packed element"
        )
    chunks = instruction.k // places.chunk
    within = given.reshape(*given.shape[:-1], chunks, places.kept).astype(np.int64)
    within = within - np.arange(chunks)[:, None] * places.chunk
    nibbles = np.full(within.shape[:-1], -1)
    for nibble, columns in places.nibbles.items():
        nibbles = np.where((within == columns).all(-1), nibble, nibbles)
    if (nibbles < 0).any():
        where = np.argwhere(nibbles < 0)[0]
        raise FragmentMismatchError(
            f"row {where[-2]}, columns {where[-1] * places.chunk} to {(where[-1] + 1) * places.chunk - 1} of A: "
            f"places {within[tuple(where)].tolist()} of {places.chunk} are no legal {places.name} choice for "
            f"{instruction.mnemonic}; legal are {', '.join(str(list(x)) for x in places.nibbles.values())}"
        )
    warps = instruction.warps
    by_warp = nibbles.reshape(*nibbles.shape[:-2], warps, instruction.m // warps * chunks).astype(np.uint32)
    lanes, shifts = (x.reshape(warps, -1) for x in (found.lane, 4 * found.nibble))
    words = np.zeros((*by_warp.shape[:-1], LANES), np.uint32)
    for warp in range(warps):
        for entry, (lane, shift) in enumerate(zip(lanes[warp], shifts[warp], strict=True)):
            words[..., warp, lane] |= by_warp[..., warp, entry] << np.uint32(shift)
    return words if instruction.is_warpgroup else words[..., 0, :]


def _lanes_of_rows(instruction: Instruction, words: NDArray[np.uint32], found: MetadataMap) -> NDArray[np.uint32]:
    """The register that speaks of each chunk of each row: (*warps, m, chunks)."""
    if not instruction.is_warpgroup:
        return words[..., found.lane]
    warp = np.arange(instruction.m)[:, None] // 16
    return words[..., warp, found.lane]


def _checked(instruction: Instruction, metadata: object) -> NDArray[np.uint32]:
    lanes = (4, LANES) if instruction.is_warpgroup else (LANES,)
    words, _ = as_numpy(metadata, "metadata")
    if words.dtype != np.uint32 or words.shape[max(0, words.ndim - len(lanes)) :] != lanes:
        shape = ", ".join(("...", *map(str, lanes)))
        raise FragmentMismatchError(
            f"metadata is {shorten(words.dtype, str)} of shape {words.shape}; {instruction.mnemonic} takes uint32 of "
            f"shape ({shape}): one register a lane"
        )
    return words


def _forbidden(instruction: Instruction, nibbles: NDArray[np.uint32], found: MetadataMap, places: Granularity) -> str:
    """Show the first nibble that the manual forbids."""
    legal = np.isin(nibbles, list(places.nibbles))
    *batch, row, chunk = np.argwhere(~legal)[0].tolist()
    nibble, lane, at = int(nibbles[*batch, row, chunk]), int(found.lane[row, chunk]), int(found.nibble[row, chunk])
    warp = [*batch, row // 16] if instruction.is_warpgroup else batch
    of_warp = f" of warp {warp[0] if len(warp) == 1 else tuple(warp)}" if warp else ""
    first = chunk * places.chunk
    return (
        f"the metadata of lane {lane}{of_warp} has 0b{nibble:04b} in bits {4 * at} to {4 * at + 3}, for row {row}, "
        f"columns {first} to {first + places.chunk - 1} of A: that is undefined for {instruction.mnemonic}. Legal are "
        f"{', '.join(f'0b{x:04b}' for x in places.nibbles)}"
    )


def _require_sparse(instruction: Instruction) -> None:
    if not instruction.is_sparse:
        raise UnsupportedInstructionError(
            f"{instruction.mnemonic} has no metadata: its A is dense; sparse ones begin with mma.sp, "
            "mma.sp::ordered_metadata or wgmma.mma_async.sp"
        )
