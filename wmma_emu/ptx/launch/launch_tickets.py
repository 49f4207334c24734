# SPDX-License-Identifier: MIT
"""Launches of several threads: those that share memory take turns, the others run at the same time.

A launch works on copies of its arrays and of the variables of its module, and writes them back when it ends. Two that
share bytes must therefore follow one another, as kernels of one CUDA stream do, whatever modules they are of.
"""

import os
import threading
from collections.abc import Iterable
from typing import Any, NamedTuple

from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from wmma_emu.errors import LaunchConfigurationError


class HostRange(NamedTuple):
    """Bytes of the host that a launch copies, and whether it may write them back."""

    name: str
    lo: int
    hi: int
    is_written: bool


def host_ranges(name: str, arrays: Iterable[NDArray[Any]], is_written: bool = True) -> list[HostRange]:
    """Say which bytes arrays cover; what may not be written is only read."""
    return [HostRange(name, *byte_bounds(x), is_written and bool(x.flags.writeable)) for x in arrays if x.nbytes]


class LaunchTicket:
    """The turn of one launch at the memory that it shares with others.

    Hold ``lock`` in a ``with`` statement as long as the launch lasts, and `wait` first. A launch waits for those that
    came before it, never for a later one: no order of arguments makes two of them wait for each other. Because the lock
    is Python's own, an interrupt at any moment gives the turn back.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.zeros(8, np.uint32)
    >>> first, second = Turn("first", shared_by("x", [x[:5]])), Turn("second", shared_by("y", [x[4:]]))
    >>> with first.lock:
    ...     first.wait()
    ...     hex(sum(mine.lo == x[4:].ctypes.data for mine, _ in second.common(first)))
    '0x1'
    """

    def __init__(self, called: str, shares: Iterable[HostRange]) -> None:
        self.called, self.ranges = called, tuple(shares)
        self.lock = threading.Lock()
        self._thread = threading.get_ident()
        self._began = False

    def wait(self) -> None:
        """Wait until every launch that came before and shares memory has ended; the lock is held by the caller.

        A launch within one of this very thread (a handler of a signal, a finaliser) is refused: it would have to wait
        for itself.
        """
        with _tickets_lock:
            _tickets[:] = [turn for turn in _tickets if turn.lock.locked()]
            earlier = [turn for turn in _tickets if self.conflicts(turn)]
            if any(turn._thread == self._thread for turn in _tickets):
                self._require_alone(earlier)
                earlier = []
            _tickets.append(self)
        for turn in earlier:
            with turn.lock:
                pass
        self._began = True

    def conflicts(self, other: "LaunchTicket") -> list[tuple[HostRange, HostRange]]:
        """Find the memory that both have, and that one of them may write."""
        return [
            (mine, its)
            for mine in self.ranges
            for its in other.ranges
            if mine.lo < its.hi and its.lo < mine.hi and (mine.is_written or its.is_written)
        ]

    def _require_alone(self, earlier: list["LaunchTicket"]) -> None:
        """Refuse what cannot wait; a launch of this thread that still waits itself has not copied anything."""
        for other in earlier:
            if other._thread == self._thread and not other._began:
                continue
            mine, its = self.conflicts(other)[0]
            both = mine.name if mine.name == its.name else f"{mine.name}, there {its.name}"
            raise LaunchConfigurationError(
                f"{self.called} is launched within a launch of the same thread, and shares {both} with {other.called}, "
                f"which works on a copy: one result would be lost; launch it when that one has returned"
            )


_tickets: list[LaunchTicket] = []
"""In the order in which they came; those that have ended are taken out when the next one comes."""

_tickets_lock = threading.RLock()
"""Held while they are looked through; a handler of a signal may come back in the same thread."""


def _after_fork() -> None:
    """Forget, in a child process, the launches of threads that it does not have."""
    global _tickets_lock
    _tickets_lock = threading.RLock()
    _tickets[:] = [turn for turn in _tickets if turn._thread == threading.get_ident()]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
