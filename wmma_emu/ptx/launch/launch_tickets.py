# SPDX-License-Identifier: MIT
"""Concurrent launches: launches that share memory run one after another, others at the same time.

A launch works on copies of the memory that it may write, and copies them back when it ends. Two
launches that share bytes must therefore follow one another, as in one CUDA stream, whatever their modules are.
"""

import os
import threading
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, NamedTuple

from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from wmma_emu.errors import LaunchConfigurationError


class HostRange(NamedTuple):
    """Bytes of host memory that a launch copies, and whether it may write them back."""

    name: str
    lo: int
    hi: int
    is_written: bool


def host_ranges(name: str, arrays: Iterable[NDArray[Any]], is_written: bool = True) -> list[HostRange]:
    """Return the byte ranges of arrays; read-only arrays are only read."""
    return [HostRange(name, *byte_bounds(x), is_written and bool(x.flags.writeable)) for x in arrays if x.nbytes]


class LaunchTicket:
    """A launch's ticket in the queue for the memory that it shares with other launches.

    Hold ``lock`` in a ``with`` statement for the duration of the launch, and call `wait` first. A launch waits only for
    earlier launches, so that no order of arguments can cause a deadlock. Because the lock is a Python lock, an
    interrupt at any moment releases it. ``shares`` returns the launch's memory, if there is another launch.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.zeros(8, np.uint32)
    >>> first = LaunchTicket("first", lambda: host_ranges("x", [x[:5]]))
    >>> second = LaunchTicket("second", lambda: host_ranges("y", [x[4:]]))
    >>> with first.lock:
    ...     first.wait()
    ...     hex(sum(own.lo == x[4:].ctypes.data for own, _ in second.conflicts(first)))
    '0x1'
    """

    def __init__(self, called: str, shares: Callable[[], Iterable[HostRange]]) -> None:
        self.called, self._shares = called, shares
        self.lock = threading.Lock()
        self._thread = threading.get_ident()
        self._began = False

    @cached_property
    def ranges(self) -> tuple[HostRange, ...]:
        """The memory that the launch shares with others."""
        return tuple(self._shares())

    def wait(self) -> None:
        """Wait until all earlier launches that share memory have ended; the caller holds the lock.

        A launch within a launch of the same thread (in a signal handler or a finaliser) is rejected, because it would
        deadlock.
        """
        with _tickets_lock:
            _tickets[:] = [ticket for ticket in _tickets if ticket.lock.locked()]
            earlier = [ticket for ticket in _tickets if self.conflicts(ticket)]
            if any(ticket._thread == self._thread for ticket in _tickets):
                self._require_alone(earlier)
                earlier = []
            _tickets.append(self)
        for ticket in earlier:
            with ticket.lock:
                pass
        self._began = True

    def end(self) -> None:
        """Forget the memory, when the launch has copied its results back."""
        self._shares = tuple
        self.__dict__.pop("ranges", None)

    def conflicts(self, other: "LaunchTicket") -> list[tuple[HostRange, HostRange]]:
        """Return the memory that both launches use and at least one may write."""
        return [
            (own, its)
            for own in self.ranges
            for its in other.ranges
            if own.lo < its.hi and its.lo < own.hi and (own.is_written or its.is_written)
        ]

    def _require_alone(self, earlier: list["LaunchTicket"]) -> None:
        """Reject a launch that cannot wait; a launch of this thread that is itself waiting has not copied anything."""
        for other in earlier:
            if other._thread == self._thread and not other._began:
                continue
            own, its = self.conflicts(other)[0]
            both = own.name if own.name == its.name else f"{own.name}, named {its.name} there"
            raise LaunchConfigurationError(
                f"{self.called} is launched within a launch of the same thread, and shares {both} with {other.called}, "
                f"which works on a copy: one result would be lost; launch it after the other launch has returned"
            )


_tickets: list[LaunchTicket] = []
"""The tickets in order of arrival; those of ended launches are removed when the next one arrives."""

_tickets_lock = threading.RLock()
"""Held during changes to the list; reentrant, because a signal handler may run in the same thread."""


def _after_fork() -> None:
    """Remove, in a child process, the launches of threads that do not exist there."""
    global _tickets_lock
    _tickets_lock = threading.RLock()
    _tickets[:] = [ticket for ticket in _tickets if ticket._thread == threading.get_ident()]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
