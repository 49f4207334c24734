# SPDX-License-Identifier: MIT
"""What is wrong with a kernel: one finding for each cause."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wmma_emu.errors import WmmaEmuError
from wmma_emu.first_use import named_later
from wmma_emu.ptx.findings import KINDS, Place, Sighting, address_of, page_of
from wmma_emu.ptx.program.program import SourceLine
from wmma_emu.ptx.reports.frames import QuotedLine, line_text, own_frames
from wmma_emu.ptx.reports.mends import Mend
from wmma_emu.ptx.reports.plain import side_as_dict, sighting_as_dict
from wmma_emu.ptx.reports.text import Described, text_of
from wmma_emu.spellings import in_either_spelling

if TYPE_CHECKING:
    from wmma_emu.ptx.history import History
else:
    History = named_later("wmma_emu.ptx.history", "History")

Explain = Callable[[Sighting], History]
"""Makes a history of a sighting."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a kernel, whatever loops and templates have made of it.

    Attributes
    ----------
    id : str
        The same for the same cause in the same source, wherever its lines have moved to: "race-1f0c9a2b7d".
    kernel, arch : str
    title : str
        Kind and place: "race on Bs at gemm.cu:44/51".
    kind : str
        One of `KINDS`.
    message : str
        What was seen first, in terms of the source.
    sides : tuple of QuotedLine
        The lines that it is about: one, or both of a race, of a value and its use, of a copy and an access.
    variables : tuple of str
        The variables and arrays, by their names in the source.
    element : str
        What was touched first: "Bs[0][0][64]"; "" where that has no name.
    aliases : tuple of str
        Identifiers that it may have where other threads come first: of further pairs of lines that have the same cause.
    sightings : tuple of Sighting
        Each line of PTX at which it was seen, the first one first.
    line, text, source, block, thread, address
        Of the first sighting: its line of the PTX, the instruction, where the source has it, the first thread that met
        it, (x, y, z), and the address.
    count : int
        How many threads met it, at all lines (or warps, where a warp is the actor).
    others : tuple of Place
        The other sides of a race.
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
    _mend: Mend = field(repr=False, compare=False)
    sightings: tuple[Sighting, ...]
    details: tuple[str, ...] = field(repr=False, default=())
    aliases: tuple[str, ...] = field(repr=False, default=())
    _explain: Explain | None = field(repr=False, compare=False, default=None)
    _in_ptx: bool = field(repr=False, compare=False, default=True)

    @property
    def severity(self) -> str:
        """How bad it is: one of `SEVERITIES`."""
        return KINDS[self.kind].severity

    @property
    def mend(self) -> str:
        """What would mend it; "" where that does not follow.

        Of a missing barrier, places for it are tried when this is asked for the first time, if the launch was short.
        """
        return self._mend()

    @property
    def page(self) -> str:
        """What leads to the page of its kind: an address, or the command that prints it."""
        return page_of(self.kind)

    @property
    def first(self) -> Sighting:
        """The sighting that came first."""
        return self.sightings[0]

    @property
    def variable(self) -> str:
        """The variable that was touched first, by its name in the source; "" where it has none."""
        return self.variables[0] if self.variables else ""

    @property
    def line(self) -> int:
        """Line of the PTX at which it was seen first."""
        return self.first.line

    @property
    def text(self) -> str:
        """The instruction in that line."""
        return self.first.text

    @property
    def source(self) -> SourceLine | None:
        """Where the source says that it comes from."""
        return self.first.source

    @property
    def block(self) -> tuple[int, int, int] | None:
        """The first block that met it."""
        return self.first.block

    @property
    def thread(self) -> tuple[int, int, int] | None:
        """The first thread that met it."""
        return self.first.thread

    @property
    def address(self) -> int | None:
        """The address that was accessed first."""
        return self.first.address

    @property
    def count(self) -> int:
        """How many threads met it, at all of its lines."""
        return sum(x.count for x in self.sightings)

    @property
    def others(self) -> tuple[Place, ...]:
        """The other sides of a race."""
        return tuple(dict.fromkeys(x for sighting in self.sightings for x in sighting.others))

    @in_either_spelling
    def to_text(self, width: int = 100, *, verbose: bool = False, color: bool = False) -> str:
        """Write it for a terminal: in 12 lines at most, or with all that is known.

        Parameters
        ----------
        width : int
            Columns of the terminal.
        verbose : bool
            With addresses, each line of PTX, and each thread that was the first at it.
        color : bool
            With the escape sequences of ANSI terminals.
        """
        return text_of(self._described(), width, verbose=verbose, color=color)

    def __str__(self) -> str:
        return self.to_text()

    def _described(self) -> Described:
        first = self.first
        who = [] if first.block is None else [f"block {tuple(first.block)}"]
        who += [] if first.thread is None else [f"thread {tuple(first.thread)}"]
        lines = len(self.sightings)
        seen = "once" if self.count == 1 else f"{self.count} times"
        if self._in_ptx:
            seen += f" at {lines} lines of the PTX" if lines > 1 else f", line {self.line} of the PTX"
        seen += f", first in {', '.join(who)}" if who else ""
        inlined = ", ".join(x for x in dict.fromkeys(map(_inlined_text, self.sides)) if x)
        return Described(
            self.severity, self.title, self.id, self.sides, self.message, self.mend, seen, self.details,
            tuple(_sighting_text(x) for x in self.sightings if self._in_ptx), _page_text(self.kind), inlined,
        )  # fmt: skip

    def explain(self) -> History:
        """Run the launch again, and tell what was done to the bytes, or at the barriers, that it is about.

        That is who wrote and who read them, with which bits, and which synchronisation lay between; as text, or as a
        page. The launch is run on copies of what its arrays held when it began; nothing is written.

        Raises
        ------
        MemoryLimitError
            If the arrays were too large to keep: launch with a larger ``keep_bytes``.
        WmmaEmuError
            For a finding of a report that was copied, or came from another process.
        """
        if self._explain is None:
            raise WmmaEmuError(f"nothing is kept of the launch of {self.kernel} that would explain {self.title}")
        return self._explain(self.first)

    def to_dict(self, paths: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Give all of it as plain data, as the schema of reports has it.

        Parameters
        ----------
        paths : mapping, optional
            Files of this machine that the compiler calls otherwise.
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
            "mend": self.mend,
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
    """Say where the function was called that a line belongs to; "" where it belongs to the kernel itself."""
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
