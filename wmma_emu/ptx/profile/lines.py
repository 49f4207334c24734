# SPDX-License-Identifier: MIT
"""The parts of a profile: instructions and lines with their counters, and kernels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wmma_emu.errors import printable
from wmma_emu.ptx.profile.conflicts import ConflictingAccess
from wmma_emu.ptx.profile.counters import COUNTERS, RATIOS, Counters, counts_of
from wmma_emu.ptx.profile.late_warps import LateWarp, worst_of
from wmma_emu.ptx.profile.occupancy import Occupancy, occupancy_of
from wmma_emu.ptx.profile.program_facts import facts_of
from wmma_emu.ptx.program.program import KernelProgram


@dataclass(frozen=True, slots=True, repr=False)
class ProfiledInstruction(Counters):
    """An instruction of the PTX with its counters.

    ``line`` is its line of the PTX, ``text`` the statement there; ``file`` and ``number`` are its own source line, ""
    and 0 if it is unknown. ``kind`` is its kind in the instruction mix, ``is_branch`` whether it is a branch with a
    guard. ``conflicting`` is an access to shared memory, one with many bank conflicts if there are any. ``late`` are
    the warps for which others wait at a barrier.
    """

    line: int = 0
    opcode: str = ""
    text: str = ""
    kind: str = ""
    file: str = ""
    number: int = 0
    is_branch: bool = False
    conflicting: ConflictingAccess | None = None
    late: tuple[LateWarp, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class ProfiledLine(Counters):
    """A line with the counters of its instructions.

    ``where`` is the file and line of the source, such as "gemm.cu:41", or "line 54" of the PTX; ``text`` is the line.
    ``late`` are the warps of a block for which others wait at a barrier there, the latest first.
    """

    where: str = ""
    text: str = ""
    late: tuple[LateWarp, ...] = ()

    def __repr__(self) -> str:
        """Return the line, which pytest shows for a failed assertion."""
        return f"<{printable(self.where)}: {printable(self.text)}>" if self.text else f"<{printable(self.where)}>"


@dataclass(frozen=True)
class KernelProfile:
    """The counters of a kernel, added over its launches.

    Attributes
    ----------
    kernel, arch : str
    launches : int
    grid, block : tuple of int
        Of the last launch.
    shared_bytes : int
        The shared memory of a block, static and dynamic.
    instructions : tuple of ProfiledInstruction
        The instructions of the PTX, also those that were never executed.
    find_registers : callable, optional
        Returns the registers of a thread, which needs ptxas.
    """

    kernel: str
    arch: str
    launches: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    instructions: tuple[ProfiledInstruction, ...] = field(repr=False)
    find_registers: Callable[[], int] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def registers(self) -> int:
        """The registers of a thread, as ptxas assigns them; 0 if it is not installed, or refuses the PTX."""
        return 0 if self.find_registers is None else self.find_registers()

    @property
    def occupancy(self) -> Occupancy:
        """The number of blocks that a multiprocessor holds, and what limits it."""
        return occupancy_of(self.arch, self.block, self.shared_bytes, self.registers)

    if not TYPE_CHECKING:  # type checkers know the names

        def __getattr__(self, name: str) -> Any:
            hint = f"; .total.{name} is the counter of the kernel" if name in (*COUNTERS, *RATIOS) else ""
            raise AttributeError(f"a KernelProfile has no {name}{hint}")

    @cached_property
    def total(self) -> Counters:
        """The counters of all instructions."""
        return Counters.total(self.instructions)

    @property
    def mix(self) -> dict[str, int]:
        """The executions of each kind of instruction, of PTX, not of machine code; the most frequent kind first."""
        found: dict[str, int] = {}
        for x in self.instructions:
            found[x.kind] = found.get(x.kind, 0) + x.executions
        return dict(sorted(((k, v) for k, v in found.items() if v), key=lambda item: -item[1]))

    def __add__(self, other: "KernelProfile") -> "KernelProfile":
        """Add the counters of another launch of the same kernel."""
        return replace(
            other, launches=self.launches + other.launches,
            instructions=tuple(
                added(x, y) for x, y in zip(self.instructions, other.instructions, strict=True)
            ),
        )  # fmt: skip

    @property
    def identity(self) -> tuple[object, ...]:
        """The facts that launches of one kernel share."""
        return self.kernel, self.arch, tuple((x.line, x.text, x.file, x.number) for x in self.instructions)

    def with_files(self, names: Mapping[str, str]) -> "KernelProfile":
        """Return the kernel with other names of source files."""
        if not names:
            return self
        changed = (replace(x, file=names[x.file]) if x.file in names else x for x in self.instructions)
        return replace(self, instructions=tuple(changed))


def added(one: ProfiledInstruction, other: ProfiledInstruction) -> ProfiledInstruction:
    """Add the counters of other executions of an instruction, and keep the worse of the two accesses."""
    late = worst_of((*one.late, *other.late))
    worst = max((x for x in (one.conflicting, other.conflicting) if x), key=lambda x: x.conflicts, default=None)
    changes: dict[str, Any] = {**counts_of(one + other), "conflicting": worst, "late": late}
    return replace(one, **changes)


def profiled_instructions(
    program: KernelProgram,
    counted: Sequence[Mapping[str, int]],
    conflicting: Mapping[int, ConflictingAccess],
    late: Mapping[int, tuple[LateWarp, ...]],
    paths: Mapping[str, str],
) -> tuple[ProfiledInstruction, ...]:
    """Join the instructions of a program to their counters, in the order of the PTX; those of one line that are equal
    are added. ``paths`` are the paths of files on this machine that have other names in the PTX.
    """
    found: dict[tuple[int, str], ProfiledInstruction] = {}
    described = facts_of(program.instructions).described(program)
    for index, (facts, counts) in enumerate(zip(described, counted, strict=True)):
        access = _in_its_array(conflicting.get(index), program)
        file = paths.get(facts["file"], facts["file"])
        fields = {**facts, **counts, "file": file, "conflicting": access, "late": late.get(index, ())}
        one = ProfiledInstruction(**fields)
        key = one.line, one.opcode
        found[key] = added(found[key], one) if key in found else one
    return tuple(found[key] for key in sorted(found, key=lambda key: key[0]))


def _in_its_array(access: ConflictingAccess | None, program: KernelProgram) -> ConflictingAccess | None:
    """Return an access with the start of the variable that it accesses first."""
    if access is None:
        return None
    first = min(x for x in access.addresses if x >= 0)
    starts = (x.offset for x in program.symbols if x.space == "shared" and x.offset <= first)
    return access._replace(start=max(starts, default=0))
