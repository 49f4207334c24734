# SPDX-License-Identifier: MIT
"""Findings: one for each cause of a kernel's faults."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wmma_emu.errors import WmmaEmuError
from wmma_emu.first_use import named_later
from wmma_emu.ptx.findings import KINDS, Place, Sighting, address_of, page_of
from wmma_emu.ptx.program.program import SourceLine
from wmma_emu.ptx.reports.fixes import Fix
from wmma_emu.ptx.reports.frames import QuotedLine, line_text, own_frames
from wmma_emu.ptx.reports.plain import side_as_dict, sighting_as_dict
from wmma_emu.ptx.reports.text import FindingParts, text_of
from wmma_emu.renamed import warn_renamed
from wmma_emu.spellings import in_either_spelling

if TYPE_CHECKING:
    from wmma_emu.ptx.history import History
else:
    History = named_later("wmma_emu.ptx.history", "History")

Explain = Callable[[Sighting], History]
"""A function that makes the history of a sighting."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a kernel, independent of how loops and templates multiplied it.

    Attributes
    ----------
    id : str
        An identifier that stays the same for the same cause in the same source when lines move: "race-1f0c9a2b7d".
    kernel, arch : str
    title : str
        The kind and the lines: "race on Bs at gemm.cu:44/51".
    kind : str
        One of `KINDS`.
    message : str
        The first occurrence, in terms of the source.
    sides : tuple of QuotedLine
        The lines concerned: one line, or both lines of a race, of a value and its use, of a copy and an access.
    variables : tuple of str
        The variables and arrays, by their names in the source.
    element : str
        The element that was accessed first: "Bs[0][0][64]"; "" if it has no name.
    aliases : tuple of str
        Identifiers that it may have if threads run in another order: those of other pairs of lines with the same cause.
    sightings : tuple of Sighting
        Each line of PTX at which it occurred, the first one first.
    line, text, source, block, thread, address
        The first sighting's line of the PTX, instruction, source line, block and thread (x, y, z), and address.
    count : int
        The number of threads that caused it, at all lines (or warps, where a warp acts).
    others : tuple of Place
        The other sides of a race.
    table : tuple of str
        For a deadlock: the mbarriers of the blocks that do not make progress, which the message lists too.
    """

    id: str
    kernel: str
    arch: str
    title: str
    kind: str
    message: str
    sides: tuple[QuotedLine, ...]
    variables: tuple[str, ...]
    element: str
    _fix: Fix = field(repr=False, compare=False)
    sightings: tuple[Sighting, ...]
    details: tuple[str, ...] = field(repr=False, default=())
    aliases: tuple[str, ...] = field(repr=False, default=())
    _explain: Explain | None = field(repr=False, compare=False, default=None)
    _in_ptx: bool = field(repr=False, compare=False, default=True)
    table: tuple[str, ...] = field(repr=False, default=())

    @property
    def severity(self) -> str:
        """The severity: one of `SEVERITIES`."""
        return KINDS[self.kind].severity

    @property
    def fix(self) -> str:
        """A possible fix; "" if no fix is known.

        For a missing barrier, positions are tried when this is read for the first time, if the launch was short.
        """
        return self._fix()

    @property
    def mend(self) -> str:
        """The old name of ``fix``."""
        warn_renamed("Finding.mend", "Finding.fix")
        return self.fix

    @property
    def page(self) -> str:
        """The page of the kind: an address, or the command that prints it."""
        return page_of(self.kind)

    @property
    def first(self) -> Sighting:
        """The first sighting."""
        return self.sightings[0]

    @property
    def variable(self) -> str:
        """The variable that was accessed first, by its name in the source; "" if it has no name."""
        return self.variables[0] if self.variables else ""

    @property
    def line(self) -> int:
        """The line of the PTX at which it first occurred."""
        return self.first.line

    @property
    def text(self) -> str:
        """The instruction in that line."""
        return self.first.text

    @property
    def source(self) -> SourceLine | None:
        """The source line of the instruction."""
        return self.first.source

    @property
    def block(self) -> tuple[int, int, int] | None:
        """The first block in which it occurred."""
        return self.first.block

    @property
    def thread(self) -> tuple[int, int, int] | None:
        """The first thread in which it occurred."""
        return self.first.thread

    @property
    def address(self) -> int | None:
        """The address that was accessed first."""
        return self.first.address

    @property
    def count(self) -> int:
        """The number of threads that caused it, at all of its lines."""
        return sum(x.count for x in self.sightings)

    @property
    def others(self) -> tuple[Place, ...]:
        """The other sides of a race."""
        return tuple(dict.fromkeys(x for sighting in self.sightings for x in sighting.others))

    @in_either_spelling
    def to_text(self, width: int = 100, *, verbose: bool = False, color: bool = False) -> str:
        """Return the finding as text for a terminal: at most 12 lines and a table of mbarriers, or
        everything that is known.

        Parameters
        ----------
        width : int
            The number of columns.
        verbose : bool
            Whether to add addresses, each line of PTX, and the first thread at each line.
        color : bool
            Whether to add escape sequences for ANSI terminals.
        """
        return text_of(self._described(), width, verbose=verbose, color=color)

    def __str__(self) -> str:
        return self.to_text()

    def _described(self) -> FindingParts:
        first = self.first
        who = [] if first.block is None else [f"block {tuple(first.block)}"]
        who += [] if first.thread is None else [f"thread {tuple(first.thread)}"]
        lines = len(self.sightings)
        seen = "once" if self.count == 1 else f"{self.count} times"
        if self._in_ptx:
            seen += f" at {lines} lines of the PTX" if lines > 1 else f", line {self.line} of the PTX"
        seen += f", first in {', '.join(who)}" if who else ""
        inlined = ", ".join(x for x in dict.fromkeys(map(_inlined_text, self.sides)) if x)
        return FindingParts(
            self.severity, self.title, self.id, self.sides, self.message.partition("; mbarriers: ")[0], self.fix, seen,
            self.details, tuple(_sighting_text(x) for x in self.sightings if self._in_ptx), _page_text(self.kind),
            inlined, self.table,
        )  # fmt: skip

    def explain(self) -> History:
        """Run the launch again, and return the history of the bytes, or of the barriers, that the finding is about.

        It lists which threads wrote and read the bytes, with which values, and the synchronisation in between, as text
        or as a page. The launch runs on copies of the arrays as they were at its start; your arrays do not change.

        Raises
        ------
        MemoryLimitError
            If the arrays were too large to keep: launch with a larger ``keep_bytes``.
        WmmaEmuError
            If the report was copied, or comes from another process.
        """
        if self._explain is None:
            raise WmmaEmuError(f"the data of the launch of {self.kernel} that would explain {self.title} was not kept")
        return self._explain(self.first)

    def to_dict(self, paths: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return all fields as plain data, following the schema of reports.

        Parameters
        ----------
        paths : mapping, optional
            The paths of files on this machine that have other names in the PTX.
        """
        return {
            "id": self.id,
            "aliases": list(self.aliases),
            "kind": self.kind,
            "severity": self.severity,
            "title": self.title,
            "kernel": self.kernel,
            "arch": self.arch,
            "message": self.message,
            "mend": self.fix,
            "page": self.page,
            "variables": list(self.variables),
            "element": self.element,
            "sides": [side_as_dict(x, paths or {}) for x in self.sides],
            "count": self.count,
            "sightings": [sighting_as_dict(x) for x in self.sightings],
        }


def _page_text(kind: str) -> str:
    address = address_of(kind)
    return f"see {address}" if address else f"for more, run: {page_of(kind)}"


def _inlined_text(side: QuotedLine) -> str:
    """Return the line at which an inlined function was called; "" for a line of the kernel itself."""
    own = own_frames(side.place.source)
    last = own[-1] if own else None
    if last is None or (last.file, last.line) == (side.file, side.number):
        return ""
    return f"{line_text(SourceLine(side.file, side.number), side.file)} at {line_text(last, side.file)}"


def _sighting_text(x: Sighting) -> str:
    who = "" if x.block is None else f", block {tuple(x.block)}"
    who += "" if x.thread is None else f", thread {tuple(x.thread)}"
    times = "once" if x.count == 1 else f"{x.count} times"
    return f"{x.place}{who}, {times}: {x.text}\n{x.message}"
