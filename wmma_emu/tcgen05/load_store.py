# SPDX-License-Identifier: MIT
"""tcgen05.ld and tcgen05.st: move words between tensor memory and the registers of a warp or warpgroup."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import (
    AlignmentError,
    ArgumentError,
    ArgumentValueError,
    DivergenceError,
    FragmentMismatchError,
    OptionError,
    OutOfBoundsError,
    ShapeError,
    shorten,
)
from wmma_emu.formats.arrays import integer_of, is_masked
from wmma_emu.instructions import Arch
from wmma_emu.layouts.spec import LANES, WARPS, Ints
from wmma_emu.tcgen05.data_movement import DEFAULT_ARCH, DataMovement, bound_data_movement
from wmma_emu.tcgen05.reductions import reduced
from wmma_emu.tcgen05.shapes import tcgen05_layout
from wmma_emu.tcgen05.tensor_memory import COLUMNS, TensorMemory, address, column_of, lane_of

Addresses = int | Sequence[int]


def addresses_of_warps(where: int) -> tuple[int, int, int, int]:
    """Return the addresses for the four warps of a warpgroup, 32 lanes apart.

    Raises
    ------
    OutOfBoundsError
        If the address is outside of the lanes of warp 0, and as for `address`.

    Examples
    --------
    >>> [hex(x) for x in addresses_of_warps(0x40)]
    ['0x40', '0x200040', '0x400040', '0x600040']
    """
    lane, column = lane_of(where), column_of(where)
    if lane >= LANES:
        raise OutOfBoundsError(
            f"warp 0 may access lanes 0 to {LANES - 1} of tensor memory; the address has lane {lane}"
        )
    first, second, third, fourth = (address(lane + LANES * warp, column) for warp in range(WARPS))
    return first, second, third, fourth


def ld(
    tmem: TensorMemory,
    where: Addresses,
    instruction: str,
    *,
    warp: int | None = None,
    half_split_offset: int | None = None,
    arch: "str | Arch" = DEFAULT_ARCH,
) -> NDArray[np.uint32]:
    """Load registers from tensor memory: `tcgen05.ld`.

    Parameters
    ----------
    tmem : TensorMemory
    where : int, or four of them
        The address that one warp passes; or those of warps 0 to 3 of a warpgroup (`addresses_of_warps`).
    instruction : str
        The PTX mnemonic, ``"tcgen05.ld.sync.aligned.16x64b.x4.pack::16b.b32"``; ``.sync.aligned`` and ``.b32`` may be
        omitted.
    warp : int, optional
        The warp of the CTA that executes it; by default the warp that may access the lanes.
    half_split_offset : int, optional
        immHalfSplitoff of 16x32bx2: the columns from the beginning of the first access to that of the second.
    arch : str or Arch

    Returns
    -------
    uint32 array, shape (num_registers, 32), for a warpgroup (num_registers, 4, 32)

    Raises
    ------
    UnsupportedInstructionError
        If the chip does not support the form, or an offset is given for a shape other than 16x32bx2.
    OutOfBoundsError
        If the lanes belong to another warp, or words are outside of tensor memory or of the allocated columns.
    AlignmentError
        If the lane is not a multiple of 32, or of 16 for shapes of 16 lanes.
    FragmentMismatchError
        If an argument is not an address or not tensor memory.

    Warns
    -----
    UnspecifiedBehaviourWarning
        If a word is uninitialised since its allocation.
    UnverifiedModelWarning
        With ``.pack::16b``, of which no recording is known.

    Notes
    -----
    PTX ISA 9.0, 9.7.16.8. Loads are complete on return: `tcgen05.wait` has no counterpart.

    Examples
    --------
    >>> tmem = TensorMemory()
    >>> base = tmem.alloc(32)
    >>> tmem.write(np.arange(128)[:, None], np.arange(8), np.arange(1024, dtype=np.uint32).reshape(128, 8))
    >>> ld(tmem, base, "tcgen05.ld.16x256b.x1")[:, 1].tolist()           # lane 1: columns 2 and 3 of lanes 0 and 8
    [2, 3, 66, 67]
    >>> ld(tmem, base, "tcgen05.ld.16x256b.x1", warp=1)
    Traceback (most recent call last):
        ...
    wmma_emu.errors.OutOfBoundsError: warp 1 may access lanes 32 to 63 of tensor memory; the address 0x0 has lane 0,
    which belongs to warp 0
    """
    movement = bound_data_movement("tcgen05.ld", instruction, arch)
    return _load(tmem, where, movement, warp, half_split_offset)


def ld_red(
    tmem: TensorMemory,
    where: Addresses,
    instruction: str,
    *,
    warp: int | None = None,
    half_split_offset: int | None = None,
    arch: "str | Arch" = "sm_103",
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Load registers from tensor memory, and reduce the registers of each lane: `tcgen05.ld.red`.

    Parameters
    ----------
    tmem, where, warp, half_split_offset, arch
        As for `ld`.
    instruction : str
        ``"tcgen05.ld.red.sync.aligned.32x32b.x4.max.s32"``, ``"...min.abs.NaN.f32"``.

    Returns
    -------
    registers : uint32 array, shape (num_registers, 32) or (num_registers, 4, 32)
    reduced : uint32 array, shape (32,) or (4, 32)
        The smallest or largest of each lane's registers, as a pattern.

    Raises
    ------
    UnsupportedInstructionError
        As for `ld`; also for a NaN without ``.NaN``, and if the result is zero and there are zeros of both signs: the
        chip's result is then not known.

    Notes
    -----
    PTX ISA 9.0, 9.7.16.8.3: sm_103, and not sm_100. With ``.NaN`` the result for a NaN is 0x7fffffff. On a B300, lanes
    0 to 15 and 16 to 31 of 16x32bx2 reduce the registers that each of them loads.

    Examples
    --------
    >>> tmem = TensorMemory()
    >>> base = tmem.alloc(32)
    >>> tmem.write(np.arange(32)[:, None], np.arange(4), np.array([9, 2, 15, 4], np.uint32))
    >>> ld_red(tmem, base, "tcgen05.ld.red.32x32b.x4.max.u32")[1][0]
    np.uint32(15)
    """
    movement = bound_data_movement("tcgen05.ld.red", instruction, arch)
    registers = _load(tmem, where, movement, warp, half_split_offset)
    return registers, reduced(registers, movement)


