# SPDX-License-Identifier: MIT
"""Which model serves an instruction on a chip."""

from functools import cache

from wmma_emu.arithmetic.model import DotModel, DotProduct
from wmma_emu.arithmetic.table import MODELS
from wmma_emu.errors import UnsupportedInstructionError, shorten
from wmma_emu.instructions import Instruction

__all__ = ["dot_product_of", "model_for", "models_for"]


def accumulator_of(instruction: Instruction) -> str:
    """Format in which the unit accumulates: f32 as soon as c or d is f32, for f16 products."""
    return "f32" if "f32" in (instruction.c, instruction.d) else instruction.d


@cache
def models_for(instruction: Instruction, arch: str) -> tuple[DotModel, ...]:
    """Every row that serves an instruction on a chip: one for each lowering, the newest first."""
    accumulator = accumulator_of(instruction)
    return tuple(
        row
        for row in MODELS
        if row.arch == arch
        and instruction.family in row.families
        and instruction.shape in row.shapes
        and instruction.a in row.inputs
        and row.accumulator == accumulator
    )


def model_for(instruction: Instruction, arch: str, lowering: str | None = None) -> DotModel:
    """Find the row that serves an instruction on a chip.

    Parameters
    ----------
    instruction : Instruction
    arch : str
        Name of an `Arch` row.
    lowering : str, optional
        Which compiler's sequence, where the chip runs the instruction as software. The newest by default.

    Raises
    ------
    UnsupportedInstructionError
        If the chip lacks the instruction, or the lowering is not known for it.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> row = model_for(lookup("m16n8k16.f32.f16.f16.f32"), "sm_90")
    >>> row.terms_per_step, row.fraction_bits, row.rounding, row.status
    (16, 25, 'RZ', 'measured')
    """
    rows = models_for(instruction, arch)
    if arch not in instruction.archs:
        raise UnsupportedInstructionError(
            f"{instruction.mnemonic} is not legal on {arch}; it is on {', '.join(instruction.archs)}"
        )
    if not rows:
        raise UnsupportedInstructionError(
            f"the table of models has no row for {instruction.mnemonic} on {arch}; see 'Add a chip' in CONTRIBUTING.md"
        )
    if lowering is None:
        return rows[0]
    for row in rows:
        if row.lowering == lowering:
            return row
    raise UnsupportedInstructionError(
        f"{instruction.mnemonic} on {arch} has no lowering {shorten(lowering)}; "
        f"it has {', '.join(repr(row.lowering) for row in rows)}"
    )


def dot_product_of(instruction: Instruction, arch: str, lowering: str | None = None) -> DotProduct:
    """The model of an instruction on a chip, applied to its formats, k and modifiers."""
    return DotProduct.of(model_for(instruction, arch, lowering), instruction)
