# SPDX-License-Identifier: MIT
"""Distinct values, each stored once and referred to by its number."""

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)


class Numbered(Generic[_Key]):
    """A numbering of distinct values in the order of their first occurrence.

    Examples
    --------
    >>> number = Numbered()
    >>> [number(x) for x in ("row", "col", "row")], number.rows()
    ([0, 1, 0], ['row', 'col'])
    """

    def __init__(self) -> None:
        self.numbers: dict[_Key, int] = {}
        self._seen: dict[int, tuple[_Key, int]] = {}  # comparing layouts is slow; keeping the key keeps its id unique

    def __call__(self, key: _Key) -> int:
        """Return the number of a value, or a new one at its first occurrence."""
        if id(key) not in self._seen:
            self._seen[id(key)] = (key, self.numbers.setdefault(key, len(self.numbers)))
        return self._seen[id(key)][1]

    def rows(self, write: Callable[[_Key], Any] = lambda key: key) -> list[Any]:
        """Return all values, in the order of their numbers."""
        return [write(key) for key in self.numbers]
