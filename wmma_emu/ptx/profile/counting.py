# SPDX-License-Identifier: MIT
"""The counts of a running launch, for each instruction of its program."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.profile.bypassing_copies import bypassing_copy
from wmma_emu.ptx.profile.conflicts import ConflictingAccess
from wmma_emu.ptx.profile.counters import Counters
from wmma_emu.ptx.profile.executions import Executions
from wmma_emu.ptx.profile.instruction_costs import operations_of, products_of
from wmma_emu.ptx.profile.patterns import PairedPatterns, Patterns
from wmma_emu.ptx.profile.wavefronts import (
    Lanes,
    Rows,
    Wavefronts,
    atomic_sectors,
    atomic_wavefronts,
    colliding_lanes,
    copy_wavefronts,
    global_sectors,
    local_sectors,
    shared_wavefronts,
)
from wmma_emu.ptx.program.program import PtxInstruction

_BARRIERS = ("bar", "barrier")
_Costs = tuple[NDArray[np.int64], ...]


def _wavefronts(found: Wavefronts) -> _Costs:
    return found.needed, found.needed - found.without_conflicts


_OF_SHARED = ("shared_wavefronts", "bank_conflicts")


class AccessRule(NamedTuple):
    """The rule that counts accesses of one kind.

    ``costs`` returns the costs of each pattern, from its addresses, the bytes of a lane and its lanes; ``counters``
    are the names of their counters. Addresses that differ by a multiple of ``unit`` in every lane cost the same.
    """

    space: str
    unit: int
    costs: Callable[[Rows, int, Lanes], _Costs]
    counters: tuple[str, ...]


ACCESS_RULES = {
    "shared load": AccessRule("shared", 4, lambda *x: _wavefronts(shared_wavefronts(*x)), _OF_SHARED),
    "shared store": AccessRule("shared", 4, lambda *x: _wavefronts(shared_wavefronts(*x, joins=False)), _OF_SHARED),
    "shared atomic": AccessRule("shared", 4, lambda *x: _wavefronts(atomic_wavefronts(*x)), _OF_SHARED),
    "global": AccessRule("global", 32, lambda *x: (global_sectors(*x),), ("global_sectors",)),
    "global atomic": AccessRule("global", 32, lambda *x: (atomic_sectors(*x),), ("global_sectors",)),
    "local": AccessRule("local", 4, lambda *x: (local_sectors(*x),), ("local_sectors",)),
}  # fmt: skip
"""The rules, measured on an H200; see the table of evidence."""

_EXPLAINED = ("shared load", "shared store")
"""The rules of accesses whose worst is kept, to explain its conflicts."""


class Counting:
    """Counts the executions and accesses of a launch, by instruction.

    The launch reports the ``instructions`` of the program by their index, or themselves.
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
        self.conflicting: dict[int, ConflictingAccess] = {}

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

    def accessed(
        self, instruction: PtxInstruction, rule: str, size: int, patterns: Patterns,
        everything: Callable[[], tuple[Rows, Lanes]],
    ) -> None:  # fmt: skip
        """Count accesses of warps by a rule, ``size`` bytes in each lane; ``everything`` returns all of them."""
        index = self._index.get(id(instruction))
        requests = int(patterns.counts.sum())
        if index is None or not requests:
            return
        lanes = int(patterns.active.sum(axis=1) @ patterns.counts)
        space, _, costs, names = ACCESS_RULES[rule]
        found = self._total(rule, size, patterns, costs)
        self.add(index, **{f"{space}_requests": requests, f"{space}_bytes": lanes * size},
                 **dict(zip(names, found, strict=True)))  # fmt: skip
        if rule in _EXPLAINED and (found[1] or index not in self.conflicting):
            self._keep_worst(index, rule, size, requests, found[1], everything)

    def _keep_worst(
        self, index: int, rule: str, size: int, requests: int, conflicts: int,
        everything: Callable[[], tuple[Rows, Lanes]],
    ) -> None:  # fmt: skip
        """Keep the first access, or one with many conflicts; no other is searched unless the mean is above its
        conflicts.
        """
        known = self.conflicting.get(index)
        if known is not None and known.conflicts * requests >= conflicts:
            return
        addresses, active = everything()
        joins = rule == "shared load"
        needed, without_conflicts = shared_wavefronts(addresses, size, active, joins=joins)
        worst = int(np.argmax(needed - without_conflicts))
        given = np.where(active[worst], addresses[worst], -1).tolist()
        self.conflicting[index] = ConflictingAccess(
            tuple(given), size, joins, int(needed[worst] - without_conflicts[worst])
        )

    def collided(self, instruction: PtxInstruction, patterns: Patterns) -> None:
        """Count atomic operations of warps."""
        index = self._index.get(id(instruction))
        if index is not None:
            (found,) = self._total("atomic", 0, patterns, lambda x, _, active: (colliding_lanes(x, active),))
            self.add(index, atomics=int(patterns.counts.sum()), atomic_collisions=found)

    def copied(
        self, instruction: PtxInstruction, size: int, patterns: PairedPatterns, *, bypasses: bool
    ) -> None:  # fmt: skip
        """Count asynchronous copies of warps, through the L1 cache or past it."""
        index = self._index.get(id(instruction))
        requests = int(patterns.counts.sum())
        if index is None or not requests:
            return
        source, target, active, counts = patterns
        if bypasses:
            sectors, wavefronts = np.array(bypassing_copy(source, target, active)).T
            conflicts = np.zeros_like(wavefronts)
        else:
            sectors = global_sectors(source, size, active)
            wavefronts, conflicts = _wavefronts(copy_wavefronts(source, target, size, active))
        size_of_all = int(active.sum(axis=1) @ counts) * size
        self.add(
            index, global_requests=requests, global_sectors=int(sectors @ counts), global_bytes=size_of_all,
            shared_requests=requests, shared_wavefronts=int(wavefronts @ counts),
            bank_conflicts=int(conflicts @ counts), shared_bytes=size_of_all,
        )  # fmt: skip

    def simply(self, instruction: PtxInstruction, **amounts: int) -> None:
        """Add to counters of an instruction."""
        index = self._index.get(id(instruction))
        if index is not None:
            self.add(index, **amounts)

    def _total(
        self, rule: str, size: int, patterns: Patterns, costs: Callable[[Rows, int, Lanes], _Costs]
    ) -> tuple[int, ...]:  # fmt: skip
        """Return the costs of all accesses; those of a single pattern are remembered."""
        addresses, active, counts = patterns
        if len(counts) > 1:
            return tuple(int(x @ counts) for x in costs(addresses, size, active))
        key = rule, size, addresses.tobytes(), active.tobytes()
        if key not in self._known:
            self._known[key] = tuple(int(x[0]) for x in costs(addresses, size, active))
        times = int(counts[0])
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
