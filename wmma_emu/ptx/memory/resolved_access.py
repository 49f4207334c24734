# SPDX-License-Identifier: MIT
"""A resolved access: its bytes, threads and times, and its strength."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.windows import ResolvedAddresses
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Array

WEAK, VOLATILE, BLOCK, SYSTEM = 0, 1, 2, 3
"""The strength of an access; an access of larger strength conflicts with fewer others.

Weak accesses conflict with all others. Accesses of strength BLOCK (scope .cta or .cluster) and SYSTEM (.gpu, .sys)
conflict with weak ones and, beyond the scope of either, with each other. VOLATILE accesses conflict with each other
too, but not with the other strong ones.
"""


def are_in_conflict(one: int, other: int, *, elsewhere: bool) -> bool:
    """Return whether unordered accesses of two strengths conflict, ``elsewhere``: if they are of two blocks.

    Examples
    --------
    >>> [[are_in_conflict(x, BLOCK, elsewhere=far) for far in (False, True)] for x in (WEAK, VOLATILE, BLOCK)]
    [[True, True], [False, True], [False, True]]
    """
    if WEAK in (one, other) or one == other == VOLATILE:
        return True
    return elsewhere and BLOCK in (one, other)


_STRONG = ("relaxed", "acquire", "release", "acq_rel", "seq_cst", "mmio")

LATER: NDArray[np.int64] = np.zeros(0, np.int64)
"""Stands for positions that are computed from the addresses when they are needed."""


class Access(NamedTuple):
    """An access to memory: ``size`` bytes at each position, by the threads of ``mask`` (None: all).

    ``stamps`` are the numbers of the accesses, each with a time and a thread (None if races are not checked); ``times``
    the times of the warps. ``strength`` is one of WEAK, VOLATILE, BLOCK and SYSTEM.
    """

    instruction: PtxInstruction
    positions: NDArray[np.int64]
    addresses: Array
    size: int
    unit: int
    mask: NDArray[np.bool_] | None
    stamps: Array | None = None
    times: NDArray[np.int32] | None = None
    strength: int = WEAK


class ResolvedAccess(NamedTuple):
    """An access with known bytes: ``length`` elements of ``size`` bytes in one space.

    ``found`` is the range of the heap that contains them, -1 if they are in several ranges, or in none.
    """

    where: ResolvedAddresses
    access: Access
    space: str
    size: int
    length: int
    found: int = -1

    @property
    def unit(self) -> int:
        """Size in bytes of the elements in which the access is done."""
        return self.access.unit

    @property
    def numbers(self) -> Array:
        """Numbers that identify the bytes in few bits: positions in the heap, or addresses in another space."""
        return self.where.positions.view(np.uint64) if self.space == "global" else self.access.addresses

    @property
    def mask(self) -> NDArray[np.bool_] | None:
        """The threads that take part, None for all."""
        return self.access.mask


def strength_of(
    ordering: str, scope: str, *, mnemonic: str = "ld", polls: bool = False, flags: bool = True, guess: bool = False
) -> int:  # fmt: skip
    """Return the strength of an access, from its ordering and its scope.

    ``volatile`` orders nothing, and does not make two accesses to a word legal either; compute-sanitizer does the same
    for shared memory, and the suite ScoR for global memory. The exceptions are a load that ``polls``, and the stores
    for which it waits. If nothing in a program polls (``flags``), a volatile store is as weak as any. A weak load that
    is only a ``guess``, which an ``atom.cas`` compares with the word, counts as volatile: it does not race with atomic
    operations.

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
