# SPDX-License-Identifier: MIT
"""Evidence: status and source of a fact, and the instructions that it covers; for others the fact is inferred."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from wmma_emu.evidence.runs import Run

Status = Literal["measured", "recorded", "documented", "literature", "inferred", "not modelled", "probed", "altered"]
"""In order: compared with a GPU by this project; compared with others' recordings; stated in a document of the vendor;
stated by others; inferred from something else; known to exist. ``probed`` and ``altered`` are models of users."""

_NEEDS_A_RUN = ("measured", "recorded")

_OUTSIDE = "concluded from others that are like it: nothing that was run or read has this one on this chip"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for a fact, and the instructions that it covers.

    Parameters
    ----------
    status : str
        ``"measured"``, ``"recorded"``, ``"documented"``, ``"literature"`` or ``"inferred"``.
    source : str
        The document or person that states it, or the run.
    covers : Run or frozenset of str, optional
        The names of the runs or documents. None if the entry itself is the evidence's only subject.
    otherwise : Evidence, optional
        The evidence for everything that this does not cover.

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
        """Return the evidence for an instruction: this one, the alternative, or an inference."""
        if self.covers is None or name in self.covers:
            return self
        return Evidence("inferred", _OUTSIDE) if self.otherwise is None else self.otherwise.of(name)


class Sourced:
    """A table entry with evidence, whose status and source are attributes of the entry."""

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def evidence(self) -> Evidence:
            """The evidence for the entry."""

    @property
    def status(self) -> Status:
        """``"measured"``, ``"recorded"``, ``"documented"``, ``"literature"``, ``"inferred"``."""
        return self.evidence.status

    @property
    def source(self) -> str:
        """The document or person that states it, or the run."""
        return self.evidence.source
