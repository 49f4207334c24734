# SPDX-License-Identifier: MIT
"""From a user's matrices to the instruction that multiplies them."""

from numpy.typing import ArrayLike

from wmma_emu.errors import FragmentMismatchError, shorten
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.formats.dtypes import format_of_dtype
from wmma_emu.instructions import Arch, arch_of, default_instruction, lookup
from wmma_emu.warp import BoundInstruction

__all__ = ["bind", "operand_format"]


def operand_format(matrix: ArrayLike, name: str, named: str | None) -> Format:
    """Format of a user's matrix: the one that is named, or what the dtype means."""
    if named is not None:
        return format_of(named)
    array, format_name = as_numpy(matrix, name)
    fmt = format_of_dtype(array.dtype) if format_name is None else format_of(format_name)
    if fmt is None:
        raise FragmentMismatchError(
            f"{name} is an array of {shorten(array.dtype, str)}, which does not say a format; pass one whose dtype "
            "does (float16, ml_dtypes.bfloat16, int8, ...), or name the instruction with instr="
        )
    return fmt


def bind(
    A: ArrayLike,
    B: ArrayLike,
    instr: str | None,
    arch: str | Arch,
    lowering: str | None = None,
    a_format: str | None = None,
    b_format: str | None = None,
) -> BoundInstruction:
    """Bind the instruction that is named, or the default one for the matrices' formats."""
    chip = arch_of(arch)
    if instr is None:
        formats = operand_format(A, "A", a_format), operand_format(B, "B", b_format)
        row = default_instruction(formats[0].name, formats[1].name, chip.name)
    else:
        row = lookup(instr, chip.name)
    return BoundInstruction(row, chip, lowering)
