# SPDX-License-Identifier: MIT
"""The columns of tables of lines: their heads, their meaning, and how a counter is written."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.profile.counters import Counters, counts_of
from wmma_emu.ptx.profile.lines import ProfiledLine


class Column(NamedTuple):
    """A column of a table of lines: ``value`` is its content, ``weight`` how bad that is, for a colour (0 to 1).

    Tables leave out a column whose content is ``usual`` for every line.
    """

    head: str
    meaning: str
    value: Callable[[Counters], float]
    digits: int = 0
    weight: Callable[[Counters], float] = lambda line: 0.0
    usual: float = 0

    def text(self, line: Counters) -> str:
        """Return the value of a line as text, "" for nothing."""
        value = self.value(line)
        return "" if not value else f"{value:.{self.digits}f}" if self.digits else f"{value:,}".replace(",", " ")


def _share(part: float, whole: float) -> float:
    return min(part / whole, 1.0) if whole else 0.0


COLUMNS = (
    Column("executions", "executions by warps", lambda x: x.executions),
    Column("lanes", "mean number of active threads of an execution", lambda x: x.active_lanes, 1,
           lambda x: _share(x.divergent_executions, x.executions), LANES),
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
    Column("products", "multiply-adds of matrix instructions", lambda x: x.multiply_adds),
)  # fmt: skip
"""All columns, in order."""


def used_columns(lines: Sequence[Counters]) -> tuple[Column, ...]:
    """Return the columns that are neither empty nor usual in all lines.

    Examples
    --------
    >>> line = Counters(executions=2, active_threads=64, shared_requests=1)
    >>> [x.head for x in used_columns([line])], [x.head for x in used_columns([line, Counters(executions=1)])]
    (['executions', 'shared'], ['executions', 'shared'])
    """
    return tuple(column for column in COLUMNS if any(column.value(x) not in (0, column.usual) for x in lines))


def shown_lines(lines: Iterable[ProfiledLine]) -> list[ProfiledLine]:
    """Return the executed lines; lines of the PTX without a source line that only calculate are one row.

    A table of the PTX alone keeps all of its lines.

    Examples
    --------
    >>> rows = [ProfiledLine(where=x, executions=4) for x in ("k.cu:4", "line 17", "line 18")]
    >>> [(x.where, x.executions) for x in shown_lines(rows)], [x.where for x in shown_lines(rows[1:])]
    ([('k.cu:4', 4), ('2 lines of PTX', 8)], ['line 17', 'line 18'])
    """
    executed = [x for x in lines if x.executions]
    calculating = [x for x in executed if _is_of_ptx(x) and not any(c.value(x) for c in COLUMNS[2:])]
    if len(calculating) < 2 or all(map(_is_of_ptx, executed)):
        return executed
    text = f"{len(calculating)} lines of PTX"
    rest = ProfiledLine(**counts_of(Counters.total(calculating)), where=text, text="that belong to no source line")
    omitted = {id(x) for x in calculating}
    return [*(x for x in executed if id(x) not in omitted), rest]


def _is_of_ptx(line: ProfiledLine) -> bool:
    return line.where.startswith("line ")
