# SPDX-License-Identifier: MIT
"""Sets of chips, named by the first chip for which a fact holds.

A set of chips is written as a PTX target, in the meaning of ``.target``: ``"sm_80"`` is that chip and all later ones,
``"sm_100f"`` that chip and those that inherit from it. A set has no last chip.
"""

from collections.abc import Iterable
from functools import cache
from typing import Protocol, TypeVar

from wmma_emu.chips import ARCHS


def lineage(name: str) -> tuple[str, ...]:
    """Return a chip, the chip that it inherits from, and so on.

    Examples
    --------
    >>> lineage("sm_121"), lineage("sm_90")
    (('sm_121', 'sm_120'), ('sm_90',))
    """
    above = ARCHS[name].inherits
    return (name, *lineage(above)) if above else (name,)


def describe_inheritance(chip: str, ancestor: str) -> str:
    """Describe the relation of a chip to the chip that it inherits from.

    Examples
    --------
    >>> describe_inheritance("sm_121", "sm_120")
    'whose family of targets it is of'
    """
    of_family = ARCHS[chip].number // 10 == ARCHS[ancestor].number // 10
    return "whose family of targets it is of" if of_family else "from which it inherits"


@cache
def chips_since(target: str, lacks: str = "") -> tuple[str, ...]:
    """Return the chips of a PTX target in the order of compute capability, without chips derived from ``lacks``.

    ``"sm_80"`` is the chip and every later one; a chip that inherits counts as the chip that it inherits from.
    ``"sm_100f"`` is the chip and those that inherit from it.

    Examples
    --------
    >>> chips_since("sm_100"), chips_since("sm_100f")
    (('sm_100', 'sm_103', 'sm_120', 'sm_121'), ('sm_100', 'sm_103'))
    >>> chips_since("sm_100f", lacks="sm_103")
    ('sm_100',)
    """
    first, of_family = target.removesuffix("f"), target.endswith("f")
    return tuple(
        name
        for name in ARCHS
        if lacks not in (chain := lineage(name))
        and (first in chain or (not of_family and ARCHS[chain[-1]].number > ARCHS[first].number))
    )


class _Since(Protocol):
    @property
    def since(self) -> str: ...


Entry = TypeVar("Entry", bound=_Since)


def newest(entries: Iterable[Entry], chip: str) -> Entry | None:
    """Return the entry of the latest chip that is this chip, or precedes it.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class First(NamedTuple):
    ...     since: str
    >>> newest([First("sm_75"), First("sm_120"), First("sm_80")], "sm_90")
    First(since='sm_80')
    """
    having = (entry for entry in entries if chip in chips_since(entry.since))
    return max(having, key=lambda entry: ARCHS[entry.since.removesuffix("f")].number, default=None)
