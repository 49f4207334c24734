# SPDX-License-Identifier: MIT
"""The attributes of the emulated device by the driver's names."""

from wmma_emu.languages.device_properties import CONSTANT_BYTES, REGISTERS, SHARED_BYTES, WARP_SIZE, DeviceProperties


def attributes_of(device: DeviceProperties) -> dict[str, int]:
    """Return the attributes of the device by the driver's names for them, without ``CU_DEVICE_ATTRIBUTE_``.

    Those of a board (its bus, its clocks) are zero, because nothing is emulated that they describe.
    """
    limits, residency = device.limits, device.residency
    axes = {
        f"MAX_{what}_DIM_{axis.upper()}": getattr(size, axis)
        for what, size in (("GRID", limits.grid), ("BLOCK", limits.block))
        for axis in "xyz"
    }
    major, minor = device.capability
    return axes | {
        "COMPUTE_CAPABILITY_MAJOR": major,
        "COMPUTE_CAPABILITY_MINOR": minor,
        "MAX_THREADS_PER_BLOCK": limits.threads,
        "MAX_THREADS_PER_MULTIPROCESSOR": residency.threads,
        "MAX_BLOCKS_PER_MULTIPROCESSOR": residency.blocks,
        "MULTIPROCESSOR_COUNT": residency.multiprocessors,
        "MAX_SHARED_MEMORY_PER_BLOCK": SHARED_BYTES,
        "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": limits.shared_bytes,
        "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": residency.shared_kib << 10,
        "RESERVED_SHARED_MEMORY_PER_BLOCK": residency.reserved_bytes,
        "TOTAL_CONSTANT_MEMORY": CONSTANT_BYTES,
        "WARP_SIZE": WARP_SIZE,
        "MAX_REGISTERS_PER_BLOCK": REGISTERS,
        "MAX_REGISTERS_PER_MULTIPROCESSOR": REGISTERS,
        **dict.fromkeys(
            (
                "CAN_MAP_HOST_MEMORY", "UNIFIED_ADDRESSING", "MANAGED_MEMORY", "CONCURRENT_MANAGED_ACCESS",
                "COOPERATIVE_LAUNCH", "CONCURRENT_KERNELS", "COMPUTE_PREEMPTION_SUPPORTED",
                "STREAM_PRIORITIES_SUPPORTED",
            ),
            1,
        ),
    }  # fmt: skip
