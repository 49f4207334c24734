# SPDX-License-Identifier: MIT
"""The sectors and wavefronts of ``cp.async.cg``, which moves sectors from the L2 cache to shared memory.

A request moves the halves, of 16 bytes, of a sector of global memory to a sector of shared memory, both exchanged or
neither. Requests between the same two lines of 128 bytes share a wavefront if they move the same halves, and exchange
them alike. They also have to go from even to even sectors, or all from even to odd ones, and no sector may be read or
written twice. These rules
describe 134 of 136 measured patterns; where many lanes copy the same bytes, an H200 needs up to two wavefronts more.

A copy that may fill zeros has the wavefronts of its writes, and if some lane does, the conflicts of a copy through the
L1 cache. Nsight Compute counts so if ptxas has chosen the predicate register P0, and less, or nothing, with others.
"""

from collections import Counter, defaultdict

from wmma_emu.ptx.profile.wavefronts import Lanes, Rows

_HALF, _SECTOR, _SECTORS_OF_LINE = 16, 32, 4


def bypassing_copy(source: Rows, target: Rows, active: Lanes) -> list[tuple[int, int]]:
    """Count the sectors and the wavefronts of copies of 16 bytes: addresses of (accesses, 32).

    The first of several lanes with the same target copies.

    Examples
    --------
    >>> import numpy as np
    >>> lane, everyone = np.arange(32)[None] * 16, np.ones((1, 32), bool)
    >>> [bypassing_copy(*x, everyone) for x in ((lane, lane), (lane * 0, lane), (lane, lane * 2))]
    [[(16, 4)], [(32, 32)], [(32, 32)]]
    """
    return [_one(*x) for x in zip(source.tolist(), target.tolist(), active.tolist(), strict=True)]


def _one(source: list[int], target: list[int], active: list[bool]) -> tuple[int, int]:
    copies: dict[int, int] = {}
    for one, other, takes_part in zip(source, target, active, strict=True):
        if takes_part:
            copies.setdefault(other, one)
    requests: defaultdict[tuple[int, int, int], int] = defaultdict(int)
    for other, one in copies.items():
        exchanges = (one ^ other) // _HALF & 1
        requests[one // _SECTOR, other // _SECTOR, exchanges] |= 1 << (other // _HALF & 1)
    groups: defaultdict[tuple[int, ...], list[tuple[int, int]]] = defaultdict(list)
    for (one, other, exchanges), halves in requests.items():
        lines = one // _SECTORS_OF_LINE, other // _SECTORS_OF_LINE
        groups[*lines, exchanges, (one ^ other) & 1, halves].append((one, other))
    return len(requests), sum(map(_wavefronts, groups.values()))


def _wavefronts(requests: list[tuple[int, int]]) -> int:
    """Return how often the busiest sector is read or written."""
    return max(max(Counter(side).values()) for side in zip(*requests, strict=True))
