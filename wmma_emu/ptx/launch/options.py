# SPDX-License-Identifier: MIT
"""How a launch is run: in which order, within which limits, what becomes of findings, and who is told of it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any, NamedTuple, Protocol, TypeAlias

from wmma_emu.errors import CallError, OptionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.instructions.launches import Dim3
from wmma_emu.ptx.fills import require_fill
from wmma_emu.ptx.findings import CHECKS
from wmma_emu.ptx.launch.actions import FINDINGS, Actions, rules_of
from wmma_emu.ptx.launch.report import Report
from wmma_emu.ptx.launch.silences import Silence, silences_of
from wmma_emu.ptx.machine.limits import Limits
from wmma_emu.ptx.memory.footprint import DEFAULT_LIMIT
from wmma_emu.ptx.reports.baseline import Baseline
from wmma_emu.ptx.reports.finding import Finding
from wmma_emu.spellings import as_spelled
from wmma_emu.suggestions import did_you_mean

__all__ = ["FINDINGS", "LaunchOptions", "Launched", "unknown_options"]

_Findings: TypeAlias = str | Mapping[str, str] | Sequence[str]

_MODULE_OPTIONS = ("arch", "contraction", "engine", "name")
"""What a module is made with, and no launch can change."""


class ConfiguredKernel(Protocol):
    """A kernel with its grid, its block, and the bytes of dynamic shared memory of a block: a `Launch`."""

    kernel: Any
    grid: Dim3
    block: Dim3
    shared_bytes: int


class Launched(NamedTuple):
    """A launch that has run, before its findings become an error or a warning.

    Attributes
    ----------
    launch : Launch
        The kernel, its grid and its block.
    report : Report
    failing, warned : tuple
        The findings that make it fail, and those that become a warning.
    """

    launch: ConfiguredKernel
    report: Report
    failing: tuple[Finding, ...]
    warned: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """How a launch is run.

    Parameters
    ----------
    findings : {"warn", "raise", "report"}, sequence of str, mapping, or function
        What becomes of what is wrong with the kernel: a warning, an error, or an entry of the report alone, where
        notes always are. Or rules: ``["warn", "error:race", "off:race of equal bytes"]``, each an action, "error",
        "warn" or "off", of a kind or a severity, or of all findings but notes; ``{"race": "error"}`` is the same as
        ``["error:race"]``. The last rule that is about a finding decides; where there is none, it is as with "raise".
        A function without arguments gives any of these, and is asked at each launch.
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
    baseline : path or Baseline, optional
        Findings that are known: they are in ``report.known``, and neither raise nor warn.
    echo : bool
        Whether what the kernel prints goes to standard output, too: ``sys.stdout``, with escapes for what a terminal
        would obey.
    watch : function, optional
        Told of each launch that has run, a `Launched`, before its findings become an error or a warning.

    Examples
    --------
    >>> sorted(LaunchOptions(checks=("races", "memory")).checks)
    ['memory', 'races']
    >>> LaunchOptions(findings={"race": "warn"}).findings
    ('warn:race',)
    """

    findings: _Findings | Callable[[], _Findings] = "warn"
    schedule: int | None = None
    schedules: int = 1
    max_steps: int = 10**8
    max_seconds: float | None = 300
    max_bytes: int = DEFAULT_LIMIT
    checks: Collection[str] = frozenset(CHECKS)
    silence: Collection[Silence] = ()
    fill: str | int = "zeros"
    baseline: "Baseline | str | PathLike[str] | None" = None
    keep_bytes: int = 1 << 28
    echo: bool = False
    watch: Callable[[Launched], object] | None = None

    def __post_init__(self) -> None:
        if not callable(self.findings):
            object.__setattr__(self, "findings", _findings_of(self.findings))
        if not isinstance(self.echo, bool):
            raise OptionError(f"echo={shorten(self.echo)} is neither True nor False")
        if self.watch is not None and not callable(self.watch):
            raise OptionError(f"watch={shorten(self.watch)} is no function; it is called with a Launched")
        object.__setattr__(self, "checks", _checks_of(self.checks))
        object.__setattr__(self, "silence", silences_of(self.silence))
        object.__setattr__(self, "baseline", _baseline_of(self.baseline))
        for name, least in (("schedules", 1), ("max_steps", 1), ("max_bytes", 1), ("schedule", 0), ("keep_bytes", 0)):
            value = getattr(self, name)
            number = integer_of(value)
            if name == "schedule" and value is None:
                continue
            if number is None or number < least:
                raise OptionError(f"{name} must be an integer of at least {least}, not {shorten(value)}")
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
        if unknown := unknown_options(changes):
            legal = f"it has {', '.join(known)}, and a module has {', '.join(_MODULE_OPTIONS)} too"
            hint = did_you_mean(unknown[0], [*known, *_MODULE_OPTIONS], legal)
            raise CallError(f"a launch has no option {unknown[0]}{hint}")
        if "silence" in changes:
            changes = {**changes, "silence": (*self.silence, *silences_of(changes["silence"]))}
        return replace(self, **changes) if changes else self

    @property
    def actions(self) -> Actions:
        """What becomes of findings, as it is now."""
        return Actions(_findings_of(self.findings()) if callable(self.findings) else self.findings)

    @property
    def known(self) -> Baseline | None:
        """The baseline, which has been read."""
        return self.baseline if isinstance(self.baseline, Baseline) else None

    @property
    def limits(self) -> Limits:
        """What the machine is told."""
        return Limits(self.max_steps, self.max_seconds, self.max_bytes)

    @property
    def seeds(self) -> list[int | None]:
        """The order of each run."""
        first = 0 if self.schedule is None else self.schedule
        return [self.schedule, *range(first + 1, first + self.schedules)]


def unknown_options(given: Iterable[str]) -> list[str]:
    """Give the names that are no options of a launch."""
    known = [x.name for x in fields(LaunchOptions)]
    return [x for x in given if x not in known]


def _findings_of(given: object) -> str | tuple[str, ...]:
    """Read what becomes of findings; of rules, the texts."""
    if isinstance(given, str) and given in FINDINGS:
        return given
    return tuple(map(str, rules_of(given)))


def _baseline_of(given: object) -> Baseline | None:
    if given is None or isinstance(given, Baseline):
        return given
    if isinstance(given, str | PathLike) and given:
        return Baseline.read(given)
    raise OptionError(f"baseline={shorten(given)} is neither the path of a file nor a wmma_emu.ptx.Baseline")


def _checks_of(given: object) -> frozenset[str]:
    names = [given] if isinstance(given, str) else given
    legal = "; ".join(f"{name!r}: {text}" for name, text in CHECKS.items())
    if not isinstance(names, list | tuple | set | frozenset):
        raise OptionError(
            f"checks={shorten(given)} is no tuple of names; () turns every check off, and without checks= all are on; "
            f"the names are {legal}"
        )
    names = [as_spelled(x, CHECKS) if isinstance(x, str) else x for x in names]
    for name in names:
        if not isinstance(name, str) or name not in CHECKS:
            raise OptionError(
                f"checks={shorten(name)} is no check{did_you_mean(name, CHECKS, f'the names are {legal}')}"
            )
    if isinstance(given, str):
        raise OptionError(f"checks={given!r} is no tuple of names; write checks=({given!r},)")
    return frozenset(names)
