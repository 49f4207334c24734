# SPDX-License-Identifier: MIT
"""What an instruction gives of known values, without threads: as its form computes it."""

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
    """Compute what an instruction writes, by register, from what is known of the registers that it reads.

    Nothing, where it reads anything else, or needs more than values; ``selp`` reads what it chooses.

    Examples
    --------
    >>> r = [Register(i, f"%f{i}", "f32") for i in range(3)]
    >>> evaluate(Instruction("mul.f32", "mul", ("f32",), tuple(r), None, 1, 1), {1: 0x40000000, 2: 0x40400000})
    {0: 1086324736}
    """
    try:
        return _computed(instruction, known)
    except UnsupportedInstructionError:  # refused, with the reason, where the kernel is compiled
        return {}


def _computed(instruction: PtxInstruction, known: Mapping[int, int]) -> dict[int, int]:
    build = VALUE_STEPS.get(instruction.mnemonic)
    if build is None:
        return {}
    form = build(instruction)
    flat = flat_operands(instruction)
    count = len(form.destinations)
    targets, sources = flat[:count], flat[count:]
    if len(sources) != len(form.sources):
        return {}
    values = [_value(x, kind, known) for x, kind in zip(sources, form.sources, strict=True)]
    if instruction.mnemonic == "selp" and values[2] is not None:
        values = [values[0] if values[2].item() else values[1]] * 2 + [values[2]]
    given = [x for x in values if x is not None]
    if len(given) < len(values):
        return {}
    results = form.compute(*given)
    results = results if isinstance(results, tuple) else (results,)
    return {
        target.index: int(np.asarray(result).astype(dtype_of_bits(bits_of_type(target.type))).item())
        for target, result in zip(targets, results, strict=True)
        if isinstance(target, Register)
    }


def _value(operand: Operand | None, type_name: str, known: Mapping[int, int]) -> Array | None:
    """Pattern of a source, as an array of one thread; None where it is not known."""
    if isinstance(operand, Immediate):
        return constant(operand, type_name)
    register = operand.register if isinstance(operand, Predicate) else operand
    if not isinstance(register, Register) or register.index not in known:
        return None
    bits = bits_of_type(type_name)
    value = known[register.index] ^ (isinstance(operand, Predicate) and operand.negated)
    return np.full((1, 1, 1), value % (1 << bits), dtype_of_bits(bits))
