# SPDX-License-Identifier: MIT
"""How many blocks of a grid a chip can hold at a time: the limits of its multiprocessors, and their number."""

from dataclasses import dataclass
from math import prod

from wmma_emu.chips import ARCHS, Arch
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.instructions.launches import Dim3

_WARP = 32


@dataclass(frozen=True, slots=True)
class Residency(Sourced):
    """The limits of a multiprocessor, and the number of multiprocessors of the largest product with the chip.

    ``shared_unit`` is the granularity, and ``reserved_bytes`` the part reserved for the system, of a block's shared
    memory, both in bytes; ``shared_kib`` is the shared memory of a multiprocessor.
    """

    chip: str
    multiprocessors: int
    product: str
    threads: int
    blocks: int
    shared_kib: int
    shared_unit: int
    reserved_bytes: int
    evidence: Evidence

    def blocks_per_multiprocessor(self, block: Dim3, shared_bytes: int) -> int:
        """Return the largest number of blocks that a multiprocessor holds, if there are enough registers.

        Examples
        --------
        >>> residency_of(ARCHS["sm_90"]).blocks_per_multiprocessor(Dim3(256), 48 * 1024)
        4
        """
        threads = -(-prod(block) // _WARP) * _WARP
        shared = self.allocated(shared_bytes) + self.reserved_bytes
        by_shared = self.shared_kib * 1024 // shared if shared else self.blocks
        return min(self.blocks, self.threads // threads, by_shared)

    def allocated(self, shared_bytes: int) -> int:
        """Return a number of bytes of shared memory in whole units.

        Examples
        --------
        >>> residency_of(ARCHS["sm_70"]).allocated(1), residency_of(ARCHS["sm_80"]).allocated(129)
        (256, 256)
        """
        return -(-shared_bytes // self.shared_unit) * self.shared_unit


_SOURCE = (
    "CUDA C++ Programming Guide {}, technical specifications per compute capability; PTX ISA 9.1, %total_smem_size "
    "(allocation unit); multiprocessors of the {}: its data sheet"
)


def _row(
    chip: str, multiprocessors: int, product: str, threads: int, blocks: int, shared_kib: int, guide: str = "13.0"
) -> Residency:
    is_old = chip.startswith("sm_7")
    known = Evidence("documented", _SOURCE.format(guide, product))
    unit, reserved = (256, 0) if is_old else (128, 1024)
    return Residency(chip, multiprocessors, product, threads, blocks, shared_kib, unit, reserved, known)


RESIDENCY = {row.chip: row for row in (
    _row("sm_70", 80, "V100", 2048, 32, 96, "12"),
    _row("sm_72", 8, "Jetson AGX Xavier", 2048, 32, 96, "12"),
    _row("sm_75", 72, "Quadro RTX 8000", 1024, 16, 64),
    _row("sm_80", 108, "A100", 2048, 32, 164),
    _row("sm_86", 84, "RTX A6000", 1536, 16, 100),
    _row("sm_89", 142, "RTX 6000 Ada", 1536, 24, 100),
    _row("sm_90", 132, "H200", 2048, 32, 228),
    _row("sm_100", 148, "B200", 2048, 32, 228),
    _row("sm_103", 160, "B300", 2048, 32, 228),
    _row("sm_120", 188, "RTX PRO 6000", 1536, 24, 100),
    _row("sm_121", 48, "DGX Spark", 1536, 24, 100),
)}  # fmt: skip
"""The entries by chip."""


def residency_of(arch: Arch) -> Residency:
    """Return the entry of a chip, or of the chip from which it inherits.

    Examples
    --------
    >>> residency_of(ARCHS["sm_90"]).multiprocessors
    132
    """
    while arch.name not in RESIDENCY:
        arch = ARCHS[arch.inherits]
    return RESIDENCY[arch.name]
