# SPDX-License-Identifier: MIT
"""Silences: findings of one kind at one line that are acceptable, with the reason."""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from wmma_emu.errors import OptionError, UnusedSilenceWarning, printable, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.ptx.findings import KINDS, Place, Sighting
from wmma_emu.ptx.program.program import SourceLine
from wmma_emu.ptx.reports.finding import Finding
from wmma_emu.ptx.reports.frames import frames_of
from wmma_emu.spellings import as_spelled, in_either_spelling
from wmma_emu.suggestions import did_you_mean

_FIELDS = 3
"""The number of values of a silence: the kind, the line, the reason."""

_PLACE = re.compile(r"(?P<file>.+):(?P<line>[1-9]\d*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Silence:
    """Findings of one kind at one line that are acceptable.

    Parameters
    ----------
    kind : str
        The kind of finding: one of `KINDS` that does not end a launch.
    line : int or str
        A line of ``module.text``, or of the source: ``"file.cu:16"``.
    reason : str
        The reason why the kernel is correct; the report repeats it.
    last : int
        The last line of the statement, if it has several lines; ``line`` is the first one.
    comment : str
        The line of the comment that contains the silence: "kernel.cu:16"; "" if it is not in a comment.

    Raises
    ------
    OptionError
        If the kind, the line or the reason is not valid.

    Examples
    --------
    >>> print(Silence("race", "kernel.cu:16", "any of the values will do"))
    race at kernel.cu:16: any of the values will do
    """

    kind: str
    line: int | str
    reason: str
    last: int = field(default=0, kw_only=True, repr=False)
    comment: str = field(default="", kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.kind, str):
            object.__setattr__(self, "kind", as_spelled(self.kind, KINDS))
        _require_kind(self.kind)
        number = integer_of(self.line)
        if isinstance(self.line, str) and self.line.strip().isdecimal() and int(self.line) > 0:
            object.__setattr__(self, "line", int(self.line))
        elif isinstance(self.line, str) and _PLACE.match(self.line.strip()):
            object.__setattr__(self, "line", self.line.strip())
        elif isinstance(self.line, str) or number is None or number < 1:
            raise OptionError(
                f"line={shorten(self.line)} is neither a line of the PTX, counted from 1, such as 54, nor a line of a "
                "source, such as 'kernel.cu:16'"
            )
        else:
            object.__setattr__(self, "line", number)
        if not isinstance(self.reason, str) or not self.reason.strip():
            raise OptionError(f"reason={shorten(self.reason)}: a silence needs a reason: why is the kernel correct?")
        object.__setattr__(self, "reason", " ".join(self.reason.split()))

    @property
    def place(self) -> str:
        """The line: "line 54" of the PTX, or "kernel.cu:16"."""
        return f"line {self.line}" if isinstance(self.line, int) else printable(self.line)

    def is_at(self, line: int, source: SourceLine | None) -> bool:
        """Return whether an instruction is at its line, in the PTX or in the source."""
        if isinstance(self.line, int):
            return self.line <= line <= max(self.line, self.last)
        found = _PLACE.match(self.line)
        if found is None:
            return False
        first = int(found["line"])
        lines = range(first, max(first, self.last) + 1)
        return any(x.line in lines and _is_file(x.file, found["file"]) for x in frames_of(source))

    def covers(self, finding: Sighting) -> bool:
        """Return whether it silences a finding: at its line, or at the lines of all other sides of a race."""
        return bool(_covering(finding, [self]))

    def covers_here(self, finding: Sighting) -> bool:
        """Return whether it silences findings of this kind at the finding's own line."""
        return self.covers_at(finding, Place(finding.line, finding.source))

    def covers_at(self, finding: Sighting, place: Place) -> bool:
        """Return whether it silences findings of this kind at a line."""
        return finding.kind == self.kind and self.is_at(*place)

    def __str__(self) -> str:
        return f"{self.kind} at {self.place}: {printable(self.reason)}"

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain data, following the schema of reports."""
        return {
            "kind": self.kind,
            "line": self.line,
            "last": self.last,
            "reason": self.reason,
            "comment": self.comment,
        }


class Silenced(NamedTuple):
    """A silenced finding and its silence; the first silence, if several sides of a race have their own."""

    finding: Finding
    silence: Silence

    @in_either_spelling
    def to_text(self, width: int = 100, *, verbose: bool = False, color: bool = False) -> str:
        """Return it as text for a terminal, like a finding."""
        text = self.finding.to_text(width, verbose=verbose, color=color)
        return f"{text}\n  silenced: {printable(self.silence.reason)}"

    def __str__(self) -> str:
        return self.to_text()


class SilenceOutcome(NamedTuple):
    """The remaining findings of a launch, the silenced ones, and the used and unused silences."""

    findings: list[Sighting]
    silenced: tuple[tuple[Sighting, Silence], ...]
    used: tuple[Silence, ...]
    unused: tuple[Silence, ...]


class Silencing:
    """Silences that are in force for a while, for all launches: the result of `silence`."""

    def __init__(self, silences: Sequence[Silence]) -> None:
        self.silences = tuple(silences)
        self._used: set[Silence] = set()

    def use(self, used: Iterable[Silence]) -> None:
        """Record silences that were used."""
        self._used.update(used)

    @property
    def unused(self) -> tuple[Silence, ...]:
        """The silences that have not silenced anything so far."""
        return tuple(x for x in self.silences if x not in self._used)


_IN_FORCE: ContextVar[tuple[Silencing, ...]] = ContextVar("silences of wmma_emu.ptx", default=())


def in_force() -> tuple[Silencing, ...]:
    """Return the silences that are in force in this thread, for all launches."""
    return _IN_FORCE.get()


@contextmanager
def silence(*given: Silence | str | int) -> Iterator[Silencing]:
    """Silence findings of all launches of this thread in a ``with`` block.

    A silence does not affect kernels without its line. A silence that has silenced nothing when the block ends causes
    an `UnusedSilenceWarning`.

    Parameters
    ----------
    *given
        The fields of a `Silence`, ``kind, line, reason``; or any number of silences.

    Raises
    ------
    OptionError
        If the values do not form silences.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     with silence("race", "kernel.cu:16", "any of the values will do") as silencing:
    ...         pass                   # launches of kernels
    >>> print(said[0].message)
    this silenced nothing: race at kernel.cu:16: any of the values will do
    >>> [str(x) for x in silencing.unused]
    ['race at kernel.cu:16: any of the values will do']
    """
    made = [Silence(*given)] if _could_be_fields(given) else given  # type: ignore[arg-type]
    with enforced(silences_of(made)) as scope:
        yield scope
    for x in scope.unused:
        warnings.warn(f"this silenced nothing: {x}", UnusedSilenceWarning, stacklevel=3)


@contextmanager
def enforced(silences: Sequence[Silence]) -> Iterator[Silencing]:
    """Silence findings as `silence` does, but leave the report of unused silences to the caller."""
    scope = Silencing(silences)
    token = _IN_FORCE.set((*_IN_FORCE.get(), scope))
    try:
        yield scope
    finally:
        _IN_FORCE.reset(token)


def silences_of(given: object) -> tuple[Silence, ...]:
    """Check the silences of a launch or of a module."""
    if isinstance(given, Silence) or not isinstance(given, list | tuple | set | frozenset):
        raise OptionError(
            f"silence={shorten(given)} is not a list of silences; write "
            "silence=[wmma_emu.ptx.Silence(kind, line, reason)]"
        )
    for x in given:
        if not isinstance(x, Silence):
            parts = given if isinstance(x, str) else x  # silence("race", 16, "reason") for silence(Silence(...))
            said = ", ".join(map(repr, parts)) if _could_be_fields(parts) else "kind, line, reason"
            raise OptionError(
                f"silence contains {shorten(x)}; expected silences: write wmma_emu.ptx.Silence({printable(said)})"
            )
    return tuple(dict.fromkeys(given))


def _could_be_fields(given: object) -> bool:
    return (
        isinstance(given, list | tuple)
        and len(given) == _FIELDS
        and all(isinstance(x, str) or integer_of(x) is not None for x in given)
    )


def apply_silences(findings: Iterable[Sighting], silences: Sequence[Silence]) -> SilenceOutcome:
    """Remove silenced findings, each with the first silence that covers it.

    The order of the threads decides which side of a race comes second, so that a silence at the other side counts too.
    If a race has several other sides, each of them needs a silence; else the silence of one race would hide another.
    """
    covered = [(x, _covering(x, silences)) for x in findings]
    used = dict.fromkeys(silence for _, by in covered for silence in by)
    return SilenceOutcome(
        [x for x, by in covered if not by], tuple((x, by[0]) for x, by in covered if by), tuple(used),
        tuple(x for x in silences if x not in used),
    )  # fmt: skip


def silenced_findings(
    silenced: Iterable[tuple[Sighting, Silence]], make: Callable[[Iterable[Sighting]], Iterable[Finding]]
) -> tuple[Silenced, ...]:  # fmt: skip
    """Make findings of the silenced sightings, separately for each silence."""
    by: dict[Silence, list[Sighting]] = {}
    for sighting, silence in silenced:
        by.setdefault(silence, []).append(sighting)
    return tuple(Silenced(finding, silence) for silence, sightings in by.items() for finding in make(sightings))


def _covering(finding: Sighting, silences: Sequence[Silence]) -> tuple[Silence, ...]:
    """Return the silences that together cover a finding; none if they cover only a part of it."""
    here = next((x for x in silences if x.covers_here(finding)), None)
    if here is not None:
        return (here,)
    others = [next((x for x in silences if x.covers_at(finding, place)), None) for place in finding.others]
    found = tuple(dict.fromkeys(x for x in others if x is not None))
    return () if None in others else found


def _require_kind(kind: object) -> None:
    if isinstance(kind, str) and kind in KINDS:
        if KINDS[kind].check:
            return
        raise OptionError(f"a {kind} ends the launch and cannot be silenced")
    legal = [x for x, entry in KINDS.items() if entry.check]
    hint = did_you_mean(kind, legal, f"kinds are {', '.join(legal)}")
    raise OptionError(f"kind={shorten(kind)} is not a kind of finding{hint}")


def _is_file(path: str, name: str) -> bool:
    """Return whether a path ends with a file name, in full or by its last parts."""
    path, name = path.replace("\\", "/"), name.replace("\\", "/")
    return path == name or path.endswith("/" + name.removeprefix("./"))
