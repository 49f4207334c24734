# SPDX-License-Identifier: MIT
"""The properties of the emulated chip, which the host code of each language reads by its own names."""

import os
from dataclasses import dataclass

from wmma_emu.instructions import Arch
from wmma_emu.instructions.launches import LAUNCH_LIMITS, LaunchLimits
from wmma_emu.instructions.residency import Residency, residency_of

WARP_SIZE = 32
SHARED_BYTES = 48 << 10
CONSTANT_BYTES = 64 << 10
REGISTERS = 1 << 16
"""Shared memory of a block without opting in, constant memory, and 32-bit registers of a multiprocessor: CUDA C++
Programming Guide 13.0, technical specifications, the same on all chips here."""

_UNKNOWN_BYTES = 16 << 30


@dataclass(frozen=True)
class DeviceProperties:
    """The properties of the emulated chip, except clock rates and bus widths, because nothing is timed.

    The device's memory, in bytes, is the host's. The residency is for the largest product with the chip.
    """

    name: str
    capability: tuple[int, int]
    limits: LaunchLimits
    residency: Residency
    memory_bytes: int


def properties_of(arch: Arch) -> DeviceProperties:
    """Return the properties of the chip, from the tables of launch limits and of residency.

    Examples
    --------
    >>> from wmma_emu.instructions import arch_of
    >>> device = properties_of(arch_of("a100"))
    >>> device.name, device.capability, device.residency.multiprocessors, device.limits.shared_bytes
    ('NVIDIA A100 (emulated by wmma_emu)', (8, 0), 108, 166912)
    """
    residency = residency_of(arch)
    return DeviceProperties(
        name=f"NVIDIA {residency.product} (emulated by wmma_emu)",
        capability=(arch.number // 10, arch.number % 10),
        limits=LAUNCH_LIMITS[arch.name],
        residency=residency,
        memory_bytes=_host_bytes(),
    )


def _host_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else _UNKNOWN_BYTES
