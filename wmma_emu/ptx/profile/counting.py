# SPDX-License-Identifier: MIT
"""The counts of a running launch, for each instruction of its program."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.banks import BANK_BYTES, BANKS
from wmma_emu.ptx.profile.atomic_loops import loop_costs, loop_of_halves_costs
from wmma_emu.ptx.profile.bypassing_copies import bypassing_copy
from wmma_emu.ptx.profile.conflicts import ConflictingAccess
from wmma_emu.ptx.profile.executions import Executions
from wmma_emu.ptx.profile.instruction_costs import WARPS_OF_WGMMA
from wmma_emu.ptx.profile.late_warps import LateWarp, worst_of
from wmma_emu.ptx.profile.patterns import CopyPatterns, Patterns
from wmma_emu.ptx.profile.program_facts import ExecutionCosts, facts_of
from wmma_emu.ptx.profile.repeats import Repeats
from wmma_emu.ptx.profile.wavefronts import (
    Lanes,
    Rows,
    Wavefronts,
    atomic_sectors,
    atomic_wavefronts,
    colliding_lanes,
    copy_wavefronts,
    global_sectors,
    local_requests,
    local_sectors,
    shared_wavefronts,
)
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Active, Array

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


MEASURED_ON = "sm_90"
"""The chip on which the rules were measured; they are applied to all chips."""

ACCESS_RULES = {
    "shared load": AccessRule("shared", 4, lambda *x: _wavefronts(shared_wavefronts(*x)), _OF_SHARED),
    "shared store": AccessRule("shared", 4, lambda *x: _wavefronts(shared_wavefronts(*x, joins=False)), _OF_SHARED),
    "shared increment": AccessRule("shared", 4, lambda *x: _wavefronts(shared_wavefronts(*x, joins=False)), _OF_SHARED),
    "shared loop": AccessRule("shared", 4, loop_costs, ("shared_requests", *_OF_SHARED)),
    "shared loop of halves": AccessRule("shared", 4, loop_of_halves_costs, ("shared_requests", *_OF_SHARED)),
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

    counts_waits = True
    """Whether the waits of warps at barriers are counted."""

    def __init__(self, instructions: tuple[PtxInstruction, ...]) -> None:
        self.instructions = instructions
        self._facts = facts_of(instructions)
        self._index = self._facts.index
        self._known: dict[tuple[Any, ...], tuple[int, ...]] = {}
        self.begin()

    def begin(self) -> None:
        """Discard the counts, because the launch begins again."""
        self._counts: list[defaultdict[str, int]] = [defaultdict(int) for _ in self.instructions]
        self._repeats: defaultdict[int, Repeats] = defaultdict(Repeats)
        self._blocks: dict[int, Executions] = {}
        self._guarded: defaultdict[int, int] = defaultdict(int)
        self._guarded_warps: defaultdict[int, int] = defaultdict(int)
        self.conflicting: dict[int, ConflictingAccess] = {}
        self._late: defaultdict[int, dict[int, LateWarp]] = defaultdict(dict)

    def atomic_rule(self, instruction: PtxInstruction) -> str:
        """Return the rule of an atomic operation on shared memory."""
        return self._facts.atomic_rules.get(id(instruction), "shared atomic")

    def executions_of(self, pc: int, length: int) -> Executions:
        """Return the counts of the basic block at a pc; the waves of a launch share them."""
        return self._blocks.setdefault(pc, Executions(length))

    def guarded(self, index: int, holding: NDArray[np.bool_]) -> int:
        """Count and return the threads that execute a guarded instruction, and count their warps."""
        threads = int(np.count_nonzero(holding))
        self._guarded[index] += threads
        if self._facts.costs[index].are_of_warps:
            self._guarded_warps[index] += int(np.count_nonzero(holding.any(axis=-1)))
        return threads

    def add(self, index: int, **amounts: int) -> None:
        """Add to counters of an instruction."""
        found = self._counts[index]
        for name, amount in amounts.items():
            found[name] += amount

    def once(
        self, instruction: PtxInstruction, addresses: tuple[Array, ...], masks: tuple[Active, ...],
        shape: tuple[int, ...], unit: int, count: Callable[[], None],
    ) -> None:  # fmt: skip
        """Count an access by ``count``, unless it repeats an earlier one of the instruction at other addresses.

        ``shape`` is the shape of the wave's threads; the last wave of a launch may have fewer blocks than the others.
        """
        index = self._index.get(id(instruction))
        if index is None:
            return
        repeats = self._repeats[index]
        shift = repeats.shift(addresses, masks, unit)
        if (shape, shift) in repeats.costs:
            self.add(index, **repeats.costs[shape, shift])
            return
        before = dict(self._counts[index])
        count()
        if shift is not None:
            after = self._counts[index]
            repeats.costs[shape, shift] = {name: now - before.get(name, 0) for name, now in after.items()}

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
        accesses = requests * (local_requests(size) if space == "local" else 1)
        counts = {f"{space}_requests": accesses, f"{space}_bytes": lanes * size}
        self.add(index, **counts | dict(zip(names, found, strict=True)))
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
        self, instruction: PtxInstruction, size: int, patterns: CopyPatterns, *, bypasses: bool, may_fill: bool
    ) -> None:  # fmt: skip
        """Count asynchronous copies of warps, through the L1 cache or past it, which may fill zeros instead."""
        index = self._index.get(id(instruction))
        if index is None or not len(patterns.counts):
            return
        source, target, active, reads, counts = patterns
        sectors = global_sectors(source, size, reads)
        wavefronts, conflicts = _wavefronts(copy_wavefronts(source, target, size, active, reads))
        if bypasses:
            sectors, wavefronts = np.array(bypassing_copy(source, target, reads)).T
            if may_fill:
                wavefronts = copy_wavefronts(source, target, size, active, reads & False).needed
            conflicts = np.where((active != reads).any(axis=1), conflicts, 0)
        self.add(
            index, global_requests=int(reads.any(axis=1) @ counts), global_sectors=int(sectors @ counts),
            global_bytes=int(reads.sum(axis=1) @ counts) * size, shared_requests=int(counts.sum()),
            shared_wavefronts=int(wavefronts @ counts), bank_conflicts=int(conflicts @ counts),
            shared_bytes=int(active.sum(axis=1) @ counts) * size,
        )  # fmt: skip

    def waited(self, instruction: PtxInstruction, waits: NDArray[np.int64], last: NDArray[np.int64]) -> None:
        """Count how many instructions warps waited at a barrier, (blocks, warps), for the last warp of each block."""
        index = self._index.get(id(instruction))
        if index is None:
            return
        self.add(index, barrier_waits=int(waits.sum()))
        known = self._late[index]
        by_block = waits.sum(axis=1)
        for warp in np.unique(last[by_block > 0]).tolist():
            of_warp = by_block[last == warp]
            one = LateWarp(warp, int(np.count_nonzero(of_warp)), int(of_warp.sum()))
            known[warp] = known[warp] + one if warp in known else one

    @property
    def late(self) -> dict[int, tuple[LateWarp, ...]]:
        """The warps for which others waited at each barrier."""
        return {index: worst_of(found.values()) for index, found in self._late.items()}

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

    def counters(self) -> list[dict[str, int]]:
        """Return the counters of each instruction that are not 0."""
        warps: defaultdict[int, int] = defaultdict(int)
        for pc, found in self._blocks.items():
            for index in range(pc, pc + found.length):
                is_guarded = self.instructions[index].guard is not None
                warps[index] = self._guarded_warps[index] if is_guarded else found.warps
                self._counts[index] |= {
                    "executions": found.warps, "active_threads": found.threads, "divergent_executions": found.divergent,
                    "threads": self._guarded[index] if is_guarded else found.threads,
                }  # fmt: skip
        both = zip(self._facts.costs, self._counts, strict=True)
        return [_with_costs(costs, counts, warps[index]) for index, (costs, counts) in enumerate(both)]


def _with_costs(costs: ExecutionCosts, given: defaultdict[str, int], warps: int) -> dict[str, int]:
    """Add what an instruction costs, whatever it accesses; ``warps`` are the executions in which its guard holds."""
    counts = given.copy()
    counts |= {name: amount * warps for name, amount in costs.of_warp.items()}
    counts |= {name: amount * counts["threads"] for name, amount in costs.of_thread.items()}
    if costs.operand_bytes:
        groups = warps // WARPS_OF_WGMMA
        counts["shared_requests"] += warps
        counts["shared_wavefronts"] += groups * costs.operand_bytes // (BANKS * BANK_BYTES)
        counts["shared_bytes"] += groups * costs.operand_bytes
    return {name: amount for name, amount in counts.items() if amount}
