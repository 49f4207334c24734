# SPDX-License-Identifier: MIT
"""Options of a launch: the order of its warps, its limits, the actions for findings, and callbacks."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from os import PathLike
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from wmma_emu.errors import CallError, OptionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.instructions.launches import Dim3
from wmma_emu.ptx.asynchrony import ASYNCHRONIES, EAGER, Asynchrony
from wmma_emu.ptx.fills import require_fill
from wmma_emu.ptx.findings import CHECKS
from wmma_emu.ptx.launch.actions import FINDINGS, Actions, rules_of
from wmma_emu.ptx.launch.arguments import Argument
from wmma_emu.ptx.launch.reachable import Reachable, reachable_arrays
from wmma_emu.ptx.launch.report import Report
from wmma_emu.ptx.launch.silences import Silence, silences_of
from wmma_emu.ptx.machine.limits import Limits
from wmma_emu.ptx.memory.footprint import DEFAULT_LIMIT
from wmma_emu.ptx.reports.baseline import Baseline
from wmma_emu.ptx.reports.finding import Finding
from wmma_emu.ptx.textures.objects import Surface, Texture, TextureObject
from wmma_emu.spellings import as_spelled
from wmma_emu.suggestions import did_you_mean

__all__ = ["FINDINGS", "LaunchOptions", "Launched", "Launching", "unknown_options"]

_Findings: TypeAlias = str | Mapping[str, str] | Sequence[str]

ADDRESSES = ("emulator", "host")
"""The addresses that arrays may have."""

MACHINES = ("auto", "native", "numpy")
"""The machines that may run a launch."""

_MODULE_OPTIONS = ("arch", "contraction", "engine", "name")
"""The options of a module that no launch can change."""


_LEAST = {
    "schedules": 1, "max_steps": 1, "max_bytes": 1, "stack_bytes": 0, "heap_bytes": 0, "schedule": 0, "keep_bytes": 0,
}  # fmt: skip
"""The least value of each option that is an integer."""

_MOST_SCHEDULES = 1 << 16
"""The largest number of orders of a launch; each is a run with its own limits."""


class Course(NamedTuple):
    """The course of one run: the seed of the order of its warps, and the time of its asynchronous operations."""

    seed: int | None
    asynchrony: Asynchrony = EAGER


class ConfiguredKernel(Protocol):
    """A kernel with its grid, its block, and its bytes of dynamic shared memory per block: a `Launch`."""

    kernel: Any
    grid: Dim3
    block: Dim3
    shared_bytes: int

    def kept(self, values: Sequence[Argument], options: "LaunchOptions") -> Any:
        """Return a copy of the arguments and of the module's variables, a `Replay`, to run the launch again."""


class Launched(NamedTuple):
    """A finished launch, before its findings become an error or a warning.

    Attributes
    ----------
    launch : Launch
        The kernel, its grid and its block.
    report : Report
    failing, warned : tuple
        The findings that make the launch fail, and those that become a warning.
    """

    launch: ConfiguredKernel
    report: Report
    failing: tuple[Finding, ...]
    warned: tuple[Finding, ...]


class Launching(NamedTuple):
    """A launch before it runs.

    Attributes
    ----------
    launch : Launch
        The kernel, its grid and its block.
    arguments : tuple of Argument
        The values of the kernel's parameters, each with its ``parameter``, its name in messages, ``label``, and its
        ``value``: bytes, or an array, `raw` bytes, a `Struct` or a texture. The arrays are the memory that the launch
        reads and updates.
    cooperative : bool
        Whether all blocks run at the same time and may wait for each other.
    options : LaunchOptions
    """

    launch: ConfiguredKernel
    arguments: tuple[Argument, ...]
    cooperative: bool
    options: "LaunchOptions"


