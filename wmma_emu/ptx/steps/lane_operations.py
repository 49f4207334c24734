# SPDX-License-Identifier: MIT
"""The executable forms of instructions: lane operations, computed by each thread separately, and steps."""

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
    """An instruction that each thread computes separately, from values alone.

    ``destinations`` and ``sources`` are the PTX types of the operands in order, with vectors expanded to their
    elements: "u32", "b64", "pred". ``compute`` takes arrays with the widths of the sources and returns one array, or a
    tuple of arrays, with the widths of the destinations. All arrays broadcast to (blocks, warps, 32) and may be
    narrower. Inactive lanes contain arbitrary values, which must not cause an error or a warning. ``first`` is the
    first chip that supports the instruction; ``caveats`` are the reasons why results are not proved to be bit-exact, by
    chip.
    """

    destinations: tuple[str, ...]
    sources: tuple[str, ...]
    compute: Callable[..., "Array | tuple[Array, ...]"]
    first: str = "sm_70"
    caveats: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CompileContext:
    """The context in which steps are built: the program, the chip, and the engine of matrix products.

    ``target`` and ``version`` come from the PTX module; the defaults are "" and "1.0".
    """

    program: KernelProgram
    arch: Arch
    engine: str = "auto"
    target: str = ""
    version: str = "1.0"


Step = Callable[[State, Active], None]
"""A function that executes one instruction for the active threads."""


class BoundStep(NamedTuple):
    """A step, with the reason why its results are not proved to be bit-exact, if there is one."""

    step: Step
    not_bit_exact: str | None = None


ValueStep = Callable[[PtxInstruction], LaneOperation]
MachineStep = Callable[[PtxInstruction, CompileContext], Step | BoundStep]
