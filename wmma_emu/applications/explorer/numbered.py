# SPDX-License-Identifier: MIT
"""Distinct things, each written once and then named by its number."""

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)


class Numbered(Generic[_Key]):
    """Numbers distinct things in the order in which they are met.

    Examples
    --------
    >>> number = Numbered()
    >>> [number(x) for x in ("row", "col", "row")], number.rows()
    ([0, 1, 0], ['row', 'col'])
    """

    def __init__(self) -> None:
        self.numbers: dict[_Key, int] = {}
        self._seen: dict[int, tuple[_Key, int]] = {}  # layouts take their time to compare; the key keeps its id taken

    def __call__(self, key: _Key) -> int:
        """Return the number of a thing, a new one where it has none yet."""
        if id(key) not in self._seen:
            self._seen[id(key)] = (key, self.numbers.setdefault(key, len(self.numbers)))
        return self._seen[id(key)][1]

    def rows(self, write: Callable[[_Key], Any] = lambda key: key) -> list[Any]:
        """Write all things, by their numbers."""
        return [write(key) for key in self.numbers]
