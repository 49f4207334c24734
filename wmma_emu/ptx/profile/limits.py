# SPDX-License-Identifier: MIT
"""Limits on the counters of a profile, such as ``bank_conflicts <= 0`` or ``active_lanes >= 24``."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from wmma_emu.errors import OptionError, printable, shorten
from wmma_emu.ptx.profile.counters import COUNTERS, RATIOS, WHOLES, Counters
from wmma_emu.ptx.profile.lines import ProfiledLine
from wmma_emu.suggestions import did_you_mean

_LIMIT = re.compile(r"\s*(\w+)\s*(<=|>=)\s*(\d+(?:\.\d+)?)\s*")
_SHOWN = 3

_CONFLICTS = ("bank_conflicts", "conflicts_per_request", "shared_wavefronts", "wavefronts_per_request")

_FIXES = {
    ("global_sectors", "sectors_per_request", "sector_use", "traffic"):
        "lanes that access adjacent addresses share sectors: 32 words of 4 bytes are 4 sectors",
    ("divergent_branches", "divergent_executions", "active_lanes"):
        "a branch divides a warp unless its condition is the same for all 32 threads",
    ("local_requests", "local_sectors", "local_bytes"):
        "local memory has arrays with indices that are not constants, and spilled registers",
    ("atomics", "atomic_collisions"):
        "add within a warp, or in shared memory, before an atomic operation on one address",
}  # fmt: skip
"""Advice, by the names of counters."""


class Limit(NamedTuple):
    """A limit on a counter or a ratio: at most, or at least, a number.

    Examples
    --------
    >>> limit = Limit.of("bank_conflicts <= 0")
    >>> limit.holds(Counters()), limit.holds(Counters(bank_conflicts=31)), str(limit)
    (True, False, 'bank_conflicts <= 0')
    >>> Limit.of("sector_use >= 0.5").holds(Counters())  # without accesses there is nothing to limit
    True
    """

    name: str
    is_upper: bool
    value: float

    @classmethod
    def of(cls, text: object) -> "Limit":
        """Read a limit.

        Raises
        ------
        OptionError
            If it has the wrong form, or there is no such counter.
        """
        found = _LIMIT.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise OptionError(
                f"{shorten(text)} is not a limit; expected a counter, <= or >=, and a number: 'bank_conflicts <= 0'"
            )
        name, sign, value = found.groups()
        if name not in (*COUNTERS, *RATIOS):
            names = [*COUNTERS, *RATIOS]
            hint = did_you_mean(name, names) or f"; there are {', '.join(names)}"
            raise OptionError(f"there is no counter {name}{hint}")
        return cls(name, sign == "<=", float(value))

    def __str__(self) -> str:
        return f"{self.name} {'<=' if self.is_upper else '>='} {self.value:g}"

    def holds(self, counters: Counters) -> bool:
        """Return whether counters are within the limit; a ratio is if there is nothing to divide by."""
        whole = WHOLES.get(self.name)
        if whole is not None and not getattr(counters, whole):
            return True
        value = getattr(counters, self.name)
        return bool(value <= self.value if self.is_upper else value >= self.value)

    @property
    def is_of_conflicts(self) -> bool:
        """Whether bank conflicts contribute to the counter."""
        return self.name in _CONFLICTS

    @property
    def fix(self) -> str:
        """Advice that may bring a kernel within the limit, "" if there is none."""
        return next((text for names, text in _FIXES.items() if self.name in names), "")

    def broken_by(self, lines: Sequence[ProfiledLine]) -> list[ProfiledLine]:
        """Return the lines because of which a kernel is beyond the limit, the worst first: those whose ratio is beyond
        it, or those that contribute to a sum; none if a sum is too small.
        """
        worst = sorted(lines, key=lambda x: getattr(x, self.name), reverse=self.is_upper)
        if self.name in WHOLES:
            return [x for x in worst if not self.holds(x)]
        return [x for x in worst if self.is_upper and getattr(x, self.name)]

    def text(self, where: str, counters: Counters, lines: Sequence[ProfiledLine] = (), fix: str = "") -> str:
        """Describe counters that are beyond the limit, the lines that contribute most, and a fix."""
        found = [f"{printable(where)}: {self.name} is {_number(getattr(counters, self.name))}; the limit is {self}"]
        for line in self.broken_by(lines)[:_SHOWN]:
            found.append(
                f"  {printable(line.where)}: {_number(getattr(line, self.name))}  {printable(line.text)}".rstrip()
            )
        return "\n".join([*found, *([f"  {fix}"] if fix else [])])


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.2f}"
