# SPDX-License-Identifier: MIT
"""numba's cache on disk: a test for a cached function, and a message to the user after a long compilation."""

import os
import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from numba.core import event

from wmma_emu.display import note_once
from wmma_emu.errors import BackendUnavailableError, shorten

_LONG = 1.0
"""The compile time in seconds from which the user is informed."""


@contextmanager
def telling_of_the_cache() -> Iterator[None]:
    """Raise an error with the remedy if numba cannot use its cache."""
    try:
        yield
    except (OSError, EOFError, pickle.UnpicklingError) as error:
        raise BackendUnavailableError(
            f"numba cannot read or write its cache of compiled code ({shorten(error, str)}); delete *.nbi and *.nbc in "
            f"{Path(__file__).parent / '__pycache__'}, or set NUMBA_CACHE_DIR to a folder with free space, or use "
            "engine='numpy'"
        ) from error


def is_on_disk(function: Any, *first: object) -> bool:
    """Return whether numba has cached a function, compiled for first arguments of these types on this processor.

    numba has no public function for this. If a release changes the format of its index, the result is False, and code
    is compiled or loaded later than possible; results do not depend on it.
    """
    try:
        file = function._cache._cache_file
        types = tuple(numba.typeof(x) for x in first)
        processor = function.targetctx.codegen().magic_tuple()
        return any(
            key[0][: len(types)] == types and key[1] == processor and os.path.exists(Path(file._cache_path, data))
            for key, data in file._load_index().items()
        )
    except Exception:  # an index in another format may raise any error
        return False


class _Announcer(event.Listener):  # type: ignore[misc]
    """A listener that prints a line if a function of this package, with its callees, took long to compile."""

    def __init__(self) -> None:
        self._depth, self._start = 0, 0.0

    def on_start(self, event: Any) -> None:
        """Start the clock for the outermost function; numba compiles one at a time."""
        if not self._depth:
            self._start = time.perf_counter()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Read the clock after the outermost function."""
        self._depth -= 1
        seconds, function = time.perf_counter() - self._start, event.data["dispatcher"]
        if self._depth or seconds < _LONG or not function.py_func.__module__.startswith("wmma_emu."):
            return
        note_once(
            f"numba compiled {function.py_func.__name__} for a kind of dot products in {seconds:.1f} s; it is kept in "
            f"{function.stats.cache_path}, for other processes too; engine='numpy' compiles nothing"
        )


def announce_long_compilations() -> None:
    """Print a line on standard error for each function that takes more than a second to compile."""
    event.register("numba:compile", _Announcer())
