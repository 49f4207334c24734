# SPDX-License-Identifier: MIT
"""The history of a finding, for people and programs."""

from dataclasses import dataclass
from typing import Any

from wmma_emu.display import render
from wmma_emu.ptx.history.events import Event


@dataclass(frozen=True, slots=True)
class History:
    """The events at the bytes, or at the barriers, of a finding: the result of its ``explain()``.

    Attributes
    ----------
    title : str
        The finding, and its line.
    watched : str
        The subject: bytes, by the name of their variable; a register; the barriers of a block.
    replayed : str
        Whether the launch, which runs again for the history, reproduced the finding.
    is_replayed : bool
    events : tuple of Event
        The events in order.
    here, other : int, or None
        The indices of the events of the finding: its access, and the other side of a race.
    conclusion : tuple of str
        Conclusions as sentences: why nothing orders the two accesses.
    left_out : int
        The number of events in the middle of a long run that were not kept.
    """

    title: str
    watched: str
    replayed: str
    is_replayed: bool
    events: tuple[Event, ...]
    here: int | None = None
    other: int | None = None
    conclusion: tuple[str, ...] = ()
    left_out: int = 0

    def text(self, width: int = 100, verbose: bool = False) -> str:
        """Return the history as text; events far from the marked ones are omitted, unless ``verbose`` is set."""
        return str(render("history.txt", self, width, verbose))

    def __str__(self) -> str:
        return self.text()

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain data for JSON; bits are strings."""
        return {
            "title": self.title, "watched": self.watched, "replayed": self.replayed, "is_replayed": self.is_replayed,
            "here": self.here, "other": self.other, "conclusion": list(self.conclusion), "left_out": self.left_out,
            "events": [x.to_dict() for x in self.events],
        }  # fmt: skip

    def to_html(self) -> str:
        """Return the history as an HTML page: time goes down, and each warp has a column."""
        return str(render("history.html", self))

    def _repr_html_(self) -> str:
        return str(render("history.html", self, is_whole=False))
