# SPDX-License-Identifier: MIT
"""What is noted of a launch: who did what at which step, in which instruction."""

from dataclasses import dataclass
from typing import Any

from wmma_emu.ptx.findings import Place

ACCESSES = {
    "reads": "a load", "writes": "a store", "updates": "an atomic operation",
    "begins to copy to": "an asynchronous copy is issued, and the bytes are on their way",
    "copies to": "an asynchronous copy arrives", "writes register": "an instruction writes the register",
}  # fmt: skip
"""What is done to the bytes, or to the register, that are watched."""

SYNCHRONISATION = {
    "arrives": "at a barrier", "goes on": "from a barrier that has all that it waits for",
    "meets": "all that a barrier counts come to it at once, and go on",
    "waits": "for other lanes of the warp", "goes on alone": "since the lanes that it waits for cannot arrive",
    "fence": "membar, fence", "commits": "a group of asynchronous copies or products",
    "waits for": "groups of asynchronous copies or products", "looks": "at the phase of an mbarrier",
    "sees": "that the phase of an mbarrier is completed", "completes": "a phase of an mbarrier",
    "synchronises": "a strong access to other bytes: volatile, relaxed, acquire, release",
    "uses": "what nobody wrote: the instruction of the finding",
    "exits": "the thread is done", "gives up": "trap, or an assertion", "no way on": "every thread that is left waits",
}  # fmt: skip
"""What lies between."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that threads of a block did.

    Attributes
    ----------
    step : int
        Counted from 1 in its history. What has the same number was done side by side, by one instruction.
    what : str
        A key of `ACCESSES` or `SYNCHRONISATION`.
    block : (int, int, int)
    warps : tuple of int
        Most often one: several meet at a barrier.
    lanes : tuple of int
        Of each of these warps.
    place : Place
        Line of the PTX, and of the source.
    text : str
        The instruction.
    address, size : int
        The bytes concerned, of those that are watched; 0 where the event is about none.
    value : int, or None
        Their bits, the lowest byte first, as numbers are stored: what is read, written, or left.
    before : int, or None
        What an atomic operation finds.
    detail : str
        More, in words: the barrier, the groups, the scope.
    count : int
        How often it was done so, one time after another.
    """

    step: int
    what: str
    block: tuple[int, int, int]
    warps: tuple[int, ...]
    lanes: tuple[int, ...]
    place: Place
    text: str
    address: int = 0
    size: int = 0
    value: int | None = None
    before: int | None = None
    detail: str = ""
    count: int = 1

    @property
    def is_access(self) -> bool:
        """Whether it is about the bytes, or the register, that are watched."""
        return self.what in ACCESSES

    @property
    def does_write(self) -> bool:
        """Whether it changes the bytes."""
        return self.is_access and self.what not in ("reads", "begins to copy to")

    @property
    def bits(self) -> str:
        """The value as a number of base 16 with all its digits, "" where there is none."""
        return "" if self.value is None else f"0x{self.value:0{max(2 * self.size, 2)}x}"

    def to_dict(self) -> dict[str, Any]:
        """Give all of it as plain data; bits are text."""
        source = self.place.source
        return {
            "step": self.step, "what": self.what, "block": list(self.block), "warps": list(self.warps),
            "lanes": list(self.lanes), "line": self.place.line, "source": None if source is None else str(source),
            "text": self.text, "address": self.address, "size": self.size, "value": self.bits or None,
            "before": None if self.before is None else f"0x{self.before:0{max(2 * self.size, 2)}x}",
            "detail": self.detail, "count": self.count,
        }  # fmt: skip
