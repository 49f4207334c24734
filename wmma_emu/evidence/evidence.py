# SPDX-License-Identifier: MIT
"""Status and source of a fact, and the instructions that they hold of: of any other it is inferred."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from wmma_emu.evidence.runs import Run

Status = Literal["measured", "recorded", "documented", "literature", "inferred", "not modelled", "probed", "altered"]
"""Compared with a GPU here; compared with what others recorded; said by a document of who makes it; said by others;
concluded from what is known of something else; known to exist. ``probed`` and ``altered`` are models of users."""

_NEEDS_A_RUN = ("measured", "recorded")

_OUTSIDE = "concluded from others that are like it: nothing that was run or read has this one on this chip"


@dataclass(frozen=True, slots=True)
class Evidence:
    """How something is known, and of what.

    Parameters
    ----------
    status : str
        ``"measured"``, ``"recorded"``, ``"documented"``, ``"literature"`` or ``"inferred"``.
    source : str
        Who says so, or what was run.
    covers : Run or frozenset of str, optional
        What was run or read, by name. None: the row says itself what it is about, which no comparison can.
    otherwise : Evidence, optional
        How that is known which this does not cover.

    Examples
    --------
    >>> recorded = Evidence("recorded", "bits of a B200", frozenset({"32x32b.x2"}))
    >>> recorded.of("32x32b.x2").status, recorded.of("32x32b.x4").status
    ('recorded', 'inferred')
    """

    status: Status
    source: str
    covers: Run | frozenset[str] | None = None
    otherwise: "Evidence | None" = None

    def __post_init__(self) -> None:
        if self.covers is None and self.status in _NEEDS_A_RUN:
            raise ValueError(f"what is {self.status} says what was run: covers=Run(...) or a frozenset of names")

    def of(self, name: str) -> "Evidence":
        """Return how an instruction is known: by this, by what it gives otherwise, or by inference."""
        if self.covers is None or name in self.covers:
            return self
        return Evidence("inferred", _OUTSIDE) if self.otherwise is None else self.otherwise.of(name)


class Sourced:
    """A row with evidence: status and source can be read from the row itself."""

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def evidence(self) -> Evidence:
            """How it is known."""

    @property
    def status(self) -> Status:
        """``"measured"``, ``"recorded"``, ``"documented"``, ``"literature"``, ``"inferred"``."""
        return self.evidence.status

    @property
    def source(self) -> str:
        """Who says so, or what was run."""
        return self.evidence.source
