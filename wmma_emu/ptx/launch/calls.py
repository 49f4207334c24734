# SPDX-License-Identifier: MIT
"""How a user's call ends: an error names the user's line, and an interrupt leaves the arrays as they were, or done."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from wmma_emu.errors import KernelFindingsWarning, WmmaEmuError

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