def st(
    tmem: TensorMemory,
    where: Addresses,
    registers: NDArray[np.uint32],
    instruction: str,
    *,
    warp: int | None = None,
    half_split_offset: int | None = None,
    arch: "str | Arch" = DEFAULT_ARCH,
) -> None:
    """Store registers to tensor memory: `tcgen05.st`. An error leaves the memory unchanged.

    Parameters
    ----------
    tmem, where, instruction, warp, half_split_offset, arch
        As for `ld`; the instruction is, for example, ``"tcgen05.st.sync.aligned.32x32b.x8.unpack::16b.b32"``.
    registers : uint32 array, shape (num_registers, 32), for a warpgroup (num_registers, 4, 32)

    Raises
    ------
    FragmentMismatchError
        As for `ld`, and if the registers have the wrong shape or type.
    DivergenceError
        If the two accesses of 16x32bx2 overlap: both halves of the warp would write the same words.
    UnsupportedInstructionError, OutOfBoundsError, AlignmentError
        As for `ld`.

    Warns
    -----
    UnverifiedModelWarning
        With ``.unpack::16b``, of which no recording is known.

    Notes
    -----
    PTX ISA 9.0, 9.7.16.8.4. The effect of ``.unpack::16b`` on the upper halves of the words is not documented: they
    count as uninitialised.

    Examples
    --------
    >>> tmem = TensorMemory()
    >>> base = tmem.alloc(32)
    >>> st(tmem, base, np.arange(32, dtype=np.uint32)[None], "tcgen05.st.16x64b.x1")
    >>> tmem.read(8, [0, 1]).tolist()
    [1, 3]
    """
    movement = bound_data_movement("tcgen05.st", instruction, arch)
    lane, column = _positions(tmem, where, movement, warp, half_split_offset)
    _require_registers(registers, movement, lane.shape[1:])
    if half_split_offset is not None and half_split_offset < _half(movement):
        raise DivergenceError(
            f"the second access of {movement.mnemonic} begins {half_split_offset} columns after the first one, which "
            f"takes {_half(movement)}: both halves of the warp would write the same words"
        )
    if movement.packed:
        halves = np.stack((registers & np.uint32(0xFFFF), registers >> np.uint32(16)), 1).reshape(lane.shape)
        tmem.write(lane, column, halves, bits=16)
    else:
        tmem.write(lane, column, registers)


