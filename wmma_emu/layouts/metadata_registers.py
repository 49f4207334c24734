# SPDX-License-Identifier: MIT
"""Metadata of a sparse A in the lanes' registers: conversion between the k of elements and nibbles."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, FragmentMismatchError, shorten
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.instructions import Instruction
from wmma_emu.layouts.metadata import Granularity, MetadataMap, granularity_of, metadata_map
from wmma_emu.layouts.spec import LANES, Ints


def unpack_metadata(instruction: Instruction, metadata: NDArray[np.uint32], selector: int = 0) -> Ints:
    """Read the metadata of a sparse A as the instruction does: return the k of every packed element.

    Lanes that the selector does not choose are ignored.

    Parameters
    ----------
    instruction : Instruction
    metadata : uint32 array, shape (*warps, 32); for `wgmma` (*batch, 4, 32)
    selector : int

    Returns
    -------
    int array, shape (*warps, m, terms)

    Raises
    ------
    FragmentMismatchError
        If the dtype or shape is wrong, the selector does not exist, or the manual does not permit a nibble.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> ins = lookup("mma.sp.m16n8k16.f32.f16.f16.f32")
    >>> e = np.full(32, 0x4E4E_4E4E, np.uint32)
    >>> unpack_metadata(ins, e)[0].tolist()                      # 0xE: positions 2 and 3; 0x4: positions 0 and 1
    [2, 3, 4, 5, 10, 11, 12, 13]
    """
    found = metadata_map(instruction, selector)
    warp = (np.arange(instruction.m)[:, None] // 16,) if instruction.is_warpgroup else ()
    words = _checked(instruction, metadata)[..., *warp, found.lane]  # the word that describes each chunk of each row
    nibbles = (words >> (4 * found.nibble).astype(np.uint32)) & np.uint32(15)
    places = granularity_of(instruction)
    table = np.full((16, places.kept), -1, np.int64)
    for nibble, columns in places.nibbles.items():
        table[nibble] = columns
    within = table[nibbles]
    if (within < 0).any():
        raise ArgumentValueError(_forbidden(instruction, nibbles, found, places))
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
    uint32 array, shape (*warps, 32); for `wgmma` (*batch, 4, 32)
        0 in lanes that the selector does not choose.

    Raises
    ------
    FragmentMismatchError
        If no legal metadata describes these indices.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> ins = lookup("mma.sp.m16n8k8.f32.tf32.tf32.f32")
    >>> k = np.broadcast_to([0, 3, 4, 7], (16, 4))               # the first or the second of every two columns
    >>> hex(pack_metadata(ins, k, selector=1)[1])
    '0xe4e4e4e4'
    """
    found, places = metadata_map(instruction, selector), granularity_of(instruction)
    shape = (instruction.m, instruction.terms)
    given = np.asarray(indices)
    if given.dtype.kind not in "iu" or given.shape[-2:] != shape:
        raise ArgumentError(
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
        raise ArgumentValueError(
            f"row {where[-2]}, columns {where[-1] * places.chunk} to {(where[-1] + 1) * places.chunk - 1} of A: "
            f"positions {within[tuple(where)].tolist()} of {places.chunk} are not a legal {places.name} choice for "
            f"{instruction.mnemonic}; legal choices are {', '.join(str(list(x)) for x in places.nibbles.values())}"
        )
    warps = instruction.warps
    by_warp = nibbles.reshape(*nibbles.shape[:-2], warps, instruction.m // warps * chunks).astype(np.uint32)
    lanes, shifts = (x.reshape(warps, -1) for x in (found.lane, 4 * found.nibble))
    words = np.zeros((*by_warp.shape[:-1], LANES), np.uint32)
    for warp in range(warps):
        for entry, (lane, shift) in enumerate(zip(lanes[warp], shifts[warp], strict=True)):
            words[..., warp, lane] |= by_warp[..., warp, entry] << np.uint32(shift)
    return words if instruction.is_warpgroup else words[..., 0, :]


def _checked(instruction: Instruction, metadata: object) -> NDArray[np.uint32]:
    lanes = (4, LANES) if instruction.is_warpgroup else (LANES,)
    words = as_numpy(metadata, "metadata")
    if words.dtype != np.uint32 or words.shape[max(0, words.ndim - len(lanes)) :] != lanes:
        shape = ", ".join(("...", *map(str, lanes)))
        raise FragmentMismatchError(
            f"metadata is {shorten(words.dtype, str)} of shape {words.shape}; {instruction.mnemonic} takes uint32 of "
            f"shape ({shape}): one register a lane"
        )
    return words


def _forbidden(instruction: Instruction, nibbles: NDArray[np.uint32], found: MetadataMap, places: Granularity) -> str:
    legal = np.isin(nibbles, list(places.nibbles))
    *batch, row, chunk = np.argwhere(~legal)[0].tolist()
    nibble, lane, at = int(nibbles[*batch, row, chunk]), int(found.lane[row, chunk]), int(found.nibble[row, chunk])
    warp = [*batch, row // 16] if instruction.is_warpgroup else batch
    of_warp = f" of warp {warp[0] if len(warp) == 1 else tuple(warp)}" if warp else ""
    first = chunk * places.chunk
    return (
        f"the metadata of lane {lane}{of_warp} has 0b{nibble:04b} in bits {4 * at} to {4 * at + 3}, for row {row}, "
        f"columns {first} to {first + places.chunk - 1} of A: that is undefined for {instruction.mnemonic}. Legal "
        f"values are {', '.join(f'0b{x:04b}' for x in places.nibbles)}"
    )
