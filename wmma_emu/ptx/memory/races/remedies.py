# SPDX-License-Identifier: MIT
"""What is missing between the two sides of a race: rows only, and which row it is."""

from collections.abc import Iterable
from typing import NamedTuple

from wmma_emu.ptx.program.program import AddressOperand, Instruction

__all__ = ["REMEDIES", "Remedy", "is_update", "remedy_of"]

_Who = tuple[int, int, int]


class Remedy(NamedTuple):
    """What a message says is missing between two threads that are in a race."""

    missing: str


REMEDIES = {
    "update": Remedy(
        "both load this place and store to it: if that is one change, such as x += 1, no barrier helps, but an atomic "
        "operation (atomicAdd) does"
    ),
    "blocks": Remedy(
        "nothing orders the two: what orders blocks is a fence with a flag or an atomic operation, a barrier of the "
        "whole grid, or a second launch"
    ),
    "warps": Remedy("no barrier is between the two, such as __syncthreads()"),
    "lanes": Remedy("no __syncwarp() is between the two"),
}
"""By what the two threads do, and by how far they are apart."""


def remedy_of(
    one: _Who, other: _Who, mine: Instruction, its: Instruction | None, reads: Iterable[Instruction] = ()
) -> Remedy:  # fmt: skip
    """Choose what helps two threads, (block, warp, lane) each, that execute two instructions (None: not known).

    ``reads`` are the instructions that read the memory: where both threads execute the same store, one of them may have
    read what it stores.

    Examples
    --------
    >>> load = Instruction("ld.shared.u32", "ld", ("shared", "u32"), (), None, 57, 1)
    >>> remedy_of((0, 1, 5), (0, 1, 6), load, None).missing
    'no __syncwarp() is between the two'
    """
    pairs = [(x, mine) for x in reads] if its is mine else [] if its is None else [(mine, its)]
    if any(is_update(*x) for x in pairs):
        return REMEDIES["update"]
    apart = "blocks" if one[0] != other[0] else "warps" if one[1] != other[1] else "lanes"
    return REMEDIES[apart]


def is_update(one: Instruction, other: Instruction) -> bool:
    """Whether a load and a store behind it name the same address: each thread reads a place and writes it again.

    Threads that race there have the same address, so that all of them read, change and write one place. (In a sum
    over a tile, which needs barriers, a thread loads a place that another one stores to, at another address.)
    """
    load, store = (one, other) if one.mnemonic == "ld" else (other, one)
    if (load.mnemonic, store.mnemonic) != ("ld", "st") or load.line > store.line:
        return False
    return _address(load) is not None and _address(load) == _address(store)


def _address(instruction: Instruction) -> AddressOperand | None:
    return next((x for x in instruction.operands if isinstance(x, AddressOperand)), None)
