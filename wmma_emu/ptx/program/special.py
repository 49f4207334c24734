# SPDX-License-Identifier: MIT
"""Special registers, and the addresses that some of them contain: a grid's workspace, reserved shared memory."""

from dataclasses import dataclass

from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.ptx.program.program import KernelProgram

_MANUAL = Evidence("documented", "PTX ISA 9.1, Special Registers")


@dataclass(frozen=True, slots=True)
class SpecialEntry(Sourced):
    """A special register: its PTX type, the first chip that supports it, and the evidence."""

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

CLOCKS = frozenset(("clock", "clock_hi", "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi"))
"""The registers that advance while a kernel runs."""

SPECIAL = {name: entry for entry, names in _GROUPS for name in names}
"""The entries by name without the percent sign; each element of a vector has an entry."""

LOWER_HALVES = frozenset(("gridid",))
"""The 64-bit registers of which mov also reads the lower half (PTX ISA 9.1, %gridid: "legacy code")."""


WORKSPACE_BYTES = 64
"""The size of the workspace that a launch allocates. The code that nvcc 13.0 generates for ``grid_group::sync`` uses
only the word at offset 4."""

_UPPER, _LOWER = "envreg1", "envreg2"


def workspace_registers(address: int) -> dict[str, int]:
    """Return the values of the two registers that contain the halves of a workspace's address.

    Examples
    --------
    >>> {name: hex(value) for name, value in workspace_registers(0x17F0000010000).items()}
    {'envreg1': '0x17f00', 'envreg2': '0x10000'}
    """
    return {_UPPER: address >> 32, _LOWER: address & 0xFFFFFFFF}


def reads_grid_workspace(program: KernelProgram) -> bool:
    """Return whether a kernel reads the address of its grid's workspace, as ``cooperative_groups::this_grid`` does."""
    return not program.specials.isdisjoint((_UPPER, _LOWER))


RESERVED_BYTES = 1024
"""The size of the reserved part of a block's shared memory from sm_80 on (CUDA C++ Programming Guide 13.0, shared
memory of compute capability 8.x and later)."""

_BEFORE_VARIABLES = {"begin": 0, "end": 288, "0": 0, "1": 0}
"""The positions in the reserved part to which the registers point on chips on which it is before the variables, as an
NVIDIA H200 gave them (2026-11-28). The end is the end of the 288 bytes which ``cooperative_groups`` uses."""

_AFTER_VARIABLES = {"begin": 0, "end": RESERVED_BYTES, "0": 0, "1": RESERVED_BYTES // 2}
"""The positions on older chips, which are not known."""


def reserved_registers(begin: int, *, is_first: bool) -> dict[str, int]:
    """Return the values of ``%reserved_smem_offset_*`` if the reserved shared memory begins at an address.

    ``is_first`` is whether it is before the variables.

    Examples
    --------
    >>> [reserved_registers(x, is_first=not x)["reserved_smem_offset_end"] for x in (0, 4096)]
    [288, 5120]
    """
    offsets = _BEFORE_VARIABLES if is_first else _AFTER_VARIABLES
    values = {**{name: begin + offset for name, offset in offsets.items()}, "cap": RESERVED_BYTES}
    return {f"reserved_smem_offset_{name}": value for name, value in values.items()}


_RESERVED = frozenset(reserved_registers(0, is_first=True))


def reads_reserved_shared(program: KernelProgram) -> bool:
    """Return whether a kernel reads an address of reserved shared memory, as tiles of several warps do."""
    return not program.specials.isdisjoint(_RESERVED)
