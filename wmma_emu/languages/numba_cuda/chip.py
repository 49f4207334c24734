# SPDX-License-Identifier: MIT
"""The emulated chip as the driver describes it: its name, its attributes, the number of blocks that it holds."""

from wmma_emu.instructions import Arch
from wmma_emu.instructions.launches import LAUNCH_LIMITS, dim3
from wmma_emu.instructions.residency import residency_of

MEMORY_BYTES = 16 << 30
"""The size of the device's memory that is answered; the host's memory is the real limit."""


def name_of(arch: Arch) -> str:
    """Return the name of the device.

    Examples
    --------
    >>> from wmma_emu.instructions import arch_of
    >>> name_of(arch_of("a100"))
    'wmma_emu: emulated A100 (sm_80)'
    """
    return f"wmma_emu: emulated {residency_of(arch).product} ({arch})"


def capability_of(arch: Arch) -> tuple[int, int]:
    """Return the compute capability.

    Examples
    --------
    >>> from wmma_emu.instructions import arch_of
    >>> capability_of(arch_of("sm_120"))
    (12, 0)
    """
    return arch.number // 10, arch.number % 10


def attributes_of(arch: Arch) -> dict[str, int]:
    """Return the attributes of the device by the driver's names for them, without ``CU_DEVICE_ATTRIBUTE_``.

    Those of the chip come from the tables of launch limits and of residency. Those of a board (its bus, its clocks)
    are zero, because nothing is emulated that they describe.
    """
    limits, chip = LAUNCH_LIMITS[arch.name], residency_of(arch)
    axes = {
        f"MAX_{what}_DIM_{axis.upper()}": getattr(size, axis)
        for what, size in (("GRID", limits.grid), ("BLOCK", limits.block))
        for axis in "xyz"
    }
    return axes | {
        "COMPUTE_CAPABILITY_MAJOR": capability_of(arch)[0],
        "COMPUTE_CAPABILITY_MINOR": capability_of(arch)[1],
        "MAX_THREADS_PER_BLOCK": limits.threads,
        "MAX_THREADS_PER_MULTIPROCESSOR": chip.threads,
        "MAX_BLOCKS_PER_MULTIPROCESSOR": chip.blocks,
        "MULTIPROCESSOR_COUNT": chip.multiprocessors,
        "MAX_SHARED_MEMORY_PER_BLOCK": 48 << 10,
        "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": limits.shared_bytes,
        "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": chip.shared_kib << 10,
        "RESERVED_SHARED_MEMORY_PER_BLOCK": chip.reserved_bytes,
        "TOTAL_CONSTANT_MEMORY": 64 << 10,
        "WARP_SIZE": 32,
        "MAX_REGISTERS_PER_BLOCK": 1 << 16,
        "MAX_REGISTERS_PER_MULTIPROCESSOR": 1 << 16,
        **dict.fromkeys(
            (
                "CAN_MAP_HOST_MEMORY", "UNIFIED_ADDRESSING", "MANAGED_MEMORY", "CONCURRENT_MANAGED_ACCESS",
                "COOPERATIVE_LAUNCH", "CONCURRENT_KERNELS", "COMPUTE_PREEMPTION_SUPPORTED",
                "STREAM_PRIORITIES_SUPPORTED",
            ),
            1,
        ),
    }  # fmt: skip


def resident_blocks(arch: Arch, threads: int, shared_bytes: int) -> int:
    """Return how many blocks a multiprocessor of the chip holds, if there are enough registers.

    Examples
    --------
    >>> from wmma_emu.instructions import arch_of
    >>> resident_blocks(arch_of("h100"), 1024, 0)
    2
    """
    return residency_of(arch).blocks_per_multiprocessor(dim3(threads, "block"), shared_bytes) if threads else 0
