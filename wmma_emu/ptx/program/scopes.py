# SPDX-License-Identifier: MIT
"""The meaning of names in nested scopes, including registers declared by number, ``%r<5>``."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from wmma_emu.ptx.program.jumps import BranchTable
from wmma_emu.ptx.program.program import Operand
from wmma_emu.ptx.syntax.tree import VariableText

_DIGITS = "0123456789"

_MOST_DIGITS = 19
"""The digits of the largest number of registers that a declaration may contain."""


class Declaration(NamedTuple):
    """A name and its declaration; ``name`` is the name of one register if ``text`` declares several."""

    name: str
    text: VariableText


@dataclass(slots=True)
class _Scope:
    """The declarations of one scope; ``lowest`` is the lowest number of a declared name after each possible prefix."""

    variables: list[str] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    lowest: dict[str, int] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    tables: dict[str, BranchTable] = field(default_factory=dict)


@dataclass(slots=True)
class ScopeStack:
    """The scopes of a function at the statement that is being read.

    The time of a look-up depends neither on the depth of the scopes nor on the size of register ranges. ``resolved``
    caches the operands of names; it is emptied when they may change.
    """

    resolved: dict[str, Operand] = field(default_factory=dict)
    _scopes: list[_Scope] = field(default_factory=lambda: [_Scope()])
    _variables: dict[str, list[tuple[int, Declaration]]] = field(default_factory=dict)
    _ranges: dict[str, list[tuple[int, VariableText]]] = field(default_factory=dict)
    _any_prefix_ends_in_a_digit: bool = False

    @property
    def labels(self) -> dict[str, int]:
        """The labels of the innermost scope, with the index of the instruction after each."""
        return self._scopes[-1].labels

    def enter(self) -> None:
        """Enter a scope."""
        self._scopes.append(_Scope())

    def leave(self) -> None:
        """Leave the innermost scope and remove its declarations."""
        scope = self._scopes.pop()
        for name in scope.variables:
            self._variables[name].pop()
        for name in scope.ranges:
            self._ranges[name].pop()
        if scope.variables or scope.ranges:
            self.resolved.clear()

    def declare(self, variable: VariableText) -> str | None:
        """Declare a variable or a range of registers; returns a name that was declared before, None if all is well."""
        self.resolved.clear()
        name, scope, depth = variable.name, self._scopes[-1], len(self._scopes)
        if variable.count is None:
            if self.is_taken(name):
                return name
            self._variables.setdefault(name, []).append((depth, Declaration(name, variable)))
            scope.variables.append(name)
            self._note(name)
            return None
        if variable.count == 0:
            return None
        first = f"{name}0"
        if self.is_taken(first):
            return first
        if scope.lowest.get(name, variable.count) < variable.count:
            return f"{name}{scope.lowest[name]}"
        self._ranges.setdefault(name, []).append((depth, variable))
        self._any_prefix_ends_in_a_digit |= name[-1] in _DIGITS
        scope.ranges.append(name)
        self._note(first)
        return None

    def _note(self, name: str) -> None:
        """Record the register ranges that would declare this name again."""
        lowest = self._scopes[-1].lowest
        for prefix, number in _splits(name):
            lowest[prefix] = min(number, lowest.get(prefix, number))

    def declare_table(self, label: str, table: BranchTable) -> None:
        """Declare a list of labels."""
        self._scopes[-1].tables[label] = table

    def is_taken(self, name: str) -> bool:
        """Return whether the innermost scope declares a name, of any kind."""
        scope = self._scopes[-1]
        if name in scope.labels or name in scope.tables:
            return True
        found = self._deepest(name)
        return found is not None and found[0] == len(self._scopes)

    def lookup(self, name: str) -> Declaration | None:
        """Return the innermost declaration of a name."""
        found = self._deepest(name)
        return found[1] if found is not None else None

    def _deepest(self, name: str) -> tuple[int, Declaration] | None:
        declared = self._variables.get(name)
        best = declared[-1] if declared else None
        for prefix, number in _splits(name) if self._any_prefix_ends_in_a_digit else _last_split(name):
            for depth, text in reversed(self._ranges.get(prefix, ())):
                if text.count is not None and number < text.count:
                    if best is None or depth > best[0]:
                        best = depth, Declaration(name, text)
                    break
        return best

    def table(self, name: str) -> BranchTable | None:
        """Return the list of labels that a name refers to in this or an enclosing scope."""
        for scope in reversed(self._scopes):
            if name in scope.tables:
                return scope.tables[name]
        return None

    def has_label(self, name: str) -> bool:
        """Return whether this or an enclosing scope has a label of that name."""
        return any(name in x.labels or name in x.tables for x in self._scopes)


def _splits(name: str) -> Iterator[tuple[str, int]]:
    """Yield the splits of a name into a prefix and a number: ``%r12`` is ``%r``, 12 and ``%r1``, 2."""
    end = len(name)
    for start in range(max(1, end - _MOST_DIGITS, len(name.rstrip(_DIGITS))), end):
        if name[start] != "0" or start == end - 1:
            yield name[:start], int(name[start:])


def _last_split(name: str) -> tuple[tuple[str, int], ...]:
    """Return the split with all digits in the number, the only one unless a declared prefix ends in a digit."""
    prefix = name.rstrip(_DIGITS)
    digits = name[len(prefix) :]
    if not prefix or not 0 < len(digits) <= _MOST_DIGITS or (digits[0] == "0" and digits != "0"):
        return ()
    return ((prefix, int(digits)),)
