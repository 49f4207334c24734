# SPDX-License-Identifier: MIT
"""The sizes and alignments of PTX types in memory."""

import math

from wmma_emu.ptx.syntax.tree import VariableText

BYTES = {
    "pred": 1, "b8": 1, "u8": 1, "s8": 1, "e4m3": 1, "e5m2": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2,
    "b32": 4, "u32": 4, "s32": 4, "f32": 4, "tf32": 4, "f16x2": 4, "bf16x2": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8,
    "texref": 8, "samplerref": 8, "surfref": 8, "b128": 16,
}  # fmt: skip
"""The size of each type (PTX ISA 9.1, Fundamental Types); a texture, sampler or surface is a handle of 64 bits."""


def bytes_of(variable: VariableText) -> int:
    """Return the size of a variable in bytes; the count of a register range is ignored."""
    return math.prod(variable.sizes) * element_bytes(variable)


def element_bytes(variable: VariableText) -> int:
    """Return the size of one element in bytes; a vector is one element."""
    return variable.vector * BYTES[variable.type]


def alignment_of(variable: VariableText) -> int:
    """Return the alignment in bytes: the declared one, else the size of an element."""
    return variable.alignment or element_bytes(variable)


def align(offset: int, alignment: int) -> int:
    """Round up to a multiple of the alignment.

    Examples
    --------
    >>> align(5, 4), align(8, 4)
    (8, 8)
    """
    return -(-offset // alignment) * alignment
