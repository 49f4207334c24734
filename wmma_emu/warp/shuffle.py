# SPDX-License-Identifier: MIT
"""Shuffles: a lane reads a register of another lane of its warp."""

from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.errors import ArgumentError, DivergenceError, OptionError, as_finding, shorten
from wmma_emu.formats.arrays import integer_of, is_masked
from wmma_emu.layouts.spec import LANES

FULL_MASK = 0xFFFF_FFFF


def shuffled(
    mode: str, mask: SupportsIndex, var: NDArray[Any], operand: ArrayLike, width: SupportsIndex = LANES
) -> NDArray[Any]:
    """Read ``var``, (..., 32), from the lane given by `sources`; lanes outside the mask keep their value.

    Examples
    --------
    >>> lanes = np.arange(32)
    >>> shuffled("idx", 0xFFFFFFFF, lanes, 3, width=8)[::4]
    array([ 3,  3, 11, 11, 19, 19, 27, 27])
    >>> shuffled("up", 0xFFFFFFFF, lanes, 1)[:4], shuffled("down", 0xFFFFFFFF, lanes, 16)[14:18]
    (array([0, 0, 1, 2]), array([30, 31, 16, 17]))
    >>> shuffled("bfly", 0xFFFFFFFF, lanes, 1)[:4]
    array([1, 0, 3, 2])
    """
    values = require_lanes(var, "var")
    taking_part = lanes_of_mask(mask)
    bounds = (LANES - _width(width)) << 8 | (0 if mode == "up" else LANES - 1)  # as CUDA's header packs them
    source, _ = sources(mode, (_operand(operand) & (LANES - 1)).astype(np.uint32), np.array(bounds, np.uint32))
    missing = taking_part & ~taking_part[source]
    if missing.any():
        reader = int(np.flatnonzero(missing)[0])
        raise as_finding(
            "uninitialised",
            DivergenceError(
                f"lane {reader} would read lane {int(source[reader])}, which is not in the mask {int(mask):#010x}: "
                "undefined on a GPU; the mask must contain every lane that is read"
            ),
        )
    return np.take(values, np.where(taking_part, source, np.arange(LANES)), axis=-1)


def sources(mode: str, b: NDArray[Any], c: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the lane that each lane reads, and whether that lane is within the bounds in ``c``.

    ``b`` is a distance, an xor mask or a lane; its lowest five bits are used. ``c`` has the clamp in bits 0 to 4,
    and the mask of segments in bits 8 to 12.

    PTX ISA 9.1, section 9.7.9.6 (shfl.sync). A lane whose source is out of bounds reads its own value. Modes are "up",
    "down", "bfly" and "idx".
    "bfly" and "idx".

    Examples
    --------
    >>> lane, inside = sources("down", np.uint32(4), np.uint32(0x181F))      # segments of eight lanes
    >>> lane[:9].tolist(), inside[:9].tolist()
    ([4, 5, 6, 7, 4, 5, 6, 7, 12], [True, True, True, True, False, False, False, False, True])
    """
    lane, five = np.arange(LANES, dtype=np.int32), np.int32(31)
    b = b.astype(np.int32) & five
    segments = (c >> np.uint32(8)).astype(np.int32) & five
    first = lane & segments
    last = first | (c.astype(np.int32) & five & ~segments)
    if mode == "up":
        source = lane - b
        inside = source >= last
    else:
        source = {"down": lane + b, "bfly": lane ^ b, "idx": first | (b & ~segments)}[mode]
        inside = source <= last
    return np.where(inside, source, lane), inside


def require_lanes(values: object, name: str) -> NDArray[Any]:
    """Return an array with a value for each of 32 lanes, or raise an error."""
    if not isinstance(values, np.ndarray) or values.ndim == 0 or values.shape[-1] != LANES:
        given = f"shape {values.shape}" if isinstance(values, np.ndarray) else shorten(values)
        raise ArgumentError(
            f"{name} holds a value of every lane, an array of shape (..., {LANES}), not {given}; "
            f"a value that all lanes share is numpy.full({LANES}, value)"
        )
    if is_masked(values):
        raise ArgumentError(f"{name} is a masked array; pass {name}.filled(value)")
    if values.dtype.kind in "OSUMm" or values.dtype.names is not None:
        raise ArgumentError(f"{name} holds numbers, not {shorten(values.dtype, str)}; give it a dtype of them")
    if not values.dtype.isnative:
        raise ArgumentError(
            f"{name} is byte-swapped ({values.dtype.str}), which registers are not; convert it with "
            f"{name}.astype({name}.dtype.newbyteorder('='))"
        )
    return values


def lanes_of_mask(mask: SupportsIndex) -> NDArray[np.bool_]:
    """Return the lanes of a mask: bit l is lane l."""
    bits = integer_of(mask)
    if bits is None or not 0 < bits <= FULL_MASK:
        raise as_finding(
            "illegal operand",
            OptionError(
                f"a mask of lanes has 32 bits, at least one of them set, not {shorten(mask)}; all lanes: 0xffffffff"
            ),
        )
    return (bits >> np.arange(LANES) & 1).astype(bool)


def _width(given: SupportsIndex) -> int:
    width = integer_of(given)
    if width is None or width not in (1, 2, 4, 8, 16, 32):
        raise OptionError(f"the width of a shuffle is 1, 2, 4, 8, 16 or 32, not {shorten(given)}")
    return width


def one_or_each(given: ArrayLike, kinds: str) -> NDArray[Any] | None:
    """Return one value of these kinds of dtype, or one for each lane; None for anything else."""
    try:
        values = np.asarray(given)
    except ValueError:  # rows of unequal length
        return None
    return values if values.dtype.kind in kinds and values.shape in ((), (LANES,)) else None


def _operand(operand: ArrayLike) -> NDArray[np.int64]:
    values = one_or_each(operand, "iu")
    if values is None:
        raise ArgumentError(
            f"the lane, or the distance, of a shuffle is an integer of 32 bits, or {LANES} of them, "
            f"not {shorten(operand)}"
        )
    return values.astype(np.int64)
