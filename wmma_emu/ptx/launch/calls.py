# SPDX-License-Identifier: MIT
"""How a user's call ends: an error names the user's line, and an interrupt leaves the arrays as they were, or done.

What the kernel printed is on standard output then: as that of a GPU's is, so that whoever captures output has it.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from wmma_emu.errors import KernelFindingsWarning, WmmaEmuError, printable

P = ParamSpec("P")
R = TypeVar("R")


def errors_at_the_caller(function: Callable[P, R]) -> Callable[P, R]:
    """Let the errors that a function raises on purpose end at its caller's line: in whose code the mistake is.

    pytest shows the last line of a traceback that is not hidden: the test's.

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
        except (WmmaEmuError, KernelFindingsWarning) as error:  # the warning with ``-W error``
            raise error.with_traceback(None) from error.__cause__

    return called


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until arrays are updated as a whole; it is Python's main thread alone that it reaches."""
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
    r"""Escape what a terminal would obey rather than print; lines and tabs stay.

    Examples
    --------
    >>> shown("a\tb\n\x1b[2J\n")
    'a\tb\n\\x1b[2J\n'
    """
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def echo(text: str) -> None:
    """Print a text; characters that standard output cannot have are escaped."""
    out = sys.stdout
    if text and out is not None:
        encoding = getattr(out, "encoding", None) or "utf-8"
        out.write(shown(text).encode(encoding, "backslashreplace").decode(encoding))
