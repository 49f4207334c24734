# SPDX-License-Identifier: MIT
"""The bit patterns of immediate operands."""

from functools import cache

import numpy as np

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.formats import format_of
from wmma_emu.ptx.program.program import Immediate
from wmma_emu.ptx.threads import Array
from wmma_emu.ptx.widths import bits_of_type, dtype_of_bits
from wmma_emu.scalar import convert


@cache
def constant(immediate: Immediate, type_name: str) -> Array:
    """Return the pattern of an immediate as an operand of some type, shape (1, 1, 1), read-only.

    Integers are taken modulo the width. A floating-point constant is a double that is rounded to the operand's type
    (PTX ISA, Floating-Point Constants); ``0f`` and ``0d`` give patterns of f32 and f64.

    Examples
    --------
    >>> constant(Immediate("int", -1), "s32"), constant(Immediate("f64", 0x3FF0000000000000), "f32")
    (array([[[4294967295]]], dtype=uint32), array([[[1065353216]]], dtype=uint32))
    """
    bits = bits_of_type(type_name)
    value = immediate.value
    if immediate.kind != "int":
        value = _pattern(value, int(immediate.kind[1:]), bits, type_name)
    word = np.full((1, 1, 1), value % (1 << bits), dtype_of_bits(bits))
    word.flags.writeable = False
    return word


def _pattern(value: int, given: int, width: int, type_name: str) -> int:
    """Round a floating-point constant to an operand's type; a pattern of that width is returned unchanged."""
    if given == width:
        return value
    if width not in (32, 64):
        raise UnsupportedInstructionError(
            f"a floating-point constant is not an operand of type .{type_name}; write its bit pattern as an integer"
        )
    source, target = (format_of("f32"), format_of("f64"))[:: 1 if given == 32 else -1]
    return int(convert(np.array([value], source.storage), source, target)[0])
