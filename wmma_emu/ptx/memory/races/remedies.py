# SPDX-License-Identifier: MIT
"""Remedies of races: what is missing between two accesses, and what would fix it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wmma_emu.ptx.program.dependence import depends_on_load
from wmma_emu.ptx.program.program import AddressOperand, PtxInstruction

ThreadId = tuple[int, int, int]


class Remedy(NamedTuple):
    """The missing order between two threads that race, and its fix.

    ``helps`` is a hint for messages that are shown without the fix. ``between`` is the fix if two lines are concerned,
    and ``within`` if both accesses are in one line; ``call`` is the barrier, if the fix is one. With ``is_in_time``,
    the fix names the line of the earlier access first, which may be further down in the source.
    """

    missing: str
    helps: str
    between: str
    within: str
    call: str = ""
    is_in_time: bool = False

    def fix(self, *lines: str) -> str:
        """Return what would fix a race at one line or at two.

        Examples
        --------
        >>> REMEDIES["lanes"].fix("k.cu:8", "k.cu:9")
        'a __syncwarp() between k.cu:8 and k.cu:9'
        """
        return self.between.format(*lines) if len(lines) == 2 else self.within


REMEDIES = {
    "update": Remedy(
        "one of them loads the value at this address, changes it and stores it back",
        ": if that is one change, such as x += 1, no barrier helps, but an atomic operation (atomicAdd) does",
        "one atomic operation, such as atomicAdd(), instead of the load at {0} and the store at {1}",
        "one atomic operation, such as atomicAdd(), instead of the load and the store",
    ),
    "at once": Remedy(
        "which of the values remains is undefined",
        "",
        "let only one thread store there, or combine the values with an atomic operation",
        "let only one thread store there, or combine the values with an atomic operation",
    ),
    "blocks": Remedy(
        "nothing orders the two",
        ": blocks are ordered by a fence with a flag or an atomic operation, a barrier of the whole grid, or a second "
        "launch",
        "write data, __threadfence(), atomic store to a flag; atomic load of the flag, __threadfence(), read data. Or "
        "a grid-wide barrier, or a second launch",
        "let only one block access it, use one atomic operation, or move the dependent accesses to a second launch",
    ),
    "warps": Remedy(
        "no barrier is between the two",
        ", such as __syncthreads()",
        "a __syncthreads() between {0} and {1}",
        "a __syncthreads() between the two accesses, or a separate address for each thread",
        "__syncthreads()",
    ),
    "lanes": Remedy(
        "no __syncwarp() is between the two",
        "",
        "a __syncwarp() between {0} and {1}",
        "a __syncwarp() between the two accesses, or a separate address for each lane",
        "__syncwarp()",
    ),
    "copy": Remedy(
        "",
        "",
        "cp.async.wait_group or cp.async.wait_all for this copy, in the threads that copy; then a barrier, if other "
        "threads access the bytes, before {1}",
        "cp.async.wait_group or cp.async.wait_all for this copy, in the threads that copy; then a barrier, if other "
        "threads access the bytes",
    ),
    "phase": Remedy(
        "",
        "",
        "mbarrier.try_wait in a loop, for the phase of the copy of {0}, in each thread that uses the bytes, before {1}",
        "mbarrier.try_wait in a loop, for the phase of this copy, in each thread that uses the bytes",
        is_in_time=True,
    ),
    "phase at the end": Remedy(
        "",
        "",
        "mbarrier.try_wait in a loop, for the phase of this copy, before the block ends; or no copy of unused data",
        "mbarrier.try_wait in a loop, for the phase of this copy, before the block ends; or no copy of unused data",
    ),
    "bulk store": Remedy(
        "",
        "",
        "cp.async.bulk.commit_group and cp.async.bulk.wait_group.read in the thread that issued the copy of {0}; then "
        "a barrier, if other threads write the bytes, before {1}",
        "cp.async.bulk.commit_group and cp.async.bulk.wait_group.read in the thread that issued the copy; then a "
        "barrier, if other threads write the bytes",
        is_in_time=True,
    ),
    "bulk write": Remedy(
        "",
        "",
        "cp.async.bulk.commit_group and cp.async.bulk.wait_group, without .read, in the thread that issued the copy of "
        "{0}; then a barrier, or a release and an acquire, if another thread accesses the bytes, before {1}",
        "cp.async.bulk.commit_group and cp.async.bulk.wait_group, without .read, in the thread that issued the copy; "
        "then a barrier, or a release and an acquire, if another thread accesses the bytes",
        is_in_time=True,
    ),
    "initialise": Remedy(
        "",
        "",
        "one thread executes mbarrier.init, then fence.mbarrier_init if other blocks use the mbarrier; then a "
        "__syncthreads(), before {1}",
        "one thread executes mbarrier.init, then fence.mbarrier_init if other blocks use the mbarrier; then a "
        "__syncthreads(), before this line",
    ),
    "begin again": Remedy(
        "",
        "",
        "mbarrier.inval only after a __syncthreads() that follows the last use of the mbarrier",
        "mbarrier.inval only after a __syncthreads() that follows the last use of the mbarrier",
    ),
    "end": Remedy(
        "",
        "",
        "other memory for the mbarrier; or a __syncthreads() and mbarrier.inval before its memory is used again",
        "other memory for the mbarrier; or a __syncthreads() and mbarrier.inval before its memory is used again",
    ),
    "arrivals": Remedy(
        "",
        "",
        "initialise the mbarrier with the number of arrivals of a phase, or let fewer threads arrive: only one lane of "
        "a warp, if it arrives for all; and wait for each phase before the arrivals of the next one",
        "initialise the mbarrier with the number of arrivals of a phase, or let fewer threads arrive: only one lane of "
        "a warp, if it arrives for all; and wait for each phase before the arrivals of the next one",
    ),
    "no complete": Remedy(
        "",
        "",
        "leave out .noComplete where the arrival may be the last one of its phase",
        "leave out .noComplete where the arrival may be the last one of its phase",
    ),
    "bytes": Remedy(
        "",
        "",
        "expect exactly the bytes that all copies of the phase deliver",
        "expect exactly the bytes that all copies of the phase deliver",
    ),
    "parity": Remedy(
        "",
        "",
        "wait with the parity of the phase in which the data arrives: 0 for the first phase of an mbarrier, then 1, "
        "then 0 again",
        "wait with the parity of the phase in which the data arrives: 0 for the first phase of an mbarrier, then 1, "
        "then 0 again",
    ),
    "proxy": Remedy(
        "",
        "",
        "fence.proxy.async in the threads of {0}, after it, and before the barrier that orders {1} after it",
        "fence.proxy.async in the threads of the ordinary accesses, before the barrier that orders this line after "
        "them",
        is_in_time=True,
    ),
    "tensor map": Remedy(
        "",
        "",
        "fence.proxy.tensormap::generic.release (or tensormap.cp_fenceproxy) after {0}, a barrier if the threads "
        "differ, and fence.proxy.tensormap::generic.acquire of the map before {1}",
        "fence.proxy.tensormap::generic.release after the change, and .acquire before this line",
        is_in_time=True,
    ),
    "one lane": Remedy(
        "",
        "",
        "elect.sync, or a condition on one thread, around the copy",
        "elect.sync, or a condition on one thread, around the copy",
    ),
    "product": Remedy(
        "",
        "",
        "wgmma.wait_group before {1}, so that it covers the wgmma of {0}",
        "wgmma.wait_group before this line, so that it covers the wgmma",
        is_in_time=True,
    ),
}
"""Remedies of races, by the accesses and the relation of the two threads; and of asynchronous work without a wait."""


def remedy_of(
    one: ThreadId, other: ThreadId, own: PtxInstruction, other_instruction: PtxInstruction | None,
    reads: Iterable[PtxInstruction] = (), code: Sequence[PtxInstruction] = (),
) -> str:  # fmt: skip
    """Choose the entry of `REMEDIES` for two threads, (block, warp, lane) each.

    ``own`` and ``other_instruction`` are their instructions (None: unknown), and ``reads`` the instructions that read
    the memory: if both threads execute the same store, one of them may have read the value that it stores. ``code`` is
    the program.

    Examples
    --------
    >>> load = PtxInstruction("ld.shared.u32", "ld", ("shared", "u32"), (), None, 57, 1)
    >>> remedy_of((0, 1, 5), (0, 1, 6), load, None)
    'lanes'
    """
    pairs = (
        [(x, own) for x in reads]
        if other_instruction is own
        else []
        if other_instruction is None
        else [(own, other_instruction)]
    )
    return "update" if any(is_update(*x, code) for x in pairs) else separation(one, other)


def separation(one: ThreadId, other: ThreadId) -> str:
    """Choose the entry for two threads by whether they are in different blocks, warps or lanes."""
    return "blocks" if one[0] != other[0] else "warps" if one[1] != other[1] else "lanes"


def is_update(one: PtxInstruction, other: PtxInstruction, code: Sequence[PtxInstruction]) -> bool:
    """Return whether a load and a later store use the same address, and the store depends on the loaded value.

    Threads that race there have the same address, so that all of them read, change and write one location. (In a sum
    over a tile, which needs barriers, a thread loads a location to which another thread stores, by another address.)
    """
    load, store = (one, other) if one.mnemonic == "ld" else (other, one)
    if (load.mnemonic, store.mnemonic) != ("ld", "st") or _address(load) is None or _address(load) != _address(store):
        return False
    return depends_on_load(code, load, store)


def _address(instruction: PtxInstruction) -> AddressOperand | None:
    return next((x for x in instruction.operands if isinstance(x, AddressOperand)), None)
