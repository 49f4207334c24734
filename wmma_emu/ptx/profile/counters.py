# SPDX-License-Identifier: MIT
"""The counters of a profile: what each counts, and the ratios that follow from them."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from wmma_emu.suggestions import did_you_mean

SECTOR_BYTES = 32


@dataclass(frozen=True, slots=True, repr=False)
class Counters:
    """The counters of an instruction, of a source line or of a kernel.

    Attributes
    ----------
    executions : int
        Executions of PTX instructions by warps, whatever their guards.
    active_threads, threads : int
        Executions by threads; and by those of them whose guard holds.
    divergent_executions : int
        Executions by some of the warp's remaining threads only.
    branches : int
        Executions of branches with a guard by warps.
    divergent_branches : int
        Those that send threads of one warp both ways.
    threads_taken, threads_not_taken : int
        The threads that take such a branch, and that do not.
    global_requests, global_sectors, global_bytes : int
        Accesses of warps to global memory, the sectors of 32 bytes that they touch, and the bytes that their lanes ask
        for. Atomic operations are among them, and the reads of ``cp.async``.
    shared_requests, shared_wavefronts, bank_conflicts, shared_bytes : int
        Accesses of warps to shared memory, the wavefronts that they take, the part of them that conflicts cause (0
        without conflicts), and the bytes that their lanes ask for. The writes of ``cp.async`` are among them, and the
        operands of ``wgmma``, which the four warps of a warpgroup read together.
    local_requests, local_sectors, local_bytes : int
        The same for local memory.
    constant_requests : int
        Accesses of warps to constant memory.
    bulk_copies, bulk_bytes : int
        Bulk and tensor copies that threads issue, and the bytes that they move between global and shared memory.
    textures : int
        Accesses of warps to textures and surfaces.
    atomics, atomic_collisions : int
        Atomic operations of warps, and the threads of a warp whose address an earlier thread of it has too.
    matrix_instructions, multiply_adds : int
        Matrix instructions of warps, and their products; a ``wgmma`` counts in each of its four warps.
    operations : int
        Floating-point operations of threads outside matrix instructions; a multiply-add counts as 2.
    barriers : int
        Arrivals of warps at barriers of their block.
    barrier_waits : int
        The instructions for which warps wait at barriers: the last warp to arrive has executed that many more than the
        others since they met before. Each instruction counts as one step of time, whatever it does.
    mbarrier_operations : int
        Executions of ``mbarrier`` instructions by warps. These, barriers, textures and matrix instructions count in
        warps with a thread whose guard holds.

    Examples
    --------
    >>> one = Counters(shared_requests=2, shared_wavefronts=64, bank_conflicts=62)
    >>> (one + one).bank_conflicts, one.wavefronts_per_request
    (124, 32.0)
    """

    executions: int = 0
    active_threads: int = 0
    threads: int = 0
    divergent_executions: int = 0
    branches: int = 0
    divergent_branches: int = 0
    threads_taken: int = 0
    threads_not_taken: int = 0
    global_requests: int = 0
    global_sectors: int = 0
    global_bytes: int = 0
    shared_requests: int = 0
    shared_wavefronts: int = 0
    bank_conflicts: int = 0
    shared_bytes: int = 0
    local_requests: int = 0
    local_sectors: int = 0
    local_bytes: int = 0
    constant_requests: int = 0
    bulk_copies: int = 0
    bulk_bytes: int = 0
    textures: int = 0
    atomics: int = 0
    atomic_collisions: int = 0
    matrix_instructions: int = 0
    multiply_adds: int = 0
    operations: int = 0
    barriers: int = 0
    barrier_waits: int = 0
    mbarrier_operations: int = 0

    def __repr__(self) -> str:
        """Return the counters that are not 0."""
        return (
            f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in counts_of(self).items() if value)})"
        )

    if not TYPE_CHECKING:  # type checkers know the names

        def __getattr__(self, name: str) -> Any:
            near = "" if name.startswith("_") else did_you_mean(name, (*COUNTERS, *RATIOS))
            raise AttributeError(f"{type(self).__name__} has no {name}{near}")

    def __add__(self, other: "Counters") -> "Counters":
        return Counters(*(getattr(self, x) + getattr(other, x) for x in COUNTERS))

    @classmethod
    def total(cls, given: Iterable["Counters"]) -> Self:
        """Add counters."""
        rows = [[getattr(x, name) for name in COUNTERS] for x in given]
        return cls(*map(sum, zip(*rows, strict=True))) if rows else cls()

    @property
    def active_lanes(self) -> float:
        """The mean number of threads of an execution, at most 32."""
        return _ratio(self.active_threads, self.executions)

    @property
    def sectors_per_request(self) -> float:
        """Sectors of an access to global memory: 4 for 32 adjacent words."""
        return _ratio(self.global_sectors, self.global_requests)

    @property
    def wavefronts_per_request(self) -> float:
        """Wavefronts of an access to shared memory: 1 for 32 adjacent words, 4 for 16 bytes of each lane."""
        return _ratio(self.shared_wavefronts, self.shared_requests)

    @property
    def conflicts_per_request(self) -> float:
        """Wavefronts that bank conflicts add to an access to shared memory: 31 for a 32-way conflict."""
        return _ratio(self.bank_conflicts, self.shared_requests)

    @property
    def sector_use(self) -> float:
        """The bytes that lanes ask for, as a share of the bytes of the sectors; above 1 if lanes share bytes."""
        return _ratio(self.global_bytes, self.global_sectors * SECTOR_BYTES)

    @property
    def traffic(self) -> int:
        """Bytes of the sectors of global memory, and of bulk copies."""
        return self.global_sectors * SECTOR_BYTES + self.bulk_bytes

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: floating-point operations (2 a multiply-add) for each byte of `traffic`."""
        return _ratio(self.operations + 2 * self.multiply_adds, self.traffic)

    def to_dict(self) -> dict[str, int]:
        """Return the counters that are not 0."""
        return {name: value for name, value in counts_of(self).items() if value}


def counts_of(counters: Counters) -> dict[str, int]:
    """Return all counters by name."""
    return {name: getattr(counters, name) for name in COUNTERS}


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


COUNTERS = tuple(x.name for x in fields(Counters))
"""The names of the counters, in order."""

RATIOS = (
    "active_lanes", "sectors_per_request", "wavefronts_per_request", "conflicts_per_request", "sector_use", "traffic",
    "intensity",
)  # fmt: skip
"""The names of the values that follow from the counters."""

WHOLES = {
    "active_lanes": "executions", "sectors_per_request": "global_requests", "wavefronts_per_request": "shared_requests",
    "conflicts_per_request": "shared_requests", "sector_use": "global_sectors", "intensity": "traffic",
}  # fmt: skip
"""The divisor of each ratio; where it is 0, there is no ratio. ``traffic`` is a sum."""
