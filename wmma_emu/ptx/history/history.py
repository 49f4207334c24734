# SPDX-License-Identifier: MIT
"""The history of a finding, as people and programs read it."""

from dataclasses import dataclass
from typing import Any

from wmma_emu.display import render
from wmma_emu.ptx.history.events import Event


@dataclass(frozen=True, slots=True)
class History:
    """What happened to the bytes, or at the barriers, that a finding is about: what its ``explain()`` gives.

    Attributes
    ----------
    title : str
        The finding, and where it is.
    watched : str
        What was looked at: bytes, by the name of their variable; a register; the barriers of a block.
    replayed : str
        Whether the launch, run again for this, met the finding again.
    is_replayed : bool
    events : tuple of Event
        In their order.
    here, other : int, or None
        Which of them the finding is about: the access at which it is, and the other side of a race.
    conclusion : tuple of str
        Sentences on what they come to: why nothing orders the two.
    left_out : int
        Notes of the middle of a long run that were not kept.
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
        """Write it for a terminal; what is far from the two events is left out, unless ``verbose`` says otherwise."""
        return str(render("history.txt", self, width, verbose))

    def __str__(self) -> str:
        return self.text()

    def to_dict(self) -> dict[str, Any]:
        """Give all of it as plain data, for JSON; bits are text."""
        return {
            "title": self.title, "watched": self.watched, "replayed": self.replayed, "is_replayed": self.is_replayed,
            "here": self.here, "other": self.other, "conclusion": list(self.conclusion), "left_out": self.left_out,
            "events": [x.to_dict() for x in self.events],
        }  # fmt: skip

    def to_html(self) -> str:
        """Draw it as a page of its own: time goes down, and each warp has a column."""
        return str(render("history.html", self))

    def _repr_html_(self) -> str:
        return str(render("history.html", self, is_whole=False))
