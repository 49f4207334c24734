# SPDX-License-Identifier: MIT
"""One access as races see it: which bytes, by which threads, at which times, and how strong it is."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.program.program import Instruction
from wmma_emu.ptx.threads import Active, Array

WEAK, VOLATILE, BLOCK, SYSTEM = 0, 1, 2, 3
"""How strong an access is; a larger number is in conflict with fewer others.

Weak accesses are in conflict with everything. Those of strength BLOCK (scope .cta or .cluster) and SYSTEM (.gpu, .sys)
are in conflict with weak ones and, beyond the scope of either, with each other. VOLATILE ones are in conflict
with each other too, but not with the other strong ones.
"""

_STRONG = ("relaxed", "acquire", "release", "acq_rel", "seq_cst", "mmio")

LATER: NDArray[np.int64] = np.zeros(0, np.int64)
"""Stands for positions that are found from the addresses when they are needed."""


class Order(Protocol):
    """What races ask the causality order."""

    now: NDArray[np.int32]
    known: NDArray[np.int32]
    blocks: NDArray[np.int64]

    @property
    def are_apart(self) -> bool:
        """Whether nothing that one block does is ever ordered before what another one does."""

    def know_others(self, threads: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which threads of the chunk, counted from 0, may know of what other blocks did."""

    @property
    def changes(self) -> int:
        """A number that grows whenever a thread of the chunk comes to know of more."""

    def stamps(self, active: Active) -> Array:
        """Give the number of an access that each thread makes now: thread and time; 0 is never one."""

    def unordered(self, stamps: Array) -> NDArray[np.bool_]:
        """Say which accesses, (..., G, W, 32), are not known to come before what the thread there does now."""

    def unordered_for(self, stamps: Array, threads: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say the same of a list of accesses, each for a thread of the chunk counted from 0."""

    def threads_of(self, stamps: Array) -> NDArray[np.int64]:
        """Number the threads of accesses through the whole launch."""

    def time(self, stamps: Array) -> Array:
        """Give the times of accesses: in one block, what is known up to a time is known of all earlier ones."""

    def who(self, stamp: int) -> tuple[int, int, int]:
        """Name the thread of an access: block of the grid, warp, lane."""


class Touch(NamedTuple):
    """An access to memory: ``size`` bytes at each position, by the threads of ``mask`` (None: all).

    ``stamps`` are the numbers of the accesses, a time and a thread each (None where races are not looked for);
    ``times`` the times of the warps. ``strength`` is one of WEAK, VOLATILE, BLOCK and SYSTEM.
    """

    instruction: Instruction
    positions: NDArray[np.int64]
    addresses: Array
    size: int
    unit: int
    mask: NDArray[np.bool_] | None
    stamps: Array | None = None
    times: NDArray[np.int32] | None = None
    strength: int = WEAK


def strength_of(
    ordering: str, scope: str, *, mnemonic: str = "ld", polls: bool = False, flags: bool = True, guess: bool = False
) -> int:  # fmt: skip
    """Tell how strong an access is, from its ordering and its scope.

    ``volatile`` orders nothing, and does not make two accesses of a word right either, as compute-sanitizer has it for
    shared memory, and the suite ScoR for global memory: but for a load that ``polls``, and for the stores that it waits
    for. Where nothing in a program polls (``flags``), a volatile store is as weak as any. A weak load that is only a
    ``guess``, which an ``atom.cas`` compares with the word, is as a volatile one: no race with atomic operations.

    Examples
    --------
    >>> strength_of("weak", ""), strength_of("relaxed", "cta"), strength_of("acquire", "")
    (0, 2, 3)
    >>> strength_of("volatile", ""), strength_of("volatile", "", polls=True)
    (1, 3)
    >>> strength_of("volatile", "", mnemonic="st"), strength_of("volatile", "", mnemonic="st", flags=False)
    (1, 0)
    >>> strength_of("weak", "", guess=True)
    1
    """
    if ordering == "volatile":
        return SYSTEM if polls else WEAK if mnemonic == "st" and not flags else VOLATILE
    if ordering not in _STRONG:
        return VOLATILE if guess else WEAK
    return BLOCK if scope in ("cta", "cluster") else SYSTEM
