# SPDX-License-Identifier: MIT
"""Which variable a name means: scopes within each other, and registers declared by number, ``%r<5>``."""

from collections.abc import Iterator
from typing import NamedTuple

from wmma_emu.ptx.program.program import Operand
from wmma_emu.ptx.syntax.tree import VariableText

__all__ = ["Declared", "NamesInScope"]

_MOST_DIGITS = 19
"""Digits of the largest number of registers that a text can declare."""


class Declared(NamedTuple):
    """A name and its declaration; ``name`` is the register's own where ``text`` declares several."""

    name: str
    text: VariableText


class NamesInScope:
    """Names that one pair of braces declares.

    Attributes
    ----------
    found : dict
        What names were found to mean, here or outside; emptied by every declaration.
    labels : dict of str to int
        Indices of instructions.
    tables : dict
        Lists of labels, by their own label.
    """

    __slots__ = ("_lowest", "_ranges", "_variables", "found", "labels", "outer", "tables")

    def __init__(self, outer: "NamesInScope | None" = None) -> None:
        self.outer = outer
        self.found: dict[str, Operand] = {}
        self.labels: dict[str, int] = {}
        self.tables: dict[str, tuple[str, ...]] = {}
        self._variables: dict[str, Declared] = {}
        self._ranges: dict[str, VariableText] = {}
        self._lowest: dict[str, int] = {}

    def declare(self, variable: VariableText) -> str | None:
        """Declare a variable or a range of registers; returns a name that was declared before, None if all is well.

        Ranges cost the same however many registers they have.
        """
        self.found.clear()
        name = variable.name
        if variable.count is None:
            if self.here(name) or name in self.labels or name in self.tables:
                return name
            self._variables[name] = Declared(name, variable)
            self._note(name)
            return None
        if variable.count == 0:
            return None
        first = f"{name}0"
        if name in self._ranges or self.here(first):
            return first
        if self._lowest.get(name, variable.count) < variable.count:
            return f"{name}{self._lowest[name]}"
        self._ranges[name] = variable
        self._note(first)
        return None

    def _note(self, name: str) -> None:
        """Remember which ranges, declared later, would declare this name again."""
        for prefix, number in _splits(name):
            self._lowest[prefix] = min(number, self._lowest.get(prefix, number))

    def here(self, name: str) -> Declared | None:
        """What this scope itself declares by that name."""
        declared = self._variables.get(name)
        if declared is not None or not self._ranges:
            return declared
        for prefix, number in _splits(name):
            text = self._ranges.get(prefix)
            if text is not None and text.count is not None and number < text.count:
                return Declared(name, text)
        return None

    def lookup(self, name: str) -> Declared | None:
        """What the name means here: the innermost declaration."""
        scope: NamesInScope | None = self
        while scope is not None:
            declared = scope.here(name)
            if declared is not None:
                return declared
            scope = scope.outer
        return None

    def table(self, name: str) -> tuple[str, ...] | None:
        """The list of labels that a label outside or here stands for."""
        scope: NamesInScope | None = self
        while scope is not None:
            if name in scope.tables:
                return scope.tables[name]
            scope = scope.outer
        return None

    def has_label(self, name: str) -> bool:
        """Whether a label of that name was read here or outside."""
        scope: NamesInScope | None = self
        while scope is not None:
            if name in scope.labels or name in scope.tables:
                return True
            scope = scope.outer
        return False


def _splits(name: str) -> Iterator[tuple[str, int]]:
    """All ways to take a name for a prefix and a number, as ``%r12`` for ``%r1``, 2 and ``%r``, 12."""
    end = len(name)
    start = end
    while start > 1 and end - start < _MOST_DIGITS and name[start - 1].isdigit():
        start -= 1
        if name[start] != "0" or start == end - 1:
            yield name[:start], int(name[start:])
