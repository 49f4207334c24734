# SPDX-License-Identifier: MIT
"""A mangled name as a text that is read from left to right, and what has been read of it."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from wmma_emu.ptx.cpp.tree import Node

_LARGEST = 1 << 20
"""Nodes and letters of a type: a short name may name its own parts again and again."""

_DEEPEST = 200

_Read = TypeVar("_Read")


class UnreadableError(Exception):
    """The text is not mangled as this reader knows it."""


class MangledText(ABC):
    """Goes through a mangled name; every method reads what it is called after."""

    def __init__(self, text: str) -> None:
        self.text, self.position, self.depth = text, len("_Z"), 0
        self.known: list[Node] = []  # what S_, S0_, ... mean
        self.arguments: list[Node] = []  # what T_, T0_, ... mean: the template arguments of the function
        self.in_lambda = False

    # Names, types and values have each other in them; names have a file of their own.

    @abstractmethod
    def any_type(self) -> Node:
        """Read a type of whichever kind."""

    @abstractmethod
    def calculated(self) -> str:
        """Read a calculation as it is written."""

    @abstractmethod
    def literal(self) -> Node:
        """Read a value that is written down."""

    def type(self) -> Node:
        """Read a type."""
        return self._deeper(self.any_type)

    def expression(self) -> Node:
        """Read a value that is calculated."""
        return Node("name", self._deeper(self.calculated))

    def _deeper(self, read: Callable[[], _Read]) -> _Read:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise UnreadableError
        found = read()
        self.depth -= 1
        return found

    def at_end(self) -> bool:
        """Say whether all is read."""
        # Behind a point stands what a compiler added when it copied the function.
        return self.position >= len(self.text) or self.text[self.position] in ".$"

    def sees(self, *starts: str) -> bool:
        """Say whether one of some texts comes next."""
        return self.text.startswith(starts, self.position)

    def accept(self, start: str) -> bool:
        """Read a text if it comes next."""
        found = self.sees(start)
        self.position += len(start) * found
        return found

    def take(self, start: str) -> None:
        """Read a text, which has to come next."""
        if not self.accept(start):
            raise UnreadableError

    def match(self, pattern: str) -> re.Match[str]:
        """Read what a pattern matches, which has to come next."""
        found = re.compile(pattern).match(self.text, self.position)
        if found is None:
            raise UnreadableError
        self.position = found.end()
        return found

    def until(self, end: str, read: Callable[[], Node]) -> tuple[Node, ...]:
        """Read one thing after another up to a text."""
        found = []
        while not self.accept(end):
            found.append(read())
        return tuple(found)

    def keep(self, node: Node) -> Node:
        """Note what a later ``S_`` may mean."""
        if node.size > _LARGEST:
            raise UnreadableError
        self.known.append(node)
        return node

    def counted(self) -> int:
        """Read ``_`` (0), ``0_`` (1), ``Z_`` (36): base 36."""
        digits = self.match("([0-9A-Z]*)_")[1]
        return int(digits, 36) + 1 if digits else 0
