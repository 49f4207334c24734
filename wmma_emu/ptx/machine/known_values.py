# SPDX-License-Identifier: MIT
"""Evaluation of an instruction on known values, without threads."""

from collections.abc import Mapping

import numpy as np

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.constants import constant
from wmma_emu.ptx.program.program import Immediate, Operand, Predicate, PtxInstruction, Register
from wmma_emu.ptx.steps.operation_entries import flat_operands
from wmma_emu.ptx.steps.table import VALUE_STEPS
from wmma_emu.ptx.threads import Array
from wmma_emu.ptx.widths import bits_of_type, dtype_of_bits


def evaluate(instruction: PtxInstruction, known: Mapping[int, int]) -> dict[int, int]:
    """Compute what an instruction writes, by register, from known values of the registers that it reads.

    The result is empty if the instruction reads a value that is not known, or needs more than values; ``selp`` needs
    only the source that it selects.

    Examples
    --------
    >>> r = [Register(i, f"%f{i}", "f32") for i in range(3)]
    >>> evaluate(PtxInstruction("mul.f32", "mul", ("f32",), tuple(r), None, 1, 1), {1: 0x40000000, 2: 0x40400000})
    {0: 1086324736}
    """
    try:
        return _computed(instruction, known)
    except UnsupportedInstructionError:  # reported, with the reason, when the kernel is compiled
        return {}


def _computed(instruction: PtxInstruction, known: Mapping[int, int]) -> dict[int, int]:
    build = VALUE_STEPS.get(instruction.mnemonic)
    if build is None:
        return {}
    operation = build(instruction)
    flat = flat_operands(instruction)
    count = len(operation.destinations)
    targets, sources = flat[:count], flat[count:]
    if len(sources) != len(operation.sources):
        return {}
    values = [_value(x, kind, known) for x, kind in zip(sources, operation.sources, strict=True)]
    if instruction.mnemonic == "selp" and values[2] is not None:
        values = [values[0] if values[2].item() else values[1]] * 2 + [values[2]]
    given = [x for x in values if x is not None]
    if len(given) < len(values):
        return {}
    results = operation.compute(*given)
    results = results if isinstance(results, tuple) else (results,)
    return {
        target.index: int(np.asarray(result).astype(dtype_of_bits(bits_of_type(target.type))).item())
        for target, result in zip(targets, results, strict=True)
        if isinstance(target, Register)
    }


def _value(operand: Operand | None, type_name: str, known: Mapping[int, int]) -> Array | None:
    """Return the pattern of a source as an array of one thread; None if it is not known."""
    if isinstance(operand, Immediate):
        return constant(operand, type_name)
    register = operand.register if isinstance(operand, Predicate) else operand
    if not isinstance(register, Register) or register.index not in known:
        return None
    bits = bits_of_type(type_name)
    value = known[register.index] ^ (isinstance(operand, Predicate) and operand.negated)
    return np.full((1, 1, 1), value % (1 << bits), dtype_of_bits(bits))
