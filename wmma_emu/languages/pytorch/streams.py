# SPDX-License-Identifier: MIT
"""Streams and events of an emulated chip, on which every launch has ended when the call returns."""

import time
from types import TracebackType
from typing import Any


class Stream:
    """A stream: all work on it is done.

    Examples
    --------
    >>> stream = Stream()
    >>> stream.synchronize()
    >>> stream.query(), stream.cuda_stream
    (True, 0)
    """

    cuda_stream = 0
    device_index = 0

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        self.device, self.priority = device, priority

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, where: TracebackType | None) -> None:
        """Let errors pass."""

    def synchronize(self) -> None:
        """Return at once."""

    wait_stream = wait_event = lambda self, other: None

    def query(self) -> bool:
        """Return True."""
        return True

    def record_event(self, event: "Event | None" = None) -> "Event":
        """Record an event."""
        event = event or Event()
        event.record()
        return event


class Event:
    """An event; the time between two events is the host's, and says nothing about a GPU.

    Examples
    --------
    >>> begin, end = Event(enable_timing=True), Event(enable_timing=True)
    >>> begin.record(), end.record()
    (None, None)
    >>> begin.elapsed_time(end) > 0
    True
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, **_: Any) -> None:
        self._at = 0.0

    def record(self, stream: object = None) -> None:
        """Note the time."""
        self._at = time.perf_counter()

    def elapsed_time(self, end: "Event") -> float:
        """Return the milliseconds of the host to another event, at least a nanosecond."""
        return max((end._at - self._at) * 1e3, 1e-6)

    def synchronize(self) -> None:
        """Return at once."""

    wait = lambda self, stream=None: None  # noqa: E731

    def query(self) -> bool:
        """Return True."""
        return True


class Context:
    """A context that chooses the only device or stream."""

    def __init__(self, chosen: object = None, *_: Any, **__: Any) -> None:
        self.idx = self.prev_idx = 0

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, where: TracebackType | None) -> None:
        """Let errors pass."""

    def __call__(self, function: Any) -> Any:
        """Return a function that it decorates."""
        return function
