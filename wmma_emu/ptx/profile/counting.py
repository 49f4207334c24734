# SPDX-License-Identifier: MIT
"""The counts of a running launch, for each instruction of its program."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.profile.counters import Counters
from wmma_emu.ptx.profile.executions import Executions
from wmma_emu.ptx.profile.instruction_costs import operations_of, products_of
from wmma_emu.ptx.profile.patterns import Patterns
from wmma_emu.ptx.profile.wavefronts import colliding_lanes, global_sectors, local_sectors, shared_wavefronts
from wmma_emu.ptx.program.program import PtxInstruction

_BARRIERS = ("bar", "barrier")


def _of_shared(patterns: Patterns, size: int) -> tuple[NDArray[np.int64], ...]:
    needed, without_conflicts = shared_wavefronts(patterns.addresses, size, patterns.active)
    return needed, needed - without_conflicts


def _of_global(patterns: Patterns, size: int) -> tuple[NDArray[np.int64], ...]:
    return (global_sectors(patterns.addresses, size, patterns.active),)


def _of_local(patterns: Patterns, size: int) -> tuple[NDArray[np.int64], ...]:
    return (local_sectors(patterns.addresses, size, patterns.active),)


_COSTS: dict[str, tuple[Callable[[Patterns, int], tuple[NDArray[np.int64], ...]], tuple[str, ...]]] = {
    "shared": (_of_shared, ("shared_wavefronts", "bank_conflicts")),
    "global": (_of_global, ("global_sectors",)),
    "local": (_of_local, ("local_sectors",)),
}
"""The costs of an access to each space, and the counters of them."""

UNITS = {"shared": 4, "global": 32, "local": 4}
"""The bytes by which addresses may differ in all lanes without another cost."""


class Counting:
    """Counts the executions and accesses of a launch, by instruction.

    ``instructions`` are those of the program, which the launch reports by their index, or themselves.
    """

    def __init__(self, instructions: tuple[PtxInstruction, ...]) -> None:
        self.instructions = instructions
        self._index = {id(x): i for i, x in enumerate(instructions)}
        self._known: dict[tuple[Any, ...], tuple[int, ...]] = {}
        self.begin()

    def begin(self) -> None:
        """Discard the counts, because the launch begins again."""
        self._counts: list[defaultdict[str, int]] = [defaultdict(int) for _ in self.instructions]
        self._blocks: dict[int, Executions] = {}
        self._guarded: defaultdict[int, int] = defaultdict(int)

    def executions_of(self, pc: int, length: int) -> Executions:
        """Return the counts of the basic block at a pc; the waves of a launch share them."""
        return self._blocks.setdefault(pc, Executions(length))

    def guarded(self, index: int, threads: int) -> None:
        """Count the threads that execute a guarded instruction."""
        self._guarded[index] += threads

    def add(self, index: int, **amounts: int) -> None:
        """Add to counters of an instruction."""
        found = self._counts[index]
        for name, amount in amounts.items():
            found[name] += amount

    def accessed(self, instruction: PtxInstruction, space: str, size: int, patterns: Patterns) -> None:
        """Count accesses of warps to a space, ``size`` bytes in each lane."""
        index = self._index.get(id(instruction))
        requests = int(patterns.counts.sum())
        if index is None or not requests:
            return
        lanes = int(patterns.active.sum(axis=1) @ patterns.counts)
        function, names = _COSTS[space]
        costs = self._total(space, size, patterns, function)
        self.add(index, **{f"{space}_requests": requests, f"{space}_bytes": lanes * size},
                 **dict(zip(names, costs, strict=True)))  # fmt: skip

    def collided(self, instruction: PtxInstruction, patterns: Patterns) -> None:
        """Count atomic operations of warps."""
        index = self._index.get(id(instruction))
        if index is not None:
            (found,) = self._total("atomic", 0, patterns, lambda x, _: (colliding_lanes(x.addresses, x.active),))
            self.add(index, atomics=int(patterns.counts.sum()), atomic_collisions=found)

    def simply(self, instruction: PtxInstruction, **amounts: int) -> None:
        """Add to counters of an instruction."""
        index = self._index.get(id(instruction))
        if index is not None:
            self.add(index, **amounts)

    def _total(
        self, what: str, size: int, patterns: Patterns, function: Callable[[Patterns, int], tuple[Any, ...]]
    ) -> tuple[int, ...]:  # fmt: skip
        """Return the costs of all accesses; those of a single pattern are remembered."""
        if len(patterns.counts) > 1:
            return tuple(int(x @ patterns.counts) for x in function(patterns, size))
        key = what, size, patterns.addresses.tobytes(), patterns.active.tobytes()
        if key not in self._known:
            self._known[key] = tuple(int(x[0]) for x in function(patterns, size))
        times = int(patterns.counts[0])
        return tuple(x * times for x in self._known[key])

    def counters(self) -> list[Counters]:
        """Return the counters of each instruction."""
        for pc, found in self._blocks.items():
            for index in range(pc, pc + found.length):
                is_guarded = self.instructions[index].guard is not None
                self._counts[index] |= {
                    "executions": found.warps, "active_threads": found.threads, "divergent_executions": found.divergent,
                    "threads": self._guarded[index] if is_guarded else found.threads,
                }  # fmt: skip
        return [self._of(x, counts) for x, counts in zip(self.instructions, self._counts, strict=True)]

    @staticmethod
    def _of(instruction: PtxInstruction, counts: defaultdict[str, int]) -> Counters:
        executions, threads = counts["executions"], counts["threads"]
        products = products_of(instruction)
        return Counters(
            **counts,
            matrix_instructions=executions * bool(products),
            multiply_adds=executions * products,
            operations=threads * operations_of(instruction),
            barriers=executions * (instruction.mnemonic in _BARRIERS and "warp" not in instruction.modifiers),
        )
