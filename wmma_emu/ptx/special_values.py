# SPDX-License-Identifier: MIT
"""The values of the special registers that are the same for all blocks of a launch."""

from wmma_emu.instructions import Arch
from wmma_emu.instructions.residency import residency_of
from wmma_emu.ptx.memory.shared_layout import reserved_begin, static_bytes
from wmma_emu.ptx.program.program import KernelProgram
from wmma_emu.ptx.program.special import SPECIAL, reserved_registers, workspace_registers


def launch_registers(arch: Arch, program: KernelProgram, dynamic: int, workspace: int) -> dict[str, int]:
    """Return the values by name, for a launch with ``dynamic`` bytes of dynamic shared memory.

    Counters of performance events have undefined values (PTX ISA 9.1), and the driver defines those of ``%envreg``:
    all are 0 here, except the two with the address of the grid's workspace. No launch is part of a graph. A launch is
    an explicit launch of clusters if the kernel states their size; this is inferred from the manual, and not measured.
    """
    chip = residency_of(arch)
    used = static_bytes(program) + dynamic
    return {
        **{name: 0 for name in SPECIAL if name.startswith(("pm", "envreg"))},
        **workspace_registers(workspace),
        **reserved_registers(reserved_begin(program, dynamic), is_first=program.shared_begin > 0),
        "dynamic_smem_size": dynamic,
        "total_smem_size": chip.allocated(used),
        "aggr_smem_size": used + chip.reserved_bytes,
        "nsmid": chip.multiprocessors,
        "is_explicit_cluster": int(program.required_cluster is not None),
        "gridid": 0,
        "current_graph_exec": 0,
    }
