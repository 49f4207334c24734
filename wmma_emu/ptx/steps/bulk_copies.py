# SPDX-License-Identifier: MIT
"""``cp.async.bulk``: copies of many bytes by one thread, whose end a barrier in shared memory or a group tells."""

from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.program import Instruction
from wmma_emu.ptx.steps.forms import Step


def bulk_copy(instruction: Instruction) -> Step:
    """Make the step of a bulk copy."""
    if "tensor" in instruction.modifiers:
        raise refusal(instruction, "copies of tensors (TMA) are not modelled; compile for sm_80 or without descriptors")
    raise refusal(instruction, "bulk copies are not modelled; cp.async.ca and cp.async.cg are")
