# SPDX-License-Identifier: MIT
"""The switch: while it is on, launches of kernel languages run on the emulator."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from wmma_emu.errors import CallError, OptionError, shorten
from wmma_emu.instructions import DEFAULT_ARCH, Arch, arch_of
from wmma_emu.languages.importing import after_import
from wmma_emu.languages.plugin import Language, added_languages
from wmma_emu.languages.session import Session
from wmma_emu.languages.table import LANGUAGES
from wmma_emu.suggestions import did_you_mean

_LOCK = threading.Lock()
_ACTIVE: list[Session] = []


@contextmanager
def emulate(
    arch: str | Arch = DEFAULT_ARCH,
    *,
    findings: Any = "warn",
    engine: str = "auto",
    languages: Iterable[str | Language] | None = None,
    **options: Any,
) -> Iterator[Session]:
    """Run the launches of kernel languages on an emulated chip, in code that is not edited.

    Plug-ins patch a language when it is imported, or at once if it already is; leaving the context undoes everything.
    No language is imported by this. The emulation is for the whole process. PyTorch's device "cuda"
    is the memory of the host in the thread that begins the emulation only, because PyTorch's modes belong to threads.

    Parameters
    ----------
    arch : str or Arch
        The emulated chip.
    findings : {"warn", "raise", "report"} or rules
        The action for findings, as in `wmma_emu.ptx.Module`.
    engine : str
        The engine for matrix instructions.
    languages : iterable of str or Language, optional
        The languages; by default all of `LANGUAGES`, and those that other distributions add.
    **options
        Further options of each launch, such as ``max_seconds``.

    Yields
    ------
    Session
        ``session.report`` has the launches up to then.

    Raises
    ------
    CallError
        If the emulation is on already.
    OptionError
        If a language or an option does not exist, or a plug-in does not work with the installed version.

    Examples
    --------
    >>> with emulate("a100") as session:
    ...     pass
    >>> print(session.report)
    wmma_emu: no kernel was launched on the emulated sm_80
    """
    session = Session(arch_of(arch), engine, {"findings": findings, **options})
    chosen = _chosen(languages)
    with _LOCK:
        if _ACTIVE:
            raise CallError(f"the emulation is on already, of {_ACTIVE[0].arch}: leave it first")
        _ACTIVE.append(session)
    try:
        with ExitStack() as stack:
            stack.enter_context(after_import({x.module: partial(_install, x, session, stack) for x in chosen}))
            yield session
    finally:
        with _LOCK:
            _ACTIVE.clear()


def active_session() -> Session | None:
    """Return the session of the emulation, None while it is off."""
    return _ACTIVE[0] if _ACTIVE else None


def _install(language: Language, session: Session, stack: ExitStack) -> None:
    uninstall: Callable[[], None] = language.installed(session)
    stack.callback(uninstall)


def _chosen(given: Iterable[str | Language] | None) -> list[Language]:
    if isinstance(given, str):
        raise OptionError(f"languages={shorten(given)} is one word; pass a list of names")
    known = {x.name.lower(): x for x in (*LANGUAGES, *added_languages())}
    if given is None:
        return list(known.values())
    found = []
    for one in given:
        language = one if isinstance(one, Language) else known.get(str(one).lower())
        if language is None:
            names = [x.name for x in known.values()]
            raise OptionError(
                f"{shorten(one)} is not a kernel language with a plug-in; those are {', '.join(names) or 'none'}"
                f"{did_you_mean(str(one), names, '')}"
            )
        found.append(language)
    return found
