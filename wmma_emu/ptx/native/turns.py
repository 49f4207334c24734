# SPDX-License-Identifier: MIT
"""Whether threads that diverge may run in turns on the NumPy machine, so that the order within a warp differs."""

from wmma_emu.ptx.machine.compile import may_spin
from wmma_emu.ptx.machine.scheduler import PATIENCE, PATIENCE_WITH_SPINNING
from wmma_emu.ptx.machine.warp_sync import required_lanes
from wmma_emu.ptx.program.flow import targets_of
from wmma_emu.ptx.program.program import KernelProgram


def may_take_turns(program: KernelProgram) -> bool:
    """Return whether the NumPy machine may pick basic blocks so often that each gets its turn.

    Without loops and calls, every basic block is picked once, and again after each instruction at which threads
    wait.

    Examples
    --------
    >>> may_take_turns(KernelProgram("k", (), 0, (), (), (), 0, None, 0, None, None, ()))
    False
    """
    code = program.instructions
    if any(x.callee is not None or any(target <= pc for target in targets_of(x)) for pc, x in enumerate(code)):
        return True
    waits = sum(x.mnemonic in ("bar", "barrier") or required_lanes(x) is not None for x in code)
    cost = len(code) + sum(map(may_spin, code)) * (PATIENCE // PATIENCE_WITH_SPINNING)
    return cost * (1 + waits) >= PATIENCE
