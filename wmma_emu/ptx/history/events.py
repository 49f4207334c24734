# SPDX-License-Identifier: MIT
"""Events of a launch: the threads, their action, the step and the instruction."""

from dataclasses import dataclass
from typing import Any

from wmma_emu.ptx.findings import Place

ACCESSES = {
    "reads": "a load", "writes": "a store", "updates": "an atomic operation",
    "begins to copy to": "an asynchronous copy is issued, and the bytes are in flight",
    "copies to": "an asynchronous copy arrives", "writes register": "an instruction writes the register",
}  # fmt: skip
"""Actions on the watched bytes, or on the watched register."""

SYNCHRONISATION = {
    "arrives": "at a barrier", "continues": "from a barrier that is complete",
    "meets": "all threads that a barrier counts reach it at once, and continue",
    "waits": "for other lanes of the warp", "continues alone": "because the lanes that it waits for cannot arrive",
    "fence": "membar, fence", "commits": "a group of asynchronous copies or products",
    "waits for": "groups of asynchronous copies or products", "looks": "at the phase of an mbarrier",
    "sees": "that the phase of an mbarrier is completed", "completes": "a phase of an mbarrier",
    "synchronises": "a strong access to other bytes: volatile, relaxed, acquire, release",
    "uses": "an uninitialised value: the instruction of the finding",
    "exits": "the thread is done", "gives up": "trap, or an assertion", "no way on": "every remaining thread waits",
}  # fmt: skip
"""Synchronisation events between the accesses."""


@dataclass(frozen=True, slots=True)
class Event:
    """One action of some threads of a block.

    Attributes
    ----------
    step : int
        The step, counted from 1 in its history. Events of one instruction have the same step.
    what : str
        A key of `ACCESSES` or `SYNCHRONISATION`.
    block : (int, int, int)
    warps : tuple of int
        Usually one warp; several warps meet at a barrier.
    lanes : tuple of int
        The lanes of each of these warps.
    place : Place
        The line of the PTX, and of the source.
    text : str
        The instruction.
    address, size : int
        The watched bytes concerned; 0 if the event concerns no bytes.
    value : int, or None
        The bits of the bytes, in little-endian order: the value that is read, written, or left.
    before : int, or None
        The value before an atomic operation.
    detail : str
        More information as text: the barrier, the groups, the scope.
    count : int
        The number of consecutive repetitions.
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
        """Whether the event concerns the watched bytes, or the watched register."""
        return self.what in ACCESSES

    @property
    def does_write(self) -> bool:
        """Whether the event changes the bytes."""
        return self.is_access and self.what not in ("reads", "begins to copy to")

    @property
    def bits(self) -> str:
        """The value in hexadecimal with all its digits; "" if there is no value."""
        return "" if self.value is None else f"0x{self.value:0{max(2 * self.size, 2)}x}"

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain data; bits are strings."""
        source = self.place.source
        return {
            "step": self.step, "what": self.what, "block": list(self.block), "warps": list(self.warps),
            "lanes": list(self.lanes), "line": self.place.line, "source": None if source is None else str(source),
            "text": self.text, "address": self.address, "size": self.size, "value": self.bits or None,
            "before": None if self.before is None else f"0x{self.before:0{max(2 * self.size, 2)}x}",
            "detail": self.detail, "count": self.count,
        }  # fmt: skip
