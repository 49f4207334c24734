# SPDX-License-Identifier: MIT
"""The columns of tables of lines: their heads, their meaning, and how a counter is written."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from wmma_emu.ptx.profile.counters import Counters


class Column(NamedTuple):
    """A column of a table of lines: ``value`` is its content, ``weight`` how bad that is, for a colour (0 to 1)."""

    head: str
    meaning: str
    value: Callable[[Counters], float]
    digits: int = 0
    weight: Callable[[Counters], float] = lambda line: 0.0

    def text(self, line: Counters) -> str:
        """Return the value of a line as text, "" for nothing."""
        value = self.value(line)
        return "" if not value else f"{value:.{self.digits}f}" if self.digits else f"{value:,}".replace(",", " ")


def _share(part: float, whole: float) -> float:
    return min(part / whole, 1.0) if whole else 0.0


COLUMNS = (
    Column("executions", "executions by warps", lambda x: x.executions),
    Column("lanes", "mean number of active threads of an execution", lambda x: x.active_lanes, 1,
           lambda x: _share(x.divergent_executions, x.executions)),
    Column("diverged", "branches that send threads of a warp both ways", lambda x: x.divergent_branches, 0,
           lambda x: _share(x.divergent_branches, x.branches)),
    Column("global", "accesses of warps to global memory", lambda x: x.global_requests),
    Column("sectors/request", "sectors of 32 bytes of such an access", lambda x: x.sectors_per_request, 1,
           lambda x: 0.0 if x.sector_use >= 1 else 1 - x.sector_use),
    Column("shared", "accesses of warps to shared memory", lambda x: x.shared_requests),
    Column("conflicts/request", "wavefronts that bank conflicts add to such an access",
           lambda x: x.conflicts_per_request, 1, lambda x: _share(x.bank_conflicts, x.shared_wavefronts)),
    Column("local", "accesses of warps to local memory", lambda x: x.local_requests, 0, lambda x: 1.0),
    Column("atomics", "atomic operations of warps", lambda x: x.atomics),
    Column("collisions", "threads whose address another thread of the warp has too", lambda x: x.atomic_collisions, 0,
           lambda x: _share(x.atomic_collisions, x.threads)),
    Column("waits", "instructions for which warps wait at barriers", lambda x: x.barrier_waits),
    Column("products", "multiply-adds of matrix instructions", lambda x: x.multiply_adds),
)  # fmt: skip
"""All columns, in order."""


def used_columns(lines: Sequence[Counters]) -> tuple[Column, ...]:
    """Return the columns that are not empty in all lines.

    Examples
    --------
    >>> [x.head for x in used_columns([Counters(executions=2, shared_requests=1)])]
    ['executions', 'shared']
    """
    return tuple(column for column in COLUMNS if any(column.value(x) for x in lines))
