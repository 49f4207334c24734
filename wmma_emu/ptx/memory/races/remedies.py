# SPDX-License-Identifier: MIT
"""What is missing between two accesses, and what would mend that: rows only, and which row it is."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wmma_emu.ptx.program.dependence import depends_on_load
from wmma_emu.ptx.program.program import AddressOperand, PtxInstruction

_Who = tuple[int, int, int]


class Remedy(NamedTuple):
    """What a message says is missing between two threads that are in a race, and what would mend it.

    ``helps`` is what would help, for those who have nothing but the message. ``between`` is the mend where two lines
    are concerned, and ``within`` where both accesses are in one line; ``call`` is the barrier that it is, if it is one.
    """

    missing: str
    helps: str
    between: str
    within: str
    call: str = ""

    def mend(self, *lines: str) -> str:
        """Say what would mend a race at one line or at two.

        Examples
        --------
        >>> REMEDIES["lanes"].mend("k.cu:8", "k.cu:9")
        'a __syncwarp() between k.cu:8 and k.cu:9'
        """
        return self.between.format(*lines) if len(lines) == 2 else self.within


REMEDIES = {
    "update": Remedy(
        "one of them loads from this place, changes it and stores to it",
        ": if that is one change, such as x += 1, no barrier helps, but an atomic operation (atomicAdd) does",
        "one atomic operation, such as atomicAdd(), instead of the load at {0} and the store at {1}",
        "one atomic operation, such as atomicAdd(), instead of the load and the store",
    ),
    "at once": Remedy(
        "nothing says which of the values stays",
        "",
        "one thread alone that stores there, or an atomic operation that combines the values",
        "one thread alone that stores there, or an atomic operation that combines the values",
    ),
    "blocks": Remedy(
        "nothing orders the two",
        ": what orders blocks is a fence with a flag or an atomic operation, a barrier of the whole grid, or a second "
        "launch",
        "write data, __threadfence(), atomic store to a flag; atomic load of the flag, __threadfence(), read data. Or "
        "a grid-wide barrier, or a second launch",
        "let one block alone access it, or use one atomic operation, or a second launch for what needs the first one's",
    ),
    "warps": Remedy(
        "no barrier is between the two",
        ", such as __syncthreads()",
        "a __syncthreads() between {0} and {1}",
        "a __syncthreads() between the two accesses, or threads that access places of their own",
        "__syncthreads()",
    ),
    "lanes": Remedy(
        "no __syncwarp() is between the two",
        "",
        "a __syncwarp() between {0} and {1}",
        "a __syncwarp() between the two accesses, or lanes that access places of their own",
        "__syncwarp()",
    ),
    "copy": Remedy(
        "",
        "",
        "cp.async.wait_group or wait_all that covers this copy, in the threads that copy; then a barrier, if other "
        "threads access it, before {1}",
        "cp.async.wait_group or wait_all that covers this copy, in the threads that copy; then a barrier, if other "
        "threads access it",
    ),
    "product": Remedy(
        "",
        "",
        "wgmma.wait_group before {1}, so that it covers the wgmma of {0}",
        "wgmma.wait_group before this line, so that it covers the wgmma",
    ),
}
"""Of races by what the two threads do, and by how far they are apart; and of what was not waited for."""


def remedy_of(
    one: _Who, other: _Who, mine: PtxInstruction, its: PtxInstruction | None, reads: Iterable[PtxInstruction] = (),
    code: Sequence[PtxInstruction] = (),
) -> str:  # fmt: skip
    """Choose the row of `REMEDIES` for two threads, (block, warp, lane) each, and their instructions (None: not known).

    ``reads`` are the instructions that read the memory: where both threads execute the same store, one of them may have
    read what it stores. ``code`` is the program that they are from.

    Examples
    --------
    >>> load = Instruction("ld.shared.u32", "ld", ("shared", "u32"), (), None, 57, 1)
    >>> remedy_of((0, 1, 5), (0, 1, 6), load, None)
    'lanes'
    """
    pairs = [(x, mine) for x in reads] if its is mine else [] if its is None else [(mine, its)]
    return "update" if any(is_update(*x, code) for x in pairs) else apart(one, other)


def apart(one: _Who, other: _Who) -> str:
    """Choose the row for threads that are so far apart."""
    return "blocks" if one[0] != other[0] else "warps" if one[1] != other[1] else "lanes"


def is_update(one: PtxInstruction, other: PtxInstruction, code: Sequence[PtxInstruction]) -> bool:
    """Whether a load and a store behind it name the same address, and the store depends on what the load gives.

    Threads that race there have the same address, so that all of them read, change and write one place. (In a sum
    over a tile, which needs barriers, a thread loads a place that another one stores to, at another address.)
    """
    load, store = (one, other) if one.mnemonic == "ld" else (other, one)
    if (load.mnemonic, store.mnemonic) != ("ld", "st") or _address(load) is None or _address(load) != _address(store):
        return False
    return depends_on_load(code, load, store)


def _address(instruction: PtxInstruction) -> AddressOperand | None:
    return next((x for x in instruction.operands if isinstance(x, AddressOperand)), None)
