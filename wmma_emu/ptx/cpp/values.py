# SPDX-License-Identifier: MIT
"""Values in a mangled name: template arguments, and what is calculated of them."""

from wmma_emu.ptx.cpp.operators import ARITY, OPERATORS, TYPE_OPERATORS
from wmma_emu.ptx.cpp.text import UnreadableError
from wmma_emu.ptx.cpp.tree import Node, shown
from wmma_emu.ptx.cpp.types import Types

_SUFFIXES = {"j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}
"""What C++ writes behind an integer of a type."""


class Values(Types):
    """Reads values, and so all of a name."""

    def literal(self) -> Node:
        """Read a value that is written down: a number, a function, a variable."""
        self.take("L")
        if self.accept("_Z"):
            return self.function_name()
        letter = self.text[self.place : self.place + 1]
        kind = shown(self.type())
        if self.accept("E"):
            return Node("name", kind)
        value = self.match("(n?)([0-9a-f_]*)E")
        number = ("-" if value[1] else "") + value[2]
        if letter == "b":
            return Node("name", {"0": "false", "1": "true"}.get(number, number))
        return Node("name", number + _SUFFIXES.get(letter, "") if letter in "ijlmxy" else f"({kind}){number}")

    def any_expression(self) -> Node:
        """Read a calculation; no type that a kernel has needs more of it than its text."""
        return Node("name", self.calculated())

    def calculated(self) -> str:
        """Read a calculation as it is written."""
        if self.sees("L"):
            return shown(self.literal())
        if self.sees("T"):
            return shown(self.parameter())
        if self.sees("fp", "fL"):
            return f"parameter{self.match('f(?:L[0-9]+)?p[rVK]*([0-9]*)_')[1]}"
        self.accept("gs")
        word = self.match("sr|on|[a-z][a-zA-Z]|(?=[0-9])")[0]
        if word in TYPE_OPERATORS:
            return f"{TYPE_OPERATORS[word]}({shown(self.type())})"
        if word in ("sr", "on", ""):
            return self.unresolved(word)
        if word == "cv":
            kind = shown(self.type())
            values = self.until("E", self.expression) if self.accept("_") else (self.expression(),)
            return f"({kind})({', '.join(map(shown, values))})"
        if word in ("sc", "dc", "rc", "cc"):
            return f"{OPERATORS[word]}<{shown(self.type())}>({shown(self.expression())})"
        if word in ("cl", "il"):
            first, *rest = [shown(x) for x in self.until("E", self.expression)] or [""]
            return f"{first}({', '.join(rest)})" if word == "cl" else f"{{{', '.join([first, *rest])}}}"
        if word == "tl":
            return f"{shown(self.type())}{{{', '.join(map(shown, self.until('E', self.expression)))}}}"
        if word in ("dt", "pt"):
            return f"{shown(self.expression())}{OPERATORS[word]}{self.unresolved('')}"
        if word == "sZ":
            found = self.parameter() if self.sees("T") else self.expression()
            return str(len(found.parts)) if found.kind == "pack" else f"sizeof...({shown(found)})"
        if word == "sp":
            return f"{shown(self.expression())}..."
        if word not in ARITY:
            raise UnreadableError
        values = tuple(self.expression() for _ in range(ARITY[word]))
        return _applied(word, [shown(x) for x in values])

    def unresolved(self, word: str) -> str:
        """Read a name that depends on template arguments."""
        scopes: list[str] = []
        if word == "sr":
            if self.accept("N"):
                scopes = [shown(self.scope()), *map(shown, self.until("E", self.simple))]
            elif self.text[self.place : self.place + 1].isdigit():
                scopes = list(map(shown, self.until("E", self.simple)))
            else:
                scopes = [shown(self.scope())]
        elif word == "on":
            return self.behind(shown(self.operator()))
        self.accept("on")
        return "::".join([*scopes, shown(self.simple())])

    def scope(self) -> Node:
        """Read the scope of a name that depends on template arguments."""
        node = self.type()
        return self.template(node) if self.sees("I") else node

    def simple(self) -> Node:
        """Read a name without its scopes that depends on template arguments."""
        node = Node("name", self.source()) if self.text[self.place : self.place + 1].isdigit() else self.operator()
        return self.template(node) if self.sees("I") else node

    def behind(self, name: str) -> str:
        """Read the template arguments of an operator, if it has some."""
        return shown(self.template(Node("name", name))) if self.sees("I") else name


def _applied(word: str, values: list[str]) -> str:
    sign = OPERATORS[word]
    if word == "qu":
        return f"({values[0]}) ? ({values[1]}) : ({values[2]})"
    if word == "ix":
        return f"({values[0]})[{values[1]}]"
    return f"{sign}({values[0]})" if len(values) == 1 else f"({values[0]}) {sign} ({values[1]})"
