# SPDX-License-Identifier: MIT
"""Profiling, and coverage, of all launches of a piece of code."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any

from wmma_emu.ptx.profile.coverage import KernelCoverage
from wmma_emu.ptx.profile.profile import Profile

_ADDING = Lock()
"""Held while a launch is added, because launches of several threads may be added to one."""


class CountedLaunches:
    """The counts of the launches so far, with the attributes of a `Profile`, or of a `KernelCoverage`.

    Attributes
    ----------
    profile : Profile
        The counters; empty after `covering`.
    coverage : KernelCoverage
        The lines and branches that launches reached; empty after `profiling`.
    """

    def __init__(self, *, counts: bool = True) -> None:
        self.counts = counts
        self.profile, self.coverage = Profile(), KernelCoverage()

    def add(self, profile: Profile, coverage: KernelCoverage) -> None:
        """Add a launch."""
        with _ADDING:
            if self.counts:
                self.profile += profile
            else:
                self.coverage += coverage

    def write(self, path: str | PathLike[str]) -> None:
        """Write the profile, see `Profile.write`; after `covering` the coverage: as Cobertura XML if the file's name
        ends in .xml, else in the format of lcov.
        """
        if self.counts:
            self.profile.write(path)
            return
        target = Path(path)
        form = self.coverage.to_cobertura if target.suffix.lower() == ".xml" else self.coverage.to_lcov
        target.write_text(form(), encoding="utf-8")

    @property
    def _found(self) -> Profile | KernelCoverage:
        return self.profile if self.counts else self.coverage

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copy and pickle ask for these before there are any attributes
            raise AttributeError(name)
        return getattr(self._found, name)

    def __getitem__(self, key: str) -> Any:
        return self.profile[key]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._found)})

    def __str__(self) -> str:
        return str(self._found)


_SESSIONS: ContextVar[tuple[CountedLaunches, ...]] = ContextVar("_SESSIONS", default=())


def current_sessions() -> tuple[CountedLaunches, ...]:
    """Return what the launches of this thread are added to."""
    return _SESSIONS.get()


@contextmanager
def _adding_to(found: CountedLaunches) -> Iterator[CountedLaunches]:
    token = _SESSIONS.set((*_SESSIONS.get(), found))
    try:
        yield found
    finally:
        _SESSIONS.reset(token)


def profiling(into: CountedLaunches | None = None) -> AbstractContextManager[CountedLaunches]:
    """Count all launches of a piece of code, those of plug-ins too.

    Launches of another thread count if it runs in a copy of this context, as with `asyncio.to_thread`.

    Parameters
    ----------
    into : CountedLaunches, optional
        That to which the launches are added; a new one by default.

    Returns
    -------
    context manager of CountedLaunches
        The counters of the launches so far; they are complete when the block ends.

    Examples
    --------
    >>> import wmma_emu as we
    >>> with we.ptx.profiling() as profile:
    ...     pass
    >>> profile.kernels
    ()
    """
    return _adding_to(CountedLaunches() if into is None else into)


def covering(into: CountedLaunches | None = None) -> AbstractContextManager[CountedLaunches]:
    """Record the source lines and branches that all launches of a piece of code reach, those of plug-ins too.

    Launches of another thread count as for `profiling`.

    Parameters
    ----------
    into : CountedLaunches, optional
        That to which the launches are added; a new one by default.

    Returns
    -------
    context manager of CountedLaunches
        The coverage of the launches so far.

    Examples
    --------
    >>> import wmma_emu as we
    >>> with we.ptx.covering() as covered:
    ...     pass
    >>> covered.coverage.files
    ()
    """
    return _adding_to(CountedLaunches(counts=False) if into is None else into)
