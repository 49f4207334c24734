# SPDX-License-Identifier: MIT
"""Checks that the chip of ``.target`` supports the instructions, if it is older than the chip that runs them."""

from collections.abc import Callable
from dataclasses import replace

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import ARCHS, Arch
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.steps.availability import require_available, require_target_has
from wmma_emu.ptx.steps.lane_operations import CompileContext


class TargetLimits:
    """The instructions that ``.target`` and ``.version`` of a PTX source allow.

    ``bind`` compiles an instruction for a chip, and raises if the chip lacks it.
    """

    def __init__(self, binding: CompileContext, bind: Callable[[PtxInstruction, CompileContext], object]) -> None:
        self._target, self._version, self._bind = binding.target, binding.version, bind
        chip = ARCHS.get(binding.target.rstrip("af"))
        older: Arch | None = chip if chip is not None and chip.number < binding.arch.number else None
        self._older = None if older is None else replace(binding, arch=older)
        self._accepted: set[str] = set()

    def require(self, instruction: PtxInstruction, *, is_control: bool) -> None:
        """Refuse an instruction that the source's target does not support."""
        require_target_has(instruction, self._target, self._version)
        if self._older is None:
            return
        try:
            require_available(instruction, self._older.arch)
            if instruction.opcode not in self._accepted and not is_control:
                self._bind(instruction, self._older)
                self._accepted.add(instruction.opcode)
        except UnsupportedInstructionError as error:
            raise UnsupportedInstructionError(f"{error}; the PTX source has .target {self._target}") from None
