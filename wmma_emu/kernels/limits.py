# SPDX-License-Identifier: MIT
"""What a Python kernel's launch needs beyond what the chip does: whole warps; and what only later chips have."""

from dataclasses import dataclass
from math import prod

from wmma_emu.errors import LaunchConfigurationError
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.instructions.launches import Dim3
from wmma_emu.layouts.spec import LANES

__all__ = ["REDUX", "Feature", "require_whole_warps"]


@dataclass(frozen=True, slots=True)
class Feature(Sourced):
    """What only later chips have: the first one with it."""

    since: str
    evidence: Evidence


REDUX = Feature("sm_80", Evidence("documented", "PTX ISA 9.1, redux.sync: target sm_80 or higher"))
"""The reductions over a warp."""


def require_whole_warps(block: Dim3) -> None:
    """Refuse a block whose last warp would not be whole.

    Raises
    ------
    UnsupportedInstructionError
    """
    threads = prod(block)
    if threads % LANES:
        whole = -(-threads // LANES) * LANES
        raise LaunchConfigurationError(
            f"a kernel runs whole warps, and the block has {threads} thread{'s' * (threads > 1)}, no multiple of "
            f"{LANES}; launch {whole}, and let the kernel leave out the lanes beyond"
        )
