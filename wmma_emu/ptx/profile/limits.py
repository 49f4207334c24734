# SPDX-License-Identifier: MIT
"""Limits on the counters of a profile, such as ``bank_conflicts <= 0`` or ``active_lanes >= 24``."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from wmma_emu.errors import OptionError, printable, shorten
from wmma_emu.ptx.profile.counters import COUNTERS, RATIOS, Counters
from wmma_emu.ptx.profile.lines import ProfiledLine
from wmma_emu.suggestions import did_you_mean

_LIMIT = re.compile(r"\s*(\w+)\s*(<=|>=)\s*(\d+(?:\.\d+)?)\s*")
_SHOWN = 3


class Limit(NamedTuple):
    """A limit on a counter or a ratio: at most, or at least, a number.

    Examples
    --------
    >>> limit = Limit.of("bank_conflicts <= 0")
    >>> limit.holds(Counters()), limit.holds(Counters(bank_conflicts=31)), str(limit)
    (True, False, 'bank_conflicts <= 0')
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
            raise OptionError(f"{shorten(text)} is not a limit; expected, for example, 'bank_conflicts <= 0'")
        name, sign, value = found.groups()
        if name not in (*COUNTERS, *RATIOS):
            names = [*COUNTERS, *RATIOS]
            hint = did_you_mean(name, names, f"there are {', '.join(names)}")
            raise OptionError(f"there is no counter {name}{hint}")
        return cls(name, sign == "<=", float(value))

    def __str__(self) -> str:
        return f"{self.name} {'<=' if self.is_upper else '>='} {self.value:g}"

    def holds(self, counters: Counters) -> bool:
        """Return whether counters are within the limit."""
        value = getattr(counters, self.name)
        return bool(value <= self.value if self.is_upper else value >= self.value)

    def text(self, where: str, counters: Counters, lines: Sequence[ProfiledLine] = ()) -> str:
        """Describe counters that are beyond the limit, and the lines that contribute most."""
        found = [f"{printable(where)}: {self.name} is {_number(getattr(counters, self.name))}; the limit is {self}"]
        worst = sorted(lines, key=lambda x: getattr(x, self.name), reverse=self.is_upper)
        for line in [x for x in worst if x.executions and not self.holds(x)][:_SHOWN]:
            found.append(f"  {printable(line.where)}: {_number(getattr(line, self.name))}  {printable(line.text)}")
        return "\n".join(found)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.2f}"
