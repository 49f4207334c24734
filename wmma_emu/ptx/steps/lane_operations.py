# SPDX-License-Identifier: MIT
"""What an instruction is to the machine: a form, for what each thread computes by itself, or a step."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from wmma_emu.instructions import Arch
from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.threads import Active, Array

__all__ = ["Active", "Array", "BoundStep", "CompileContext", "LaneOperation", "MachineStep", "Step", "ValueStep"]


class LaneOperation(NamedTuple):
    """An instruction that each thread computes by itself, from values alone.

    ``destinations`` and ``sources`` are PTX types of the operands in their order, elements of vectors one by one:
    "u32", "b64", "pred". ``compute`` takes arrays of the sources' widths and gives those of the destinations' widths:
    one array, or a tuple of them. All broadcast to (blocks, warps, 32) and may be narrower. Lanes that do not execute
    hold anything: nothing may fail or warn because of them. ``first`` is the oldest chip that has it; ``doubts`` say
    why the bits are not proved to be a chip's, by the chip's name.
    """

    destinations: tuple[str, ...]
    sources: tuple[str, ...]
    compute: Callable[..., "Array | tuple[Array, ...]"]
    first: str = "sm_70"
    caveats: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CompileContext:
    """What a step may know when it is made: the program, the chip, and the engine of matrix products.

    ``target`` and ``version`` are those of the text, "" and "1.0" where there is none.
    """

    program: KernelProgram
    arch: Arch
    engine: str = "auto"
    target: str = ""
    version: str = "1.0"


Step = Callable[[State, Active], None]
"""Execute one instruction for the active threads."""


class BoundStep(NamedTuple):
    """A step with what is to be said of its bits."""

    step: Step
    not_bit_exact: str | None = None


ValueStep = Callable[[PtxInstruction], LaneOperation]
MachineStep = Callable[[PtxInstruction, CompileContext], Step | BoundStep]
