# SPDX-License-Identifier: MIT
"""The reader of types and values in a mangled name, including template arguments and expressions."""

from wmma_emu.ptx.cpp.names import NameReader
from wmma_emu.ptx.cpp.operators import ARITY, OPERATORS, TYPE_OPERATORS
from wmma_emu.ptx.cpp.text import UnreadableError
from wmma_emu.ptx.cpp.tree import Node, elements, pointer_to, qualified, shown

_BUILT_IN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double",
    "e": "long double", "g": "__float128", "z": "...", "Dh": "_Float16", "DF16_": "_Float16", "DF16b": "__bf16",
    "DF32_": "_Float32", "DF64_": "_Float64", "Di": "char32_t", "Ds": "char16_t", "Du": "char8_t", "Da": "auto",
    "Dc": "decltype(auto)", "Dn": "std::nullptr_t",
}  # fmt: skip

_REFERENCES = {"P": "*", "R": "&", "O": "&&"}

_SUFFIXES = {"j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}
"""The suffix of an integer literal of each type."""


class MangledNameReader(NameReader):
    """A reader of whole mangled names: types and values, in addition to names."""

    def any_type(self) -> Node:
        """Read a type of any kind."""
        built_in = self.match("(?:DF[0-9]+[_bx]|D[a-zA-Z]|[a-zA-Z0-9]|)")[0]
        if built_in in _BUILT_IN:
            return Node("name", _BUILT_IN[built_in])
        self.position -= len(built_in)
        if self.sees("r", "V", "K"):
            return self.keep(qualified(self.match("[rVK]+")[0], self.type()))
        if self.sees(*_REFERENCES):
            return self.keep(pointer_to(_REFERENCES[self.match(".")[0]], self.type()))
        if self.accept("F"):
            return self.keep(self.function())
        if self.accept("A"):
            return self.keep(self.array())
        if self.accept("M"):
            return self.keep(Node("member", "", (self.type(), self.type())))
        if self.sees("Dt", "DT"):
            self.position += 2
            node = Node("name", f"decltype({shown(self.expression())})")
            self.take("E")
            return self.keep(node)
        if self.accept("Dv"):
            size = self.match("([0-9]+)_")[1]
            return self.keep(Node("name", f"{shown(self.type())} __attribute__((vector_size({size})))"))
        if self.accept("Dp"):
            return self.keep(Node("pack", "", elements(self.type())))
        if self.accept("u"):
            return self.keep(Node("name", self.source()))
        if self.sees("T") and not self.sees("Ts", "Tu", "Te"):
            node = self.keep(self.parameter())  # may itself be a template with arguments
            return self.keep(self.template(node)) if self.sees("I") else node
        if self.sees("S") and not self.sees("St"):
            node = self.substitution()
            return self.keep(self.template(node)) if self.sees("I") else node
        self.match("(?:T[sue])?")
        return self.keep(self.name())

    def function(self) -> Node:
        """Read the type of a function."""
        self.accept("Y")
        found = [self.type()]
        while not self.accept("E"):
            if self.sees("RE", "OE"):
                self.position += 1
                continue
            found += self.expanded()
        return Node("function", "", tuple(found[:1] if found[1:] == [Node("name", "void")] else found))

    def array(self) -> Node:
        """Read the type of an array."""
        size = self.match("[0-9]*")[0] or ("" if self.sees("_") else shown(self.expression()))
        self.take("_")
        return Node("array", size, (self.type(),))

    def literal(self) -> Node:
        """Read a literal value: a number, a function or a variable."""
        self.take("L")
        if self.accept("_Z"):
            return self.function_name()
        letter = self.text[self.position : self.position + 1]
        kind = shown(self.type())
        if self.accept("E"):
            return Node("name", kind)
        value = self.match("(n?)([0-9a-f_]*)E")
        number = ("-" if value[1] else "") + value[2]
        if letter == "b":
            return Node("name", {"0": "false", "1": "true"}.get(number, number))
        return Node("name", number + _SUFFIXES.get(letter, "") if letter in "ijlmxy" else f"({kind}){number}")

    def calculated(self) -> str:
        """Read an expression and return it as C++ writes it; the types of kernels need only its text."""
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
        first, *more = [shown(self.expression()) for _ in range(ARITY[word])]
        if word == "qu":
            return f"({first}) ? ({more[0]}) : ({more[1]})"
        if word == "ix":
            return f"({first})[{more[0]}]"
        return f"({first}) {OPERATORS[word]} ({more[0]})" if more else f"{OPERATORS[word]}({first})"

    def unresolved(self, word: str) -> str:
        """Read a name that depends on template arguments."""
        scopes: list[str] = []
        if word == "sr":
            if self.accept("N"):
                scopes = [shown(self.scope()), *map(shown, self.until("E", self.simple))]
            elif self.text[self.position : self.position + 1].isdigit():
                scopes = list(map(shown, self.until("E", self.simple)))
            else:
                scopes = [shown(self.scope())]
        elif word == "on":
            return self.with_template_arguments(shown(self.operator()))
        self.accept("on")
        return "::".join([*scopes, shown(self.simple())])

    def scope(self) -> Node:
        """Read the scope of a name that depends on template arguments."""
        node = self.type()
        return self.template(node) if self.sees("I") else node

    def simple(self) -> Node:
        """Read a name without its scopes that depends on template arguments."""
        node = (
            Node("name", self.source()) if self.text[self.position : self.position + 1].isdigit() else self.operator()
        )
        return self.template(node) if self.sees("I") else node

    def with_template_arguments(self, name: str) -> str:
        """Read the optional template arguments of an operator, and append them to its name."""
        return shown(self.template(Node("name", name))) if self.sees("I") else name
