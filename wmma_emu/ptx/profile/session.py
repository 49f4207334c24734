# SPDX-License-Identifier: MIT
"""Profiling, and coverage, of all launches of a piece of code."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from os import PathLike
from pathlib import Path
from typing import Any

from wmma_emu.ptx.profile.coverage import KernelCoverage
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


class CoveredLaunches:
    """The coverage of the launches so far.

    Attributes
    ----------
    coverage : KernelCoverage
    paths : dict
        The paths of files on this machine that have other names in the PTX.
    """

    def __init__(self) -> None:
        self.coverage = KernelCoverage()
        self.paths: dict[str, str] = {}

    def add(self, coverage: KernelCoverage, paths: Mapping[str, str]) -> None:
        """Merge the coverage of a launch."""
        self.coverage += coverage
        self.paths.update(paths)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the coverage to a file: as Cobertura XML if its name ends in .xml, else in the format of lcov."""
        target = Path(path)
        form = self.coverage.to_cobertura if target.suffix.lower() == ".xml" else self.coverage.to_lcov
        target.write_text(form(self.paths), encoding="utf-8")

    def __str__(self) -> str:
        return str(self.coverage)


_COVERAGES: ContextVar[tuple[CoveredLaunches, ...]] = ContextVar("_COVERAGES", default=())


@contextmanager
def covering(into: CoveredLaunches | None = None) -> Iterator[CoveredLaunches]:
    """Record the source lines and branches that all launches of a piece of code reach, those of plug-ins too.

    Parameters
    ----------
    into : CoveredLaunches, optional
        The coverage to which the launches are added; a new one by default.

    Yields
    ------
    CoveredLaunches
        The coverage of the launches so far.

    Examples
    --------
    >>> import wmma_emu as we
    >>> with we.ptx.covering() as covered:
    ...     pass
    >>> covered.coverage.files
    ()
    """
    found = CoveredLaunches() if into is None else into
    token = _COVERAGES.set((*_COVERAGES.get(), found))
    try:
        yield found
    finally:
        _COVERAGES.reset(token)


def current_coverages() -> tuple[CoveredLaunches, ...]:
    """Return the coverages to which the launches of this thread are added."""
    return _COVERAGES.get()
