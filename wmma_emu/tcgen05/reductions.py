# SPDX-License-Identifier: MIT
"""The reduction of tcgen05.ld.red: the smallest or the largest register of a lane."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.tcgen05.data_movement import DataMovement

_SIGN, _INFINITY, _CANONICAL_NAN = np.uint32(1 << 31), np.uint32(0x7F800000), np.uint32(0x7FFFFFFF)


def reduced(registers: NDArray[np.uint32], movement: DataMovement) -> NDArray[np.uint32]:
    """Reduce registers, (num_registers, *lanes), over the first axis.

    Examples
    --------
    >>> from wmma_emu.tcgen05.data_movement import lookup_data_movement
    >>> movement = lookup_data_movement("tcgen05.ld.red", "tcgen05.ld.red.32x32b.x2.min.s32", "sm_103")
    >>> reduced(np.array([[0xFFFFFFFB], [7]], np.uint32), movement).view(np.int32)
    array([-5], dtype=int32)
    """
    if movement.type == "f32":
        return _floats(registers, movement)
    numbers = registers.view(np.int32) if movement.type == "s32" else registers
    found = numbers.min(0) if movement.operation == "min" else numbers.max(0)
    return np.ascontiguousarray(found).view(np.uint32)


def _floats(registers: NDArray[np.uint32], movement: DataMovement) -> NDArray[np.uint32]:
    kind, *options = movement.operation.split(".")
    patterns = registers & ~_SIGN if "abs" in options else registers
    magnitude = patterns & ~_SIGN
    is_nan: NDArray[np.bool_] = np.asarray((magnitude > _INFINITY).any(0))
    if is_nan.any() and "NaN" not in options:
        raise UnsupportedInstructionError(
            f"{movement.mnemonic} reads a NaN in lane {_first(is_nan)}: its result is then not documented; the form "
            "with .NaN returns 0x7fffffff"
        )
    # As integers, patterns of floats are ordered by magnitude; patterns of negative floats in reverse order.
    order = np.where(patterns & _SIGN, -magnitude.astype(np.int64), magnitude.astype(np.int64))
    chosen = order.argmin(0) if kind == "min" else order.argmax(0)
    found: NDArray[np.uint32] = np.take_along_axis(patterns, chosen[None], 0)[0]
    zeros = (magnitude == 0) & ((patterns & _SIGN) != (found & _SIGN))
    both: NDArray[np.bool_] = np.asarray((found & ~_SIGN == 0) & zeros.any(0) & ~is_nan)
    if both.any():
        raise UnsupportedInstructionError(
            f"{movement.mnemonic} reads zeros of both signs in lane {_first(both)}, and one of them is the result: "
            "which one is not documented"
        )
    return np.where(is_nan, _CANONICAL_NAN, found)


def _first(lanes: NDArray[np.bool_]) -> int:
    return int(np.argmax(lanes.reshape(-1)))
