# SPDX-License-Identifier: MIT
"""Profiling of all launches of a piece of code."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from wmma_emu.ptx.profile.profile import Profile


class ProfiledLaunches:
    """The profile of the launches so far, with the attributes of a `Profile`.

    Attributes
    ----------
    profile : Profile
    """

    def __init__(self) -> None:
        self.profile = Profile()

    def add(self, profile: Profile) -> None:
        """Add the profile of a launch."""
        self.profile += profile

    def __getattr__(self, name: str) -> Any:
        return getattr(self.profile, name)

    def __getitem__(self, key: str) -> Any:
        return self.profile[key]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.profile)})

    def __str__(self) -> str:
        return str(self.profile)


_SESSIONS: ContextVar[tuple[ProfiledLaunches, ...]] = ContextVar("_SESSIONS", default=())


@contextmanager
def profiling(into: ProfiledLaunches | None = None) -> Iterator[ProfiledLaunches]:
    """Count all launches of a piece of code, those of plug-ins too.

    Parameters
    ----------
    into : ProfiledLaunches, optional
        The profile to which the launches are added; a new one by default.

    Yields
    ------
    ProfiledLaunches
        The counters of the launches so far; they are complete when the block ends.

    Examples
    --------
    >>> import wmma_emu as we
    >>> with we.ptx.profiling() as profile:
    ...     pass
    >>> profile.kernels
    ()
    """
    found = ProfiledLaunches() if into is None else into
    token = _SESSIONS.set((*_SESSIONS.get(), found))
    try:
        yield found
    finally:
        _SESSIONS.reset(token)


def current_sessions() -> tuple[ProfiledLaunches, ...]:
    """Return the profiles to which the launches of this thread are added."""
    return _SESSIONS.get()
