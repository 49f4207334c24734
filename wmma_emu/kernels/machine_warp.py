# SPDX-License-Identifier: MIT
"""A warp's way to the PTX machine: it makes calls at the kernel's position, executes and records them."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from wmma_emu.kernels.block import Block
from wmma_emu.kernels.machine_operands import Operands
from wmma_emu.kernels.trace import MachineCall, Owner, Place
from wmma_emu.ptx.steps.availability import require_available, require_since
from wmma_emu.watching import watching

_Wait = TypeVar("_Wait")

_FIRST = "sm_90"
"""The first chip with bulk copies (PTX ISA 9.1, cp.async.bulk)."""


class MachineWarp:
    """A warp of a block that executes instructions of the PTX machine.

    ``require_ready`` raises an error if the warp has called a barrier and not waited; ``waiting`` notes a wait that it
    has called.
    """

    def __init__(self, block: Block, warp: int, require_ready: Callable[[], None], wait: Callable[[Any], Any]) -> None:
        self.block, self._warp, self._require_ready, self._note_wait = block, warp, require_ready, wait

    def waiting(self, wait: _Wait) -> _Wait:
        """Note a wait that the kernel has called, and must yield."""
        self._note_wait(wait)
        return wait

    def call(
        self, opcode: str, operands: Operands, values: Mapping[str, int | Place], *, by_all: bool = False,
        arrays: tuple[Owner, ...] = (),
    ) -> MachineCall:  # fmt: skip
        """Make a call at the kernel's position."""
        self._require_ready()
        if opcode.startswith("cp."):
            require_since(opcode, self.block.arch, _FIRST)
        instruction = self.block.trace.sites.call(opcode, operands)
        require_available(instruction, self.block.arch)
        return MachineCall(instruction, tuple(values.items()), by_all, arrays)

    def execute(self, call: MachineCall) -> bool:
        """Execute a call now; return the result of a wait."""
        return self.block.machine.run(self._warp, call)

    def look(self, call: MachineCall) -> bool:
        """Return whether a phase is complete; if it is not, the copies for which it waits arrive afterwards."""
        is_over = self.execute(call)
        arrives = not is_over and self.block.machine.arrive((call.barrier,))
        if watching.watcher is not None:
            self.block.trace.look(call, is_over=is_over, arrives=arrives)
        return is_over

    def issue(
        self, opcode: str, operands: Operands, values: Mapping[str, int | Place], *, by_all: bool = False,
        arrays: tuple[Owner, ...] = (),
    ) -> None:  # fmt: skip
        """Make a call, execute it, and record it."""
        call = self.call(opcode, operands, values, by_all=by_all, arrays=arrays)
        self.execute(call)
        if watching.watcher is not None:
            self.block.trace.call(call)
