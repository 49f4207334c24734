# SPDX-License-Identifier: MIT
"""How a launch is run: in which order, within which limits, and what becomes of findings."""

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from wmma_emu.errors import CallError, OptionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.ptx.fills import require_fill
from wmma_emu.ptx.findings import CHECKS
from wmma_emu.ptx.launch.silences import Silence, silences_of
from wmma_emu.ptx.machine.limits import Limits
from wmma_emu.ptx.memory.footprint import DEFAULT_LIMIT

__all__ = ["FINDINGS", "LaunchOptions"]

FINDINGS = {
    "warn": "one KernelFindingsWarning for errors and warnings, and the arrays are updated",
    "raise": "KernelFindingsError for errors, and the arrays are left as they were; for warnings alone as 'warn'",
    "report": "nothing but the report",
}
"""What becomes of findings."""

_OF_A_MODULE = ("arch", "contraction", "engine", "name")
"""What a module is made with, and no launch can change."""


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """How a launch is run.

    Parameters
    ----------
    findings : {"warn", "raise", "report"}
        What becomes of what is wrong with the kernel: a warning, an error, or an entry of the report alone. Notes
        are in the report alone, whatever is said.
    schedule : int, optional
        A seed: warps run in an order drawn from it. In a fixed order by default.
    schedules : int
        Orders in which each launch is run, ``schedule`` and seeds that follow; arrays, variables of the module and what
        is printed (in whatever order) have to be the same, bit for bit.
    max_steps : int
        Instructions to step at most, each for many threads at once.
    max_seconds : float, optional
        Seconds that a run may take; None is no limit.
    max_bytes : int
        Memory of the arrays, and of the blocks that run at a time.
    fill : {"zeros", "ones"} or int
        What shared memory, local memory and registers hold that nobody has written: no bit is set, every bit is, or
        bytes drawn from a seed. A kernel that uses nothing unwritten gives the same bits with each.
    keep_bytes : int
        Bytes of the arrays, and of the variables of the module, that are kept at most to run a launch with findings
        again, which `explain()` of a finding does; 0 keeps nothing.
    checks : collection of str
        What the launch looks for: names of `CHECKS`, all of them by default; ``()`` is none, and saves their time. What
        ends a launch is said in any case, a trap or a deadlock, and an access out of bounds is left out.
    silence : collection of Silence
        Findings of one kind at one line that are right as they are, each with its reason. Those of a launch are added
        to those of its module.

    Examples
    --------
    >>> sorted(LaunchOptions(checks=("races", "memory")).checks)
    ['memory', 'races']
    """

    findings: str = "warn"
    schedule: int | None = None
    schedules: int = 1
    max_steps: int = 10**8
    max_seconds: float | None = 300
    max_bytes: int = DEFAULT_LIMIT
    checks: Collection[str] = frozenset(CHECKS)
    silence: Collection[Silence] = ()
    fill: str | int = "zeros"
    keep_bytes: int = 1 << 28

    def __post_init__(self) -> None:
        if not isinstance(self.findings, str) or self.findings not in FINDINGS:
            meanings = "; ".join(f"{name!r}: {text}" for name, text in FINDINGS.items())
            raise OptionError(f"findings={shorten(self.findings)} is none of {meanings}")
        object.__setattr__(self, "checks", _checks_of(self.checks))
        object.__setattr__(self, "silence", silences_of(self.silence))
        for name, least in (("schedules", 1), ("max_steps", 1), ("max_bytes", 1), ("schedule", 0), ("keep_bytes", 0)):
            value = getattr(self, name)
            number = integer_of(value)
            if name == "schedule" and value is None:
                continue
            if number is None or number < least:
                raise OptionError(f"{name}={shorten(value)} is no integer from {least} on")
        require_fill(self.fill)
        seconds = self.max_seconds
        if seconds is not None and (
            isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0
        ):
            raise OptionError(f"max_seconds={shorten(seconds)} is no positive number; None is no limit")

    def but(self, changes: Mapping[str, Any]) -> "LaunchOptions":
        """Change some of them, for one launch.

        Raises
        ------
        CallError
            For options that do not exist.
        """
        known = [x.name for x in fields(self)]
        if unknown := [x for x in changes if x not in known]:
            near = difflib.get_close_matches(unknown[0], [*known, *_OF_A_MODULE], n=1)
            hint = f": did you mean {near[0]}? It has" if near else "; it has"
            raise CallError(
                f"a launch has no option {unknown[0]}{hint} {', '.join(known)}, and a module has "
                f"{', '.join(_OF_A_MODULE)} too"
            )
        if "silence" in changes:
            changes = {**changes, "silence": (*self.silence, *silences_of(changes["silence"]))}
        return replace(self, **changes) if changes else self

    @property
    def limits(self) -> Limits:
        """What the machine is told."""
        return Limits(self.max_steps, self.max_seconds, self.max_bytes)

    @property
    def seeds(self) -> list[int | None]:
        """The order of each run."""
        first = 0 if self.schedule is None else self.schedule
        return [self.schedule, *range(first + 1, first + self.schedules)]


def _checks_of(given: object) -> frozenset[str]:
    """Read the names of checks.

    Raises
    ------
    OptionError
        Naming those that exist.
    """
    names = [given] if isinstance(given, str) else given
    legal = "; ".join(f"{name!r}: {text}" for name, text in CHECKS.items())
    if not isinstance(names, list | tuple | set | frozenset):
        raise OptionError(
            f"checks={shorten(given)} is no tuple of names; () turns every check off, and without checks= all are on; "
            f"the names are {legal}"
        )
    for name in names:
        if not isinstance(name, str) or name not in CHECKS:
            near = difflib.get_close_matches(name, CHECKS, n=1) if isinstance(name, str) else []
            hint = f": did you mean {near[0]!r}? The names are" if near else "; the names are"
            raise OptionError(f"checks={shorten(name)} is no check{hint} {legal}")
    if isinstance(given, str):
        raise OptionError(f"checks={given!r} is no tuple of names; write checks=({given!r},)")
    return frozenset(names)
