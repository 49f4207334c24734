# SPDX-License-Identifier: MIT
"""What is silenced: findings of one kind at one line, with the reason why the kernel is right there."""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from typing import NamedTuple

from wmma_emu.errors import UnsupportedInstructionError, printable, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.ptx.findings import KINDS, Finding
from wmma_emu.ptx.program.program import SourceLine

__all__ = ["Judged", "Silence", "Silenced", "Silencing", "in_force", "judge", "silence", "silences_of"]

_PLACE = re.compile(r"(?P<file>.+):(?P<line>[1-9]\d*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Silence:
    """Findings of one kind at one line that are right as they are.

    Parameters
    ----------
    kind : str
        As findings are called: one of `KINDS` that does not end a launch.
    line : int or str
        A line of ``module.text``, or of the source: ``"file.cu:16"``.
    reason : str
        Why the kernel is right there; the report repeats it.

    Raises
    ------
    UnsupportedInstructionError
        For a kind, a line or a reason that is none.

    Examples
    --------
    >>> print(Silence("race", "kernel.cu:16", "any of the values will do"))
    race at kernel.cu:16: any of the values will do
    """

    kind: str
    line: int | str
    reason: str

    def __post_init__(self) -> None:
        _require_kind(self.kind)
        number = integer_of(self.line)
        if isinstance(self.line, str) and self.line.strip().isdecimal() and int(self.line) > 0:
            object.__setattr__(self, "line", int(self.line))
        elif isinstance(self.line, str) and _PLACE.match(self.line.strip()):
            object.__setattr__(self, "line", self.line.strip())
        elif isinstance(self.line, str) or number is None or number < 1:
            raise UnsupportedInstructionError(
                f"line={shorten(self.line)} is no line of the PTX, counted from 1, such as 54, and none of a source, "
                "such as 'kernel.cu:16'"
            )
        else:
            object.__setattr__(self, "line", number)
        if not isinstance(self.reason, str) or not self.reason.strip():
            raise UnsupportedInstructionError(
                f"reason={shorten(self.reason)} says nothing: a silence says why the kernel is right there"
            )
        object.__setattr__(self, "reason", " ".join(self.reason.split()))

    @property
    def place(self) -> str:
        """Where it is: "line 54" of the PTX, or "kernel.cu:16"."""
        return f"line {self.line}" if isinstance(self.line, int) else printable(self.line)

    def is_at(self, line: int, source: SourceLine | None) -> bool:
        """Whether an instruction stands at its line: of the PTX, or where the source says that it comes from."""
        if isinstance(self.line, int):
            return line == self.line
        found = _PLACE.match(self.line)
        while found is not None and source is not None:
            if source.line == int(found["line"]) and _is_file(source.file, found["file"]):
                return True
            source = source.inlined_at
        return False

    def covers(self, finding: Finding) -> bool:
        """Whether it silences a finding."""
        return finding.kind == self.kind and self.is_at(finding.line, finding.source)

    def __str__(self) -> str:
        return f"{self.kind} at {self.place}: {printable(self.reason)}"


class Silenced(NamedTuple):
    """A finding that is silenced, and by what."""

    finding: Finding
    silence: Silence

    def __str__(self) -> str:
        return f"{self.finding}\n    silenced: {printable(self.silence.reason)}"


class Judged(NamedTuple):
    """What is left of the findings of a launch, what is silenced, and which silences silence nothing."""

    findings: list[Finding]
    silenced: tuple[Silenced, ...]
    unused: tuple[Silence, ...]


class Silencing:
    """Silences that are in force for a while, whatever is launched: `silence`."""

    def __init__(self, silences: Sequence[Silence]) -> None:
        self.silences = tuple(silences)
        self._used: set[Silence] = set()

    def use(self, silenced: Iterable[Silenced]) -> None:
        """Note which of them were needed."""
        self._used.update(x.silence for x in silenced)

    @property
    def unused(self) -> tuple[Silence, ...]:
        """Those that have silenced nothing so far."""
        return tuple(x for x in self.silences if x not in self._used)


_IN_FORCE: ContextVar[tuple[Silencing, ...]] = ContextVar("silences of wmma_emu.ptx", default=())


def in_force() -> tuple[Silencing, ...]:
    """What is silenced whatever is launched, in this thread."""
    return _IN_FORCE.get()


@contextmanager
def silence(*silences: Silence) -> Iterator[Silencing]:
    """Silence findings of all launches of this thread in the block of a ``with``.

    A silence whose line a kernel does not have does not concern it.

    Raises
    ------
    UnsupportedInstructionError
        For what is no `Silence`.

    Examples
    --------
    >>> with silence(Silence("race", "kernel.cu:16", "any of the values will do")) as silencing:
    ...     pass                       # launches of kernels
    >>> [str(x) for x in silencing.unused]
    ['race at kernel.cu:16: any of the values will do']
    """
    scope = Silencing(silences_of(silences))
    token = _IN_FORCE.set((*_IN_FORCE.get(), scope))
    try:
        yield scope
    finally:
        _IN_FORCE.reset(token)


def silences_of(given: object) -> tuple[Silence, ...]:
    """Read the silences of a launch or of a module.

    Raises
    ------
    UnsupportedInstructionError
        For what is no list of them.
    """
    if isinstance(given, Silence) or not isinstance(given, list | tuple | set | frozenset):
        raise UnsupportedInstructionError(
            f"silence={shorten(given)} is no list of silences; write silence=[wmma_emu.ptx.Silence(kind, line, reason)]"
        )
    for x in given:
        if not isinstance(x, Silence):
            parts = given if isinstance(x, str) else x  # silence("race", 16, "reason") for silence(Silence(...))
            said = ", ".join(map(repr, parts)) if _could_be_fields(parts) else "kind, line, reason"
            raise UnsupportedInstructionError(
                f"silence has {shorten(x)}, which is no silence; write wmma_emu.ptx.Silence({printable(said)})"
            )
    return tuple(dict.fromkeys(given))


def _could_be_fields(given: object) -> bool:
    return (
        isinstance(given, list | tuple)
        and len(given) == len(fields(Silence))
        and all(isinstance(x, str | int) for x in given)
    )


def judge(findings: Iterable[Finding], silences: Sequence[Silence]) -> Judged:
    """Take out the findings that are silenced, each by the first silence that covers it."""
    left: list[Finding] = []
    silenced: list[Silenced] = []
    for finding in findings:
        by = next((x for x in silences if x.covers(finding)), None)
        if by is None:
            left.append(finding)
        else:
            silenced.append(Silenced(finding, by))
    used = {x.silence for x in silenced}
    return Judged(left, tuple(silenced), tuple(x for x in silences if x not in used))


def _require_kind(kind: object) -> None:
    if isinstance(kind, str) and kind in KINDS:
        if KINDS[kind].check:
            return
        raise UnsupportedInstructionError(f"a {kind} ends the launch, and is not silenced")
    legal = [x for x, row in KINDS.items() if row.check]
    near = difflib.get_close_matches(kind, legal, n=1, cutoff=0.5) if isinstance(kind, str) else []
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UnsupportedInstructionError(f"kind={shorten(kind)} is no kind of finding; there are {', '.join(legal)}{hint}")


def _is_file(path: str, name: str) -> bool:
    """Whether a path is the file of a name: the whole of it, or its last parts."""
    path, name = path.replace("\\", "/"), name.replace("\\", "/")
    return path == name or path.endswith("/" + name.removeprefix("./"))
