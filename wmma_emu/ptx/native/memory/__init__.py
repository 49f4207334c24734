# SPDX-License-Identifier: MIT
"""Memory of the native machine: rows of loads, stores, atomic operations, copies and collective operations.

The checks raise flags: bounds, alignment, definedness, races, copies in flight, and orders that change bits.

For the machine: `NativeMemory` has the memory of a launch, `WorkerMemory` that of a worker. The functions
``begin_block``, ``pass_barrier`` and ``meet_lanes`` (`wmma_emu.ptx.native.memory.time`) have to be called by the code
that runs blocks: ``begin_block.define(module)`` returns the function in a module. Afterwards, `flags_between_workers`
compares the workers, and `NativeMemory.note_written` tells the heap what was written.

For other rows: `access` and `record_lane` of `wmma_emu.ptx.native.memory.access`.
"""

from wmma_emu.ptx.native.memory.rows import row_of

__all__ = ["row_of"]
