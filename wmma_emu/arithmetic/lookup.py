# SPDX-License-Identifier: MIT
"""The look-up of the model for an instruction on a chip."""

from dataclasses import replace
from functools import cache

from wmma_emu.arithmetic.model import DotModel, DotProduct
from wmma_emu.arithmetic.table import MODELS
from wmma_emu.errors import UnknownNameError, UnsupportedInstructionError, shorten
from wmma_emu.instructions import Instruction


def accumulator_of(instruction: Instruction) -> str:
    """Return the format in which the unit accumulates: for f16 products f32 if c or d is f32."""
    return "f32" if "f32" in (instruction.c, instruction.d) else instruction.d


@cache
def _rows_for(instruction: Instruction, arch: str) -> tuple[DotModel, ...]:
    """Return every model for an instruction on a chip, including alternatives."""
    rows = (entry for entry in MODELS if entry.arch == arch and _serves(entry, instruction))
    return tuple(_as_known(row, instruction) for row in rows)


def _as_known(entry: DotModel, instruction: Instruction) -> DotModel:
    """Return a model with the evidence for one of its instructions, which may be weaker than for others."""
    evidence = entry.evidence.of(instruction.mnemonic)
    if evidence is entry.evidence:
        return entry
    return replace(entry, evidence=evidence, note="" if entry.status == "recorded" else entry.note)


def _serves(entry: DotModel, instruction: Instruction) -> bool:
    if instruction.family not in entry.families or instruction.a not in entry.inputs:
        return False
    if entry.b_inputs and instruction.b not in entry.b_inputs:
        return False
    if instruction.shape not in entry.shapes and f"k{instruction.k}" not in entry.shapes:
        return False
    if bool(entry.scaling) != bool(instruction.scale) or entry.accumulator != accumulator_of(instruction):
        return False
    # A group has one scale of A and one of B.
    return not entry.group_terms or instruction.terms // instruction.scale_vec % entry.group_terms == 0


@cache
def models_for(instruction: Instruction, arch: str) -> tuple[DotModel, ...]:
    """Return the default models for an instruction on a chip: one per lowering, the newest first."""
    return tuple(entry for entry in _rows_for(instruction, arch) if not entry.name)


@cache
def alternatives_for(instruction: Instruction, arch: str) -> tuple[DotModel, ...]:
    """Return the named models for an instruction on a chip: alternatives from other sources, or without a source.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> ins = lookup("m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0")
    >>> [(row.name, row.fraction_bits) for row in alternatives_for(ins, "sm_120")][:3]
    [('F=34', 34), ('F=36', 36), ('F=37', 37)]
    """
    return tuple(entry for entry in _rows_for(instruction, arch) if entry.name)


def model_for(instruction: Instruction, arch: str, lowering: str | None = None, model: str | None = None) -> DotModel:
    """Return the model for an instruction on a chip.

    Parameters
    ----------
    instruction : Instruction
    arch : str
        The name of an `Arch`.
    lowering : str, optional
        The compiler whose sequence is used, if the chip runs the instruction in software. The default is the newest.
    model : str, optional
        The name of an alternative model, if sources disagree: one of `alternatives_for`.

    Raises
    ------
    UnsupportedInstructionError
        If the chip does not support the instruction, or the lowering or model does not exist for it.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> row = model_for(lookup("m16n8k16.f32.f16.f16.f32"), "sm_90")
    >>> row.terms_per_step, row.fraction_bits, row.rounding, row.status
    (16, 25, 'RZ', 'measured')
    >>> turing = lookup("m16n8k8.f32.f16.f16.f32")
    >>> model_for(turing, "sm_75").terms_per_step, model_for(turing, "sm_75", model="4 terms").terms_per_step
    (8, 4)
    """
    if arch not in instruction.archs:
        raise UnsupportedInstructionError(
            f"{instruction.mnemonic} is not legal on {arch}; it is on {', '.join(instruction.archs)}"
        )
    entries = models_for(instruction, arch)
    if not entries:
        raise UnsupportedInstructionError(
            f"the table of models has no entry for {instruction.mnemonic} on {arch}; "
            "see 'Add a chip' in CONTRIBUTING.md"
        )
    if lowering is not None:
        names = ", ".join(repr(entry.lowering) for entry in entries)
        entries = tuple(entry for entry in entries if entry.lowering == lowering)
        if not entries:
            raise UnknownNameError(
                f"{instruction.mnemonic} on {arch} has no lowering {shorten(lowering)}; it has {names}"
            )
    if model is None:
        return entries[0]
    named = [entry for entry in alternatives_for(instruction, arch) if entry.lowering == entries[0].lowering]
    for entry in named:
        if entry.name == model:
            return entry
    names = f"it has {', '.join(repr(entry.name) for entry in named)}" if named else "it has only one model"
    raise UnknownNameError(
        f"{instruction.mnemonic} on {arch} has no model {shorten(model)}; {names}; omit model for the default"
    )


def dot_product_of(
    instruction: Instruction, arch: str, lowering: str | None = None, model: str | None = None
) -> DotProduct:
    """Return the model of an instruction on a chip, applied to its formats, k and modifiers."""
    return DotProduct.of(model_for(instruction, arch, lowering, model), instruction)
