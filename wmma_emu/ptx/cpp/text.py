# SPDX-License-Identifier: MIT
"""The cursor over a mangled name, with the components that were read."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from wmma_emu.ptx.cpp.tree import Node

_LARGEST = 1 << 20
"""The most nodes and letters of a type: a short name may refer to its own parts many times."""

_DEEPEST = 200

_Read = TypeVar("_Read")


class UnreadableError(Exception):
    """The mangled name cannot be read."""


class MangledText(ABC):
    """A cursor over a mangled name; each method reads the component that it is named after."""

    def __init__(self, text: str) -> None:
        self.text, self.position, self.depth = text, len("_Z"), 0
        self.known: list[Node] = []  # the components that S_, S0_, ... refer to
        self.arguments: list[Node] = []  # the function's template arguments, to which T_, T0_, ... refer
        self.in_lambda = False

    # Names, types and values contain each other; they are read in `names` and `types_and_values`.

    @abstractmethod
    def any_type(self) -> Node:
        """Read a type of any kind."""

    @abstractmethod
    def calculated(self) -> str:
        """Read an expression and return it as C++ writes it."""

    @abstractmethod
    def literal(self) -> Node:
        """Read a literal value."""

    def type(self) -> Node:
        """Read a type."""
        return self._deeper(self.any_type)

    def expression(self) -> Node:
        """Read an expression."""
        return Node("name", self._deeper(self.calculated))

    def _deeper(self, read: Callable[[], _Read]) -> _Read:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise UnreadableError
        found = read()
        self.depth -= 1
        return found

    def at_end(self) -> bool:
        """Return whether the whole name has been read."""
        # A suffix after '.' or '$' is added by a compiler when it clones the function.
        return self.position >= len(self.text) or self.text[self.position] in ".$"

    def sees(self, *starts: str) -> bool:
        """Return whether one of the given strings comes next."""
        return self.text.startswith(starts, self.position)

    def accept(self, start: str) -> bool:
        """Read the given string if it comes next; return whether it did."""
        found = self.sees(start)
        self.position += len(start) * found
        return found

    def take(self, start: str) -> None:
        """Read the given string, which has to come next."""
        if not self.accept(start):
            raise UnreadableError

    def match(self, pattern: str) -> re.Match[str]:
        """Read a match of a pattern, which has to come next."""
        found = re.compile(pattern).match(self.text, self.position)
        if found is None:
            raise UnreadableError
        self.position = found.end()
        return found

    def until(self, end: str, read: Callable[[], Node]) -> tuple[Node, ...]:
        """Read nodes up to the given string."""
        found = []
        while not self.accept(end):
            found.append(read())
        return tuple(found)

    def keep(self, node: Node) -> Node:
        """Add a component to which a later ``S_`` may refer."""
        if node.size > _LARGEST:
            raise UnreadableError
        self.known.append(node)
        return node

    def counted(self) -> int:
        """Read a sequence number in base 36: ``_`` (0), ``0_`` (1), ``Z_`` (36)."""
        digits = self.match("([0-9A-Z]*)_")[1]
        return int(digits, 36) + 1 if digits else 0
