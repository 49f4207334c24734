# SPDX-License-Identifier: MIT
"""Comparison of two profiles: which counters of which lines became worse, and which better."""

from collections.abc import Mapping
from typing import NamedTuple

from wmma_emu.errors import printable
from wmma_emu.ptx.profile.counters import Counters
from wmma_emu.ptx.profile.page import changes_page, changes_table

COMPARED = (
    "executions", "divergent_branches", "global_requests", "global_sectors", "shared_requests", "shared_wavefronts",
    "bank_conflicts", "local_sectors", "atomics", "atomic_collisions", "matrix_instructions", "barriers", "bulk_bytes",
)  # fmt: skip
"""The counters of which more is worse."""

_SHOWN = 20


class Change(NamedTuple):
    """A counter of a line that changed: its values before and now."""

    where: str
    counter: str
    before: int
    now: int

    @property
    def is_worse(self) -> bool:
        """Whether there is more of it now."""
        return self.now > self.before

    def __str__(self) -> str:
        name = self.counter.replace("_", " ")
        return f"{printable(self.where)}: {name} {self.before} -> {self.now}"


class ProfileChanges(NamedTuple):
    """The differences between two profiles.

    Attributes
    ----------
    worse, better : tuple of Change
        Those of whole kernels first; then those of lines, the largest first.
    """

    worse: tuple[Change, ...] = ()
    better: tuple[Change, ...] = ()

    def __str__(self) -> str:
        parts = []
        for name, changes in (("worse", self.worse), ("better", self.better)):
            more = [f"  and {len(changes) - _SHOWN} more"] if len(changes) > _SHOWN else []
            parts += [f"{name}:", *(f"  {x}" for x in changes[:_SHOWN]), *more] if changes else []
        return "\n".join(parts) or "no counter changed"

    def to_html(self) -> str:
        """Return a page with a table of all changes, in one file."""
        return changes_page(self.worse, self.better)

    def _repr_html_(self) -> str:
        return changes_table(self.worse, self.better)


def changes_of(before: Mapping[str, Counters], now: Mapping[str, Counters]) -> list[Change]:
    """List the counters that differ, the largest change first; a line that only one of them has counts as 0.

    Examples
    --------
    >>> one, other = Counters(bank_conflicts=0), Counters(bank_conflicts=31)
    >>> print(*changes_of({"gemm.cu:41": one}, {"gemm.cu:41": other}))
    gemm.cu:41: bank conflicts 0 -> 31
    """
    nothing = Counters()
    found = [
        Change(where, name, old, new)
        for where in {**before, **now}
        for name in COMPARED
        if (old := getattr(before.get(where, nothing), name)) != (new := getattr(now.get(where, nothing), name))
    ]
    return sorted(found, key=lambda x: -abs(x.now - x.before))
