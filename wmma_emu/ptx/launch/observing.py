# SPDX-License-Identifier: MIT
"""An observer of all launches of a piece of code: it changes their options, and keeps their data."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from wmma_emu.ptx.launch.options import LaunchOptions
from wmma_emu.ptx.launch.replay import Replay
from wmma_emu.ptx.launch.report import Report


class LaunchObserver(Protocol):
    """An observer of launches."""

    def options_of(self, chosen: LaunchOptions) -> LaunchOptions:
        """Change the options that a program chose for a launch."""

    def launched(self, replay: Replay, report: Report) -> None:
        """Note a launch that has ended, with the data to run it again."""


_OBSERVER: ContextVar[LaunchObserver | None] = ContextVar("_OBSERVER", default=None)


@contextmanager
def observed_by(observer: LaunchObserver) -> Iterator[None]:
    """Let an observer see the launches of this thread.

    Examples
    --------
    >>> class Nobody:
    ...     pass
    >>> with observed_by(Nobody()):
    ...     type(current_observer()).__name__, current_observer() is None
    ('Nobody', False)
    """
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


def current_observer() -> LaunchObserver | None:
    """Return the observer of the launches of this thread, None if there is none."""
    return _OBSERVER.get()
