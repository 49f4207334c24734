# SPDX-License-Identifier: MIT
"""Which chips are meant where a table says from which one on it holds.

A set of chips is written as a PTX target, as ``.target`` says which chips run a text: ``"sm_80"`` is that chip and all
later ones, ``"sm_100f"`` that chip and those that inherit from it. No set names its last chip.
"""

from collections.abc import Iterable
from functools import cache
from typing import Protocol, TypeVar

from wmma_emu.chips import ARCHS


def lineage(name: str) -> tuple[str, ...]:
    """Return a chip, the one that it inherits from, and so on.

    Examples
    --------
    >>> lineage("sm_121"), lineage("sm_90")
    (('sm_121', 'sm_120'), ('sm_90',))
    """
    above = ARCHS[name].inherits
    return (name, *lineage(above)) if above else (name,)


def describe_inheritance(chip: str, ancestor: str) -> str:
    """Say what a chip from which another inherits is to it.

    Examples
    --------
    >>> kinship("sm_121", "sm_120")
    'whose family of targets it is of'
    """
    of_family = ARCHS[chip].number // 10 == ARCHS[ancestor].number // 10
    return "whose family of targets it is of" if of_family else "from which it inherits"


@cache
def chips_since(target: str, lacks: str = "") -> tuple[str, ...]:
    """Name the chips of a PTX target, in the order of compute capability, but for one that lacks what they have.

    ``"sm_80"`` is the chip and every later one; one that inherits counts as the chip that it inherits from.
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
    """Choose among rows that follow one another: the one of the latest chip that this one is, or comes after.

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
