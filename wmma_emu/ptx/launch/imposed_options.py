# SPDX-License-Identifier: MIT
"""Options that all launches of a piece of code have, whatever the code chooses."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from wmma_emu.ptx.launch.options import LaunchOptions

Change = Callable[[LaunchOptions], LaunchOptions]
"""A function from the options that a program chose for a launch to those that the launch has."""

_CHANGE: ContextVar[Change | None] = ContextVar("_CHANGE", default=None)


@contextmanager
def imposing(change: Change) -> Iterator[None]:
    """Change the options of the launches of this thread, those of plug-ins too.

    Examples
    --------
    >>> with imposing(lambda chosen: chosen.but({"schedule": 3})):
    ...     imposed(LaunchOptions()).schedule, imposed(LaunchOptions(max_steps=5)).max_steps
    (3, 5)
    >>> imposed(LaunchOptions()).schedule is None
    True
    """
    token = _CHANGE.set(change)
    try:
        yield
    finally:
        _CHANGE.reset(token)


def imposed(chosen: LaunchOptions) -> LaunchOptions:
    """Return the options of a launch of this thread."""
    change = _CHANGE.get()
    return chosen if change is None else change(chosen)
