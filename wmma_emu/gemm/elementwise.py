# SPDX-License-Identifier: MIT
"""Additions and conversions of whole arrays of patterns, computed where the arrays are."""

import numpy as np

from wmma_emu.arithmetic import ENGINES
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.codec import Bits
from wmma_emu.gemm.device_arrays import is_cupy
from wmma_emu.scalar import add as add_on_host
from wmma_emu.scalar import convert
from wmma_emu.scalar.reference import NaNOutput

_BLOCK = 1 << 15


def add(x: Bits, y: Bits, fmt: str, nan: NaNOutput = "canonical") -> Bits:
    """Add, each sum rounded to nearest even; on a GPU only in float32.

    Examples
    --------
    >>> hex(add(np.array([0x3F800000], np.uint32), np.array([0x3F800000], np.uint32), "f32")[0])
    '0x40000000'
    """
    if not is_cupy(x):
        return add_on_host(x, y, fmt, nan=nan)
    if fmt != "f32":
        raise UnsupportedInstructionError(
            f"sums of {fmt} are not added on a GPU; copy A and B to the host, or leave k_order out"
        )
    return ENGINES["cupy"].load().add(x, y)  # type: ignore[no-any-return]


def converted(bits: Bits, source: Format | str, target: Format | str) -> Bits:
    """Convert patterns; on the host in blocks, because the conversion takes about a hundred bytes for each element."""
    if source == target:
        return bits
    if is_cupy(bits):
        return ENGINES["cupy"].load().convert(bits, format_of(source), format_of(target))  # type: ignore[no-any-return]
    flat = np.ravel(bits)
    result = np.empty(flat.shape, format_of(target).storage)
    for start in range(0, len(flat), _BLOCK):
        here = slice(start, start + _BLOCK)
        result[here] = convert(flat[here], source, target)
    return result.reshape(bits.shape)