def _load(
    tmem: TensorMemory, where: Addresses, movement: DataMovement, warp: int | None, half_split_offset: int | None
) -> NDArray[np.uint32]:
    lane, column = _positions(tmem, where, movement, warp, half_split_offset)
    if not movement.packed:
        return tmem.read(lane, column)
    halves = tmem.read(lane, column, bits=16)
    packed: NDArray[np.uint32] = halves[0::2] | halves[1::2] << np.uint32(16)
    return packed


def _positions(
    tmem: TensorMemory, where: Addresses, movement: DataMovement, warp: int | None, half_split_offset: int | None
) -> tuple[Ints, Ints]:
    """Return lane and column of every element: (elements, 32), for a warpgroup (elements, 4, 32)."""
    if not isinstance(tmem, TensorMemory):
        raise ArgumentError(f"{movement.mnemonic} takes a TensorMemory, not {shorten(tmem)}")
    coords = tcgen05_layout(movement.shape, movement.num, movement.packed).coords
    row, column = coords[..., 0], coords[..., 1]
    split = _split(movement, half_split_offset)
    if split is not None:
        column = np.where(column < _half(movement), column, column - _half(movement) + split)
    several = isinstance(where, list | tuple)
    bases = [_base(each, number, movement) for each, number in _each_warp(where, warp)]
    lanes = np.stack([row + lane for lane, _ in bases], 1)
    columns = np.stack([column + first for _, first in bases], 1)
    return (lanes, columns) if several else (lanes[:, 0], columns[:, 0])


def _each_warp(where: Any, warp: int | None) -> list[tuple[Any, int | None]]:
    """Return address and warp of every warp that executes the instruction."""
    if not isinstance(where, list | tuple):
        return [(where, warp)]
    if len(where) != WARPS or warp is not None:
        raise ShapeError(
            f"a warpgroup gives {WARPS} addresses, of its warps 0 to 3, and no warp=; given are {len(where)} addresses"
            + ("" if warp is None else f" and warp={shorten(warp)}")
        )
    return list(zip(where, range(WARPS), strict=True))


def _half(movement: DataMovement) -> int:
    """Return the columns of one access of 16x32bx2."""
    return movement.num * (2 if movement.packed else 1)


def _base(where: int, warp: int | None, movement: DataMovement) -> tuple[int, int]:
    """Return lane and column of an address, after checking that the warp may access the lane."""
    lane, column = lane_of(where), column_of(where)
    shape = movement.transfer
    if lane % shape.lanes:
        low = lane - lane % shape.lanes
        raise AlignmentError(
            f"the address {hex(where)} has lane {lane}; {movement.shape} begins at multiples of {shape.lanes}: {low} "
            f"or {low + shape.lanes}"
        )
    if warp is None:
        return lane, column
    number = integer_of(warp)
    if number is None or number < 0:
        raise ArgumentValueError(f"warp is the number of a warp, 0 or more, not {shorten(warp)}")
    first = LANES * (number % WARPS)
    if not first <= lane < first + LANES:
        raise OutOfBoundsError(
            f"warp {number} may access lanes {first} to {first + LANES - 1} of tensor memory; the address {hex(where)} "
            f"has lane {lane}, which belongs to warp {lane // LANES}"
        )
    return lane, column


def _split(movement: DataMovement, given: int | None) -> int | None:
    """Return the columns from the first access of 16x32bx2 to the second one."""
    if movement.shape != "16x32bx2":
        if given is not None:
            raise OptionError(f"{movement.shape} is one access; half_split_offset is of 16x32bx2 alone")
        return None
    split = integer_of(given)
    if split is None:
        raise ArgumentValueError(
            f"{movement.mnemonic} takes half_split_offset (immHalfSplitoff), columns from the first access to the "
            f"second one; not {shorten(given)}"
        )
    if not 0 <= split < COLUMNS:
        raise OutOfBoundsError(f"half_split_offset is {shorten(split)}; it counts columns forward, 0 to {COLUMNS - 1}")
    return split


def _require_registers(registers: object, movement: DataMovement, inner: tuple[int, ...]) -> None:
    shape = (movement.num_registers, *inner)
    if (
        not isinstance(registers, np.ndarray)
        or is_masked(registers)
        or registers.dtype != np.uint32
        or registers.shape != shape
    ):
        what = (
            f"{registers.dtype} of shape {registers.shape}" if isinstance(registers, np.ndarray) else shorten(registers)
        )
        raise FragmentMismatchError(f"{movement.mnemonic} takes uint32 registers of shape {shape}, not {what}")