Observe: TypeAlias = Callable[[Launching], Callable[[Report], object] | None]
"""A function that is called before a launch, and returns one that is called after it, or None."""


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """The options of a launch.

    Parameters
    ----------
    findings : {"warn", "raise", "report"}, sequence of str, mapping, or function
        The action for findings: a warning, an error, or only an entry in the report (always so for notes). Or rules:
        ``["warn", "error:race", "off:race of equal bytes"]``, each an action, "error", "warn" or "off", for a kind, for
        a severity, or for all findings except notes; ``{"race": "error"}`` is the same as ``["error:race"]``. The last
        rule that applies to a finding decides; without one, "raise" applies. A function without arguments
        may return any of these; it is called at each launch.
    schedule : int, optional
        A seed: warps run in a random order drawn from it. The order is fixed by default.
    schedules : int
        The number of orders in which each launch runs, with ``schedule`` and the seeds that follow it; arrays,
        variables of the module and printed lines (in any order) must be the same, bit for bit.
    asynchrony : {"eager", "late", "both"}
        When asynchronous copies and ``wgmma`` move their data: at once, or as late as the program allows. With "both"
        each order runs in both ways, and the results must be the same, bit for bit.
    machine : {"auto", "native", "numpy"}
        The machine that runs the launch. The native machine is faster, but finds nothing: if anything may be wrong, the
        launch runs again on the NumPy machine. With "auto" the native machine runs first, if llvmlite is installed and
        the kernel and the options permit it; with "native" it is an error if they do not.
    max_steps : int
        The maximum number of instructions to step, each for many threads at once.
    max_seconds : float, optional
        The time limit of a run, in seconds; None means no limit.
    max_bytes : int
        The memory limit for the arrays, and for the blocks that run at a time.
    stack_bytes : int
        The stack of a thread, cudaLimitStackSize, for kernels with recursion or ``alloca``. As on a GPU, local
        variables, return addresses and the registers that a call has to keep count.
    heap_bytes : int
        The size of the device heap, cudaLimitMallocHeapSize, from which ``malloc`` and ``new`` of kernels allocate.
    fill : {"zeros", "ones"} or int
        The contents of uninitialised shared memory, local memory and registers: all bits 0, all bits 1, or bytes drawn
        from a seed. A kernel that uses no uninitialised values gives the same bits with each.
    cooperative : bool, optional
        Whether all blocks of the grid run at the same time and may wait for each other, as with
        ``cudaLaunchCooperativeKernel``. A kernel that synchronises its grid (``this_grid().sync()``) needs it: without
        a value, its launch is rejected, and with False, its grid group is not valid.
    keep_bytes : int
        The maximum number of bytes of arrays and module variables that are kept to run a launch with findings again,
        for `explain()` of a finding; 0 keeps nothing.
    checks : collection of str
        The names of the enabled `CHECKS`, all of them by default; ``()`` disables all, which saves time. Findings that
        end a launch, a trap or a deadlock, are always reported, and accesses out of bounds are never performed.
    silence : collection of Silence
        Findings of one kind at one line that are acceptable, each with its reason. Those of a launch are added
        to those of its module.
    baseline : path or Baseline, optional
        Known findings: they are in ``report.known``, and neither raise nor warn.
    addresses : {"emulator", "host"}
        The addresses of arrays: the emulator's own, with gaps between the arrays in which accesses out of bounds fall;
        or those on the host, ``array.ctypes.data``, which data may contain as pointers.
    reachable : sequence or mapping of arrays
        With the addresses of the host: arrays that the kernel reaches through pointers in data only. They are checked
        and updated as arguments are; a mapping gives their names in messages.
    echo : bool
        Whether to write the kernel's output to standard output, ``sys.stdout``, too, with control characters escaped.
    watch : function, optional
        A function that is called with each finished launch, a `Launched`, before its findings raise or warn.
    observe : function, optional
        A function that is called with each launch before it runs, a `Launching`. It may return a function, which is
        called with the report when the arrays are updated.
    objects : collection of Texture or Surface
        Textures and surfaces whose handles (``texture.handle``) the kernel finds in memory. Those among the arguments
        need not be named.
    profile : bool
        Whether to count executions, accesses and conflicts: the `Profile` is ``report.profile``.

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
    asynchrony: str = "eager"
    machine: str = "auto"
    max_steps: int = 10**8
    max_seconds: float | None = 300
    max_bytes: int = DEFAULT_LIMIT
    checks: Collection[str] = frozenset(CHECKS)
    silence: Collection[Silence] = ()
    stack_bytes: int = 1 << 10
    heap_bytes: int = 8 << 20
    fill: str | int = "zeros"
    baseline: "Baseline | str | PathLike[str] | None" = None
    cooperative: bool | None = None
    keep_bytes: int = 1 << 28
    addresses: str = "emulator"
    reachable: "Collection[Any] | Mapping[str, Any]" = ()
    echo: bool = False
    watch: Callable[[Launched], object] | None = None
    observe: "Observe | None" = None
    objects: Collection[TextureObject] = ()
    profile: bool = False

    def __post_init__(self) -> None:
        if not callable(self.findings):
            object.__setattr__(self, "findings", _findings_of(self.findings))
        if not isinstance(self.echo, bool):
            raise OptionError(f"echo={shorten(self.echo)} is neither True nor False")
        if not isinstance(self.profile, bool):
            raise OptionError(f"profile={shorten(self.profile)} is neither True nor False")
        if not isinstance(self.cooperative, bool | None):
            raise OptionError(f"cooperative={shorten(self.cooperative)} is neither True nor False")
        if self.watch is not None and not callable(self.watch):
            raise OptionError(f"watch={shorten(self.watch)} is not a function; it is called with a Launched")
        if self.observe is not None and not callable(self.observe):
            raise OptionError(f"observe={shorten(self.observe)} is not a function; it is called with a Launching")
        object.__setattr__(self, "checks", _checks_of(self.checks))
        object.__setattr__(self, "objects", _objects_of(self.objects))
        object.__setattr__(self, "silence", silences_of(self.silence))
        object.__setattr__(self, "baseline", _baseline_of(self.baseline))
        object.__setattr__(self, "reachable", reachable_arrays(self.reachable))
        if not isinstance(self.addresses, str) or self.addresses not in ADDRESSES:
            raise OptionError(f"addresses={shorten(self.addresses)} is not one of {' and '.join(map(repr, ADDRESSES))}")
        if self.reachable and not self.is_at_host_addresses:
            raise OptionError(
                "reachable names arrays to which pointers in data point, and such pointers are addresses of the host: "
                'pass addresses="host" too'
            )
        for name, least in _LEAST.items():
            value = getattr(self, name)
            number = integer_of(value)
            if name == "schedule" and value is None:
                continue
            if number is None or number < least:
                raise OptionError(f"{name} must be an integer of at least {least}, not {shorten(value)}")
            object.__setattr__(self, name, number)
        if self.schedules > _MOST_SCHEDULES:
            given = shorten(self.schedules)
            raise OptionError(f"schedules={given} is more than {_MOST_SCHEDULES}, the most of a launch")
        if not isinstance(self.asynchrony, str) or self.asynchrony not in ASYNCHRONIES:
            legal = f"legal are {', '.join(map(repr, ASYNCHRONIES))}"
            hint = did_you_mean(self.asynchrony, [*ASYNCHRONIES], legal)
            raise OptionError(f"asynchrony={shorten(self.asynchrony)} does not exist{hint}")
        if not isinstance(self.machine, str) or self.machine not in MACHINES:
            legal = f"legal are {', '.join(map(repr, MACHINES))}"
            hint = did_you_mean(self.machine, [*MACHINES], legal)
            raise OptionError(f"machine={shorten(self.machine)} does not exist{hint}")
        require_fill(self.fill)
        if not is_time_limit(self.max_seconds):
            raise OptionError(f"max_seconds={shorten(self.max_seconds)} is not a positive number; None means no limit")

    def but(self, changes: Mapping[str, Any]) -> "LaunchOptions":
        """Return the options with some of them changed, for one launch.

        Raises
        ------
        CallError
            If an option does not exist.
        """
        if not changes:
            return self
        if unknown := unknown_options(changes):
            known = [x.name for x in fields(self)]
            legal = f"it has {', '.join(known)}, and a module has {', '.join(_MODULE_OPTIONS)} too"
            hint = did_you_mean(unknown[0], [*known, *_MODULE_OPTIONS], legal)
            raise CallError(f"a launch has no option {unknown[0]}{hint}")
        if "silence" in changes:
            changes = {**changes, "silence": (*self.silence, *silences_of(changes["silence"]))}
        return replace(self, **changes)

    @property
    def is_at_host_addresses(self) -> bool:
        """Whether arrays have their addresses on the host."""
        return self.addresses == "host"

    @property
    def reached(self) -> tuple[Reachable, ...]:
        """The arrays that only pointers in data reach, with their names."""
        return tuple(x for x in self.reachable if isinstance(x, Reachable))

    @property
    def actions(self) -> Actions:
        """The current actions for findings."""
        return Actions(_findings_of(self.findings()) if callable(self.findings) else self.findings)

    @property
    def known(self) -> Baseline | None:
        """The baseline, after reading it."""
        return self.baseline if isinstance(self.baseline, Baseline) else None

    @property
    def limits(self) -> Limits:
        """The limits for the machine."""
        return Limits(self.max_steps, self.max_seconds, self.max_bytes, self.stack_bytes, self.heap_bytes)

    @property
    def courses(self) -> list[Course]:
        """The course of each run."""
        first = 0 if self.schedule is None else self.schedule
        seeds = [self.schedule, *range(first + 1, first + self.schedules)]
        return [Course(seed, x) for seed in seeds for x in ASYNCHRONIES[self.asynchrony]]


def is_time_limit(given: object) -> bool:
    """Return whether a value is legal as ``max_seconds``.

    Examples
    --------
    >>> is_time_limit(2), is_time_limit(0.5), is_time_limit(None), is_time_limit(-1), is_time_limit(True)
    (True, True, True, False, False)
    """
    is_number = isinstance(given, float | np.floating) or integer_of(given) is not None
    return given is None or (is_number and bool(given > 0))  # type: ignore[operator]


def unknown_options(given: Iterable[str]) -> list[str]:
    """Return the names that are not options of a launch."""
    return [x for x in given if x not in _names()]


@cache
def _names() -> frozenset[str]:
    """Return the names of the options."""
    return frozenset(x.name for x in fields(LaunchOptions))


def _findings_of(given: object) -> str | tuple[str, ...]:
    """Read the actions for findings; rules are returned as strings."""
    if isinstance(given, str) and given in FINDINGS:
        return given
    return tuple(map(str, rules_of(given)))


def _baseline_of(given: object) -> Baseline | None:
    if given is None or isinstance(given, Baseline):
        return given
    if isinstance(given, str | PathLike) and given:
        return Baseline.read(given)
    raise OptionError(f"baseline={shorten(given)} is neither the path of a file nor a wmma_emu.ptx.Baseline")


def _objects_of(given: object) -> tuple[TextureObject, ...]:
    found = tuple(given) if isinstance(given, list | tuple | set | frozenset) else (given,)
    for x in found:
        if not isinstance(x, Texture | Surface):
            made = "wmma_emu.ptx.texture(array) and wmma_emu.ptx.surface(array) make them"
            raise OptionError(f"objects={shorten(given)} are not textures and surfaces; {made}")
    return found


def _checks_of(given: object) -> frozenset[str]:
    names = [given] if isinstance(given, str) else given
    legal = f"the checks are {', '.join(CHECKS)}"
    if not isinstance(names, list | tuple | set | frozenset):
        raise OptionError(
            f"checks={shorten(given)} is not a tuple of names; () disables every check, and without checks= all are "
            f"enabled; {legal}"
        )
    names = [as_spelled(x, CHECKS) if isinstance(x, str) else x for x in names]
    for name in names:
        if not isinstance(name, str) or name not in CHECKS:
            raise OptionError(f"checks={shorten(name)} is not a check{did_you_mean(name, CHECKS, legal)}")
    if isinstance(given, str):
        raise OptionError(f"checks={given!r} is not a tuple of names; write checks=({given!r},)")
    return frozenset(names)
