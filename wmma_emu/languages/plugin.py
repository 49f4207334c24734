# SPDX-License-Identifier: MIT
"""A kernel language: which module shows that a program uses it, and the function that patches it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Any

from wmma_emu.errors import OptionError
from wmma_emu.languages.session import Session

Uninstall = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Language:
    """A kernel language whose launches run on the emulator while the switch is on.

    Parameters
    ----------
    name : str
        The name in reports, as in ``"Triton"``.
    module : str
        The module whose import shows that a program uses the language. The switch installs the plug-in after its
        import, and never imports it.
    install : str
        The function that installs the plug-in, as ``"package.module:function"``. It is called with a `Session`, and
        returns a function that undoes everything. A launch calls `Session.launched`.
    distribution : str
        The name of the distribution that pip installs.
    extra : str
        The extra of this project that installs it, "" if there is none.
    versions : tuple of str
        The versions with which the plug-in was tested, the oldest first.

    Examples
    --------
    >>> toy = Language("Toy", "toy", "toy_emulation:install", "toy-lang", versions=("1.0", "1.2"))
    >>> toy.tried
    'toy-lang 1.0 and 1.2'
    """

    name: str
    module: str
    install: str
    distribution: str
    extra: str = ""
    versions: tuple[str, ...] = ()

    @property
    def tried(self) -> str:
        """The distribution with the versions that were tested."""
        *others, last = self.versions or ("untested",)
        return f"{self.distribution} {' and '.join(filter(None, (', '.join(others), last)))}"

    @property
    def installed_version(self) -> str:
        """The installed version, "unknown" for a module that no distribution provides."""
        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return "unknown"

    def installed(self, session: Session) -> Uninstall:
        """Install the plug-in, and return the function that removes it.

        Raises
        ------
        OptionError
            If the plug-in does not work with the installed version; the message names the versions that work.
        """
        module, _, function = self.install.partition(":")
        try:
            made: Uninstall = getattr(import_module(module), function)(session)
        except (AttributeError, ImportError, TypeError) as error:
            raise OptionError(
                f"the plug-in for {self.name} does not work with {self.distribution} {self.installed_version}: "
                f"{error}; it was tested with {self.tried}"
            ) from error
        return made


ENTRY_POINTS = "wmma_emu.languages"
"""The group of entry points by which other distributions add languages; each loads a `Language`."""


def added_languages() -> Iterable[Language]:
    """Yield the languages that other installed distributions add."""
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        loaded: Any = entry.load()
        if not isinstance(loaded, Language):
            raise OptionError(
                f"the entry point {entry.name} of the group {ENTRY_POINTS} loads {type(loaded).__name__}, "
                "not a Language"
            )
        yield loaded
