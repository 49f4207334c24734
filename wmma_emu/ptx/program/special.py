# SPDX-License-Identifier: MIT
"""Special registers: names that no text declares; and what those read that say where the blocks of a grid meet."""

from dataclasses import dataclass

from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.ptx.program.program import KernelProgram, SpecialRegister

_MANUAL = Evidence("documented", "PTX ISA 9.1, Special Registers")


@dataclass(frozen=True, slots=True)
class SpecialEntry(Sourced):
    """A special register: PTX type, the oldest chip that has it, where it is described, and how sure that is."""

    type: str
    first: str = "sm_70"
    evidence: Evidence = _MANUAL


_GROUPS = (
    (SpecialEntry("u32"), [f"{name}.{x}" for name in ("tid", "ntid", "ctaid", "nctaid") for x in "xyzw"]),
    (SpecialEntry("u32", "sm_90"), [
        f"{name}.{x}" for name in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid") for x in "xyzw"
    ]),
    (SpecialEntry("u32"), [
        "laneid", "warpid", "nwarpid", "smid", "nsmid",
        "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt", "clock", "clock_hi",
        "globaltimer_lo", "globaltimer_hi", "total_smem_size", "dynamic_smem_size", *(f"pm{i}" for i in range(8)),
        *(f"envreg{i}" for i in range(32)),
    ]),
    (SpecialEntry("u32", "sm_90"), ["cluster_ctarank", "cluster_nctarank", "aggr_smem_size"]),
    (SpecialEntry("u32", "sm_80"), [f"reserved_smem_offset_{part}" for part in ("begin", "end", "cap", "0", "1")]),
    (SpecialEntry("u64"), ["gridid", "clock64", "globaltimer", "current_graph_exec", *(f"pm{i}_64" for i in range(8))]),
    (SpecialEntry("pred", "sm_90"), ["is_explicit_cluster"]),
)  # fmt: skip

SPECIAL = {name: entry for entry, names in _GROUPS for name in names}
"""Rows by name without the percent sign; a vector's elements each have one."""


WORKSPACE_BYTES = 64
"""Bytes that the launch gives. The kernels that nvcc 13.0 makes of ``grid_group::sync`` use the word at 4 alone."""

_UPPER, _LOWER = "envreg1", "envreg2"


def workspace_registers(address: int) -> dict[str, int]:
    """What the registers read that say a workspace's address, half of it each.

    Examples
    --------
    >>> {name: hex(value) for name, value in workspace_registers(0x7F0000010000).items()}
    {'envreg1': '0x7f00', 'envreg2': '0x10000'}
    """
    return {_UPPER: address >> 32, _LOWER: address & 0xFFFFFFFF}


def reads_grid_workspace(program: KernelProgram) -> bool:
    """Tell whether a kernel asks for the address of its grid's workspace, as ``cooperative_groups::this_grid`` does."""
    operands = (x for instruction in program.instructions for x in instruction.operands)
    return any(isinstance(x, SpecialRegister) and x.name in (_UPPER, _LOWER) for x in operands)
