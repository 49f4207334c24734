# SPDX-License-Identifier: MIT
"""What a Python kernel's launch needs beyond what the chip does: whole warps; and what only later chips have."""

from math import prod

from wmma_emu.errors import LaunchConfigurationError
from wmma_emu.instructions.launches import Dim3
from wmma_emu.layouts.spec import LANES
from wmma_emu.warp.vote import REDUX, Feature

__all__ = ["REDUX", "Feature", "require_whole_warps"]


def require_whole_warps(block: Dim3) -> None:
    """Refuse a block whose last warp would not be whole."""
    threads = prod(block)
    if threads % LANES:
        whole = -(-threads // LANES) * LANES
        raise LaunchConfigurationError(
            f"a kernel runs whole warps, and the block has {threads} thread{'s' * (threads > 1)}, no multiple of "
            f"{LANES}; launch {whole}, and let the kernel leave out the lanes beyond"
        )
