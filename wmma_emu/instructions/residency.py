# SPDX-License-Identifier: MIT
"""How many blocks of a grid a chip can hold at a time: the limits of its multiprocessors, and their number."""

from dataclasses import dataclass
from math import prod

from wmma_emu.chips import ARCHS, Arch
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.instructions.launches import Dim3

_WARP = 32
_REGISTER_UNIT, _PARTS = 256, 4
"""The registers that a warp gets at a time, and the parts of a multiprocessor between which its registers are divided
(cuda_occupancy.h of CUDA 13.0, the same for all chips)."""


@dataclass(frozen=True, slots=True)
class Residency(Sourced):
    """The limits of a multiprocessor, and the number of multiprocessors of the largest product with the chip.

    ``shared_unit`` is the granularity, and ``reserved_bytes`` the part reserved for the system, of a block's shared
    memory, both in bytes; ``shared_kib`` is the shared memory of a multiprocessor, ``registers`` the number of its
    registers of 32 bits.
    """

    chip: str
    multiprocessors: int
    product: str
    threads: int
    blocks: int
    shared_kib: int
    registers: int
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
        return min(self.limits(block, shared_bytes).values())

    def limits(self, block: Dim3, shared_bytes: int, registers: int = 0) -> dict[str, int]:
        """Return how many blocks each resource of a multiprocessor suffices for.

        ``registers`` is the number that ptxas assigns to a thread; 0 if it is not known. A warp gets them in units
        of 256, from one of four parts of the multiprocessor.

        Examples
        --------
        >>> residency_of(ARCHS["sm_90"]).limits(Dim3(256), 48 * 1024, 90)
        {'threads': 8, 'shared memory': 4, 'blocks': 32, 'registers': 2}
        """
        warps = -(-prod(block) // _WARP)
        shared = self.allocated(shared_bytes) + self.reserved_bytes
        found = {
            "threads": self.threads // (warps * _WARP),
            "shared memory": self.shared_kib * 1024 // shared if shared else self.blocks, "blocks": self.blocks,
        }  # fmt: skip
        if registers:
            of_warp = -(-registers * _WARP // _REGISTER_UNIT) * _REGISTER_UNIT
            found["registers"] = self.registers // _PARTS // of_warp * _PARTS // warps
        return found

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
    return Residency(chip, multiprocessors, product, threads, blocks, shared_kib, 1 << 16, unit, reserved, known)


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
