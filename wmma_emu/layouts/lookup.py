# SPDX-License-Identifier: MIT
"""The layout of any register operand of any instruction on any chip, from the table of its family."""

from functools import cache

from wmma_emu.errors import UnknownNameError, UnsupportedInstructionError, shorten
from wmma_emu.instructions.arch import arch_of
from wmma_emu.instructions.refusals import unsupported_on
from wmma_emu.instructions.spec import OPERANDS, Arch, Instruction, Operand
from wmma_emu.layouts.lane_map import LaneMap
from wmma_emu.layouts.mma import mma_layout
from wmma_emu.layouts.wmma import fragment_layout
from wmma_emu.layouts.wmma_table import Use

_USES: dict[Operand, Use] = {"a": "matrix_a", "b": "matrix_b", "c": "accumulator", "d": "accumulator"}


def layout_for(instruction: Instruction, operand: Operand, arch: "str | Arch") -> LaneMap:
    """Return the positions of an operand's elements in the registers of a warp.

    Parameters
    ----------
    instruction : Instruction
    operand : {"a", "b", "c", "d"}
    arch : str or Arch
        A chip that supports the instruction.

    Raises
    ------
    UnsupportedInstructionError
        If the chip does not support the instruction, or the operand does not exist.

    Examples
    --------
    >>> from wmma_emu.instructions.table import INSTRUCTIONS
    >>> ins = INSTRUCTIONS["wmma.mma.sync.aligned.row.col.m8n32k16.s32.s8.s8.s32"]
    >>> for arch in ("sm_75", "sm_80"):
    ...     print(arch, layout_for(ins, "d", arch).coords[:4, 1].tolist())
    sm_75 [[0, 2], [0, 3], [0, 10], [0, 11]]
    sm_80 [[2, 0], [3, 0], [2, 8], [3, 8]]
    """
    if not isinstance(operand, str) or operand not in OPERANDS:
        legal = ", ".join(OPERANDS)
        raise UnknownNameError(f"operand {shorten(operand)} does not exist; the operands are {legal}")
    return _layout_for(instruction, operand, arch_of(arch))


@cache
def _layout_for(instruction: Instruction, operand: Operand, chip: Arch) -> LaneMap:
    if chip.name not in instruction.archs:
        raise UnsupportedInstructionError(unsupported_on(chip, instruction.mnemonic, instruction.archs))
    place = instruction.place(operand)
    if instruction.is_tensor:
        where = "placement() or in_shared_memory()" if "shared" in place else "placement()"
        raise UnsupportedInstructionError(
            f"{instruction.mnemonic} has no registers: {operand.upper()} is in {place}; {where} of the bound "
            "instruction returns its location"
        )
    if place != "registers":
        raise UnsupportedInstructionError(
            f"{instruction.mnemonic} has no operand {operand} in registers: it reads {operand.upper()} from {place} "
            "through a descriptor; execute takes the matrix itself, or the result of in_shared_memory()"
        )
    if instruction.family != "wmma.mma":
        layout = mma_layout(instruction, operand, chip)
    else:
        stored = {"a": instruction.a_layout, "b": instruction.b_layout}.get(operand)
        shape = (instruction.m, instruction.n, instruction.k)
        layout = fragment_layout(_USES[operand], *shape, instruction.format(operand), stored, chip)
    if layout.num_registers != instruction.registers(operand):
        raise UnsupportedInstructionError(
            f"no layout is modelled for operand {operand} of {instruction.mnemonic}: it has "
            f"{instruction.registers(operand)} registers, the layout of its shape {layout.num_registers}"
        )
    return layout
