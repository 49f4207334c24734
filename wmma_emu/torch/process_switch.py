# SPDX-License-Identifier: MIT
"""Changes of PyTorch that hold in the whole process while any thread is in a block of code."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class ProcessSwitch:
    """A change that the first block of all threads makes, and the last one undoes.

    ``change`` makes it, and returns what ``undo`` takes.
    """

    def __init__(self, change: Callable[[], Any], undo: Callable[[Any], None]) -> None:
        self._change, self._undo = change, undo
        self._lock, self._blocks, self._before = threading.Lock(), 0, None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Hold the change in a block of code."""
        with self._lock:
            if not self._blocks:
                self._before = self._change()
            self._blocks += 1
        try:
            yield
        finally:
            with self._lock:
                self._blocks -= 1
                if not self._blocks:
                    self._undo(self._before)
