# SPDX-License-Identifier: MIT
"""The end of a user's call: errors point at the user's line, and an interrupt leaves the arrays unchanged or complete.

The output of the kernel goes to standard output, as a GPU's does, so that tools that capture output receive it.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from wmma_emu.errors import CallError, KernelFindingsWarning, WmmaEmuError, printable, shorten
from wmma_emu.renamed import warn_renamed

P = ParamSpec("P")
R = TypeVar("R")


def errors_at_the_caller(function: Callable[P, R]) -> Callable[P, R]:
    """Make a decorator that ends the tracebacks of a function's own errors at its caller's line.

    pytest shows the last line of a traceback that is not hidden: the line of the test.

    Examples
    --------
    >>> @errors_at_the_caller
    ... def refuse():
    ...     raise WmmaEmuError("no")
    >>> try:
    ...     refuse()
    ... except WmmaEmuError as error:
    ...     print(error.__traceback__.tb_next.tb_frame.f_code.co_name, error.__traceback__.tb_next.tb_next)
    called None
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except (WmmaEmuError, KernelFindingsWarning) as error:  # KernelFindingsWarning is raised with ``-W error``
            raise error.with_traceback(None) from error.__cause__

    return called


_NOT_THE_CALLER = ("wmma_emu", "triton", "numba")
"""The packages through which a program launches kernels."""


def level_of_the_caller() -> int:
    """Return the ``stacklevel`` with which the function that calls this one names the program's line in a warning.

    Examples
    --------
    >>> level_of_the_caller() > 0
    True
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_THE_CALLER:
        frame, level = frame.f_back, level + 1
    return level


_OLD_CONTRACTIONS = {"ptxas": "rules"}
"""The names of version 0.1.0 for methods that decide what is fused, if they differ from today's."""


def takes_contract(function: Callable[P, R]) -> Callable[P, R]:
    """Make a decorator for a function, called by `errors_at_the_caller`, that also takes ``contract=``.

    It is the old name of ``contraction=``, whose value ``"ptxas"`` is now ``"rules"``.

    Examples
    --------
    >>> import warnings
    >>> @errors_at_the_caller
    ... @takes_contract
    ... def make(contraction="rules"):
    ...     return contraction
    >>> with warnings.catch_warnings(action="ignore"):
    ...     make(contract="ptxas"), make(contract="never")
    ('rules', 'never')
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        if "contract" in kwargs:
            if "contraction" in kwargs:
                raise CallError("contract= is the old name of contraction=; give only contraction=")
            old = kwargs.pop("contract")
            new = contraction_of(old)
            warn_renamed(f"contract={shorten(old)}", f"contraction={shorten(new)}", 3)
            kwargs["contraction"] = new
        return function(*args, **kwargs)

    return called


def contraction_of(old: object) -> object:
    """Return today's name of a method that decides what is fused, given that of version 0.1.0.

    Examples
    --------
    >>> contraction_of("ptxas"), contraction_of("never")
    ('rules', 'never')
    """
    return _OLD_CONTRACTIONS.get(old, old) if isinstance(old, str) else old


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until all arrays are updated; only Python's main thread receives it."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    caught: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *given: caught.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if caught:
            handler(*caught[0])


def shown(text: str) -> str:
    r"""Escape control characters, except line breaks and tabs.

    Examples
    --------
    >>> shown("a\tb\n\x1b[2J\n")
    'a\tb\n\\x1b[2J\n'
    """
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def echo(text: str) -> None:
    """Print text; characters that standard output cannot encode are escaped."""
    out = sys.stdout
    if text and out is not None:
        encoding = getattr(out, "encoding", None) or "utf-8"
        out.write(shown(text).encode(encoding, "backslashreplace").decode(encoding))
