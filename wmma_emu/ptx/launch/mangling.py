# SPDX-License-Identifier: MIT
"""Names of functions as compilers mangle them (Itanium C++ ABI, chapter 5.1), read back: names, types, values."""

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from wmma_emu.ptx.launch.cpp_types import Node, elements, pointer_to, shown
from wmma_emu.ptx.launch.mangled_operators import ARITY, OPERATORS, TYPE_OPERATORS

__all__ = ["Demangled", "demangle"]

_BUILT_IN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double",
    "e": "long double", "g": "__float128", "z": "...", "Dh": "_Float16", "DF16_": "_Float16", "DF16b": "__bf16",
    "DF32_": "_Float32", "DF64_": "_Float64", "Di": "char32_t", "Ds": "char16_t", "Du": "char8_t", "Da": "auto",
    "Dc": "decltype(auto)", "Dn": "std::nullptr_t",
}  # fmt: skip

_STANDARD = {
    "t": "std", "a": "std::allocator", "b": "std::basic_string", "s": "std::string", "i": "std::istream",
    "o": "std::ostream", "d": "std::iostream",
}  # fmt: skip

_QUALIFIERS = {"r": "__restrict__", "V": "volatile", "K": "const"}
_REFERENCES = {"P": "*", "R": "&", "O": "&&"}
_SUFFIXES = {"j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}
"""What C++ writes behind an integer of a type."""

_STATIC = re.compile(r"__nv_static_\d+__.*?(?=_Z)")
"""What nvcc puts before the name of a static kernel that is linked later."""

_DEEPEST = 200
_LARGEST = 1 << 18
"""Nodes of a type: a short name may name its own parts again and again."""


class Demangled(NamedTuple):
    """A function: its name with scopes and template arguments, and the types of its parameters.

    ``parameters`` is None for a name that says nothing of them.
    """

    name: Node
    parameters: tuple[Node, ...] | None

    @property
    def plain_name(self) -> str:
        """The name with its scopes, without template arguments and tags."""
        return "::".join(x for x in _plain(self.name) if not x.startswith("_INTERNAL_"))


def _plain(node: Node) -> list[str]:
    if node.kind == "nested":
        return [y for x in node.parts for y in _plain(x)]
    return _plain(node.parts[0]) if node.kind == "template" else [shown(node).partition("[abi:")[0]]


@cache
def demangle(mangled: str) -> Demangled | None:
    """Read a mangled name; None for what is none (``extern "C"``), or is mangled in a way that this does not read.

    Examples
    --------
    >>> found = demangle("_ZN2my5scaleILi64EfEEvPKT0_P6__halfj")
    >>> shown(found.name), [shown(x) for x in found.parameters], found.plain_name
    ('my::scale<64, float>', ['const float*', '__half*', 'unsigned int'], 'my::scale')
    >>> demangle("scale")
    """
    text = _STATIC.sub("", mangled, count=1)
    if not text.startswith("_Z"):
        return None
    reader = _Reader(text, 2)
    try:
        name, _, parameters = reader.encoding()
    except (_UnreadableError, RecursionError):
        return None
    return Demangled(name, parameters) if reader.at_end() else None


class _UnreadableError(Exception):
    """The text is not mangled as this reader knows it."""


class _Reader:
    """Goes through a mangled name from left to right; every method reads what it is called after."""

    def __init__(self, text: str, place: int) -> None:
        self.text, self.place, self.depth = text, place, 0
        self.known: list[Node] = []  # what S_, S0_, ... mean
        self.arguments: list[Node] = []  # what T_, T0_, ... mean: the template arguments of the function
        self.in_lambda = False

    # What comes next

    def at_end(self) -> bool:
        # Behind a point stands what a compiler added when it copied the function.
        return self.place >= len(self.text) or self.text[self.place] in ".$"

    def sees(self, *starts: str) -> bool:
        return self.text.startswith(starts, self.place)

    def accept(self, start: str) -> bool:
        found = self.sees(start)
        self.place += len(start) * found
        return found

    def take(self, start: str) -> None:
        if not self.accept(start):
            raise _UnreadableError

    def match(self, pattern: str) -> "re.Match[str]":
        found = re.compile(pattern).match(self.text, self.place)
        if found is None:
            raise _UnreadableError
        self.place = found.end()
        return found

    def until(self, end: str, read: "Callable[[], Node]") -> tuple[Node, ...]:
        found = []
        while not self.accept(end):
            found.append(read())
        return tuple(found)

    def keep(self, node: Node) -> Node:
        if node.size > _LARGEST:
            raise _UnreadableError
        self.known.append(node)
        return node

    def counted(self) -> int:
        """Read ``_`` (0), ``0_`` (1), ``Z_`` (36): base 36."""
        digits = self.match("([0-9A-Z]*)_")[1]
        return int(digits, 36) + 1 if digits else 0

    # Names

    def encoding(self, nested: bool = False) -> tuple[Node, Node | None, tuple[Node, ...] | None]:
        """Read a function: its name, the type of its result where the name has it, its parameters."""
        outer = self.arguments, self.in_lambda
        self.arguments, self.in_lambda = [], False
        name = self.name(of_function=True)
        result, parameters = None, None
        if not (self.at_end() or (nested and self.sees("E"))):
            if _last(name).kind == "template" and not _is_conversion(name):
                result = self.type()
            found: list[Node] = []
            while not (self.at_end() or (nested and self.sees("E"))):
                found += self.expanded()
            parameters = () if found == [Node("name", "void")] else tuple(found)
        self.arguments, self.in_lambda = outer
        return name, result, parameters

    def expanded(self) -> tuple[Node, ...]:
        """Read a type; of a pattern that is repeated, ``DpT_``, all that it stands for."""
        node = self.type()
        return node.parts if node.kind == "pack" else (node,)

    def name(self, of_function: bool = False) -> Node:
        if self.accept("N"):
            return self.nested(of_function)
        if self.accept("Z"):
            return self.local(of_function)
        known = self.sees("S") and not self.sees("St")
        node = self.substitution() if known else self.unscoped()
        if self.sees("I"):
            if not known:
                self.keep(node)
            node = self.template(node, of_function)
        return node

    def unscoped(self) -> Node:
        return _joined(Node("name", "std"), self.plain()) if self.accept("St") else self.plain()

    def nested(self, of_function: bool) -> Node:
        qualifiers = self.match("([rVK]*)[RO]?")[1]  # of a member function
        scope: Node | None = None
        while not self.accept("E"):
            is_known = False
            if self.sees("I") and scope is not None:
                scope = self.template(scope, of_function)
            elif self.accept("St"):
                scope, is_known = Node("name", "std"), True
            elif self.sees("S"):
                scope, is_known = self.substitution(), True
            elif self.sees("T"):
                scope = self.parameter()
            elif self.sees("Dt", "DT"):
                scope = self.type()
                is_known = True
            else:
                part = self.plain(scope)
                scope = part if scope is None else _joined(scope, part)
            if not is_known and not self.sees("E"):
                self.keep(scope)
            self.accept("M")  # of a member in whose initialiser a lambda stands
        if scope is None:
            raise _UnreadableError
        return scope if of_function or not qualifiers else _qualified(qualifiers, scope)

    def local(self, of_function: bool) -> Node:
        """Read what a function has inside: a type, a lambda."""
        function = self.function_name()
        if self.accept("s"):
            inner = Node("name", "string literal")
        else:
            if self.accept("d"):
                self.match("[0-9]*_")
            inner = self.name(of_function)
        self.match("(?:_[0-9]|__[0-9]+_)?")
        return _joined(function, inner)

    def function_name(self) -> Node:
        """Read a function inside another name, with its parameters."""
        name, _, parameters = self.encoding(nested=True)
        self.take("E")
        return Node("name", shown(name) + ("" if parameters is None else f"({', '.join(map(shown, parameters))})"))

    def plain(self, scope: Node | None = None) -> Node:
        """Read a name without its scopes, with its tags."""
        self.accept("L")  # of what is static
        self.accept("W")
        if self.sees("Ut"):
            node = Node("name", f"'unnamed{self.match('Ut([0-9]*)_')[1]}'")
        elif self.accept("Ul"):
            node = self.closure()
        elif self.accept("DC"):
            node = Node("name", f"[{', '.join(map(shown, self.until('E', self.plain)))}]")
        elif self.sees("C1", "C2", "C3", "C4", "C5", "CI", "D0", "D1", "D2", "D4", "D5"):
            node = Node("name", ("~" if self.match("CI?[1-5]|D[0-5]")[0][0] == "D" else "") + _base(scope))
        elif self.text[self.place : self.place + 1].isdigit():
            node = Node("name", self.source())
        else:
            node = self.operator()
        while self.accept("B"):
            node = Node(node.kind, f"{node.text}[abi:{self.source()}]", node.parts)
        return node

    def source(self) -> str:
        length = int(self.match("[0-9]{1,6}")[0])
        self.place += length
        if self.place > len(self.text):
            raise _UnreadableError
        name = self.text[self.place - length : self.place]
        return "(anonymous namespace)" if name.startswith("_GLOBAL__N") else name

    def closure(self) -> Node:
        outer, self.in_lambda = self.in_lambda, True
        parameters: list[Node] = []
        while not self.accept("E"):
            parameters += self.expanded()
        self.in_lambda = outer
        taken = "" if parameters == [Node("name", "void")] else ", ".join(map(shown, parameters))
        return Node("name", f"'lambda{self.match('([0-9]*)_')[1]}'({taken})")

    def operator(self) -> Node:
        if self.accept("cv"):
            return Node("name", f"operator {shown(self.type())}")
        if self.accept("li"):
            return Node("name", f'operator ""{self.source()}')
        return Node("name", f"operator{OPERATORS.get(self.match('[a-z][a-zA-Z]')[0], ' ?')}")

    def substitution(self) -> Node:
        self.take("S")
        if self.sees(*_STANDARD):
            return Node("name", _STANDARD[self.match(".")[0]])
        index = self.counted()
        if index >= len(self.known):
            raise _UnreadableError
        return self.known[index]

    def parameter(self) -> Node:
        self.match("TL[0-9]*_|T")
        index = self.counted()
        if self.in_lambda:
            return Node("name", "auto")
        if index < len(self.arguments):
            return self.arguments[index]
        raise _UnreadableError

    def template(self, node: Node, of_function: bool = False) -> Node:
        """Read template arguments; those of the function are what its parameters may name."""
        self.take("I")
        if of_function:
            self.arguments = []
        found: list[Node] = []
        while not self.accept("E"):
            argument = self.argument()
            found.append(argument)
            if of_function:
                self.arguments.append(argument)
        return Node("template", "", (node, *found))

    def argument(self) -> Node:
        if self.accept("J"):
            return Node("pack", "", self.until("E", self.argument))
        if self.accept("X"):
            is_repeated = self.accept("sp")
            node = self.parameter() if self.sees("T") else self.expression()
            node = Node("pack", "", elements(node)) if is_repeated else node
            self.take("E")
            return node
        if self.sees("L"):
            return self.literal()
        return self.type()

    # Types

    def type(self) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _UnreadableError
        node = self.any_type()
        self.depth -= 1
        return node

    def any_type(self) -> Node:
        built_in = self.match("(?:DF[0-9]+[_bx]|D[a-zA-Z]|[a-zA-Z0-9]|)")[0]
        if built_in in _BUILT_IN:
            return Node("name", _BUILT_IN[built_in])
        self.place -= len(built_in)
        if self.sees(*_QUALIFIERS):
            return self.keep(_qualified(self.match("[rVK]+")[0], self.type()))
        if self.sees(*_REFERENCES):
            return self.keep(pointer_to(_REFERENCES[self.match(".")[0]], self.type()))
        if self.accept("F"):
            return self.keep(self.function())
        if self.accept("A"):
            return self.keep(self.array())
        if self.accept("M"):
            return self.keep(Node("member", "", (self.type(), self.type())))
        if self.sees("Dt", "DT"):
            self.place += 2
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
            return self.parameter_type()
        if self.sees("S") and not self.sees("St"):
            node = self.substitution()
            return self.keep(self.template(node)) if self.sees("I") else node
        self.match("(?:T[sue])?")
        return self.keep(self.name())

    def parameter_type(self) -> Node:
        node = self.keep(self.parameter())
        return self.keep(self.template(node)) if self.sees("I") else node

    def function(self) -> Node:
        self.accept("Y")
        found = [self.type()]
        while not self.accept("E"):
            if self.sees("RE", "OE"):
                self.place += 1
                continue
            found += self.expanded()
        return Node("function", "", tuple(found[:1] if found[1:] == [Node("name", "void")] else found))

    def array(self) -> Node:
        size = self.match("[0-9]*")[0] or ("" if self.sees("_") else shown(self.expression()))
        self.take("_")
        return Node("array", size, (self.type(),))

    # Values

    def literal(self) -> Node:
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

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _UnreadableError
        node = Node("name", self.any_expression())
        self.depth -= 1
        return node

    def any_expression(self) -> str:
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
            raise _UnreadableError
        values = tuple(self.expression() for _ in range(ARITY[word]))
        return _applied(word, [shown(x) for x in values])

    def unresolved(self, word: str) -> str:
        """Read a name that depends on template arguments."""
        scopes = []
        if word == "sr":
            if self.accept("N"):
                scopes = [shown(self.scope()), *map(shown, self.until("E", self.simple))]
            elif self.text[self.place : self.place + 1].isdigit():
                scopes = list(map(shown, self.until("E", self.simple)))
            else:
                scopes = [shown(self.scope())]
        elif word == "on":
            scopes = []
            return self.behind(shown(self.operator()))
        self.accept("on")
        return "::".join([*scopes, shown(self.simple())])

    def scope(self) -> Node:
        node = self.type()
        return self.template(node) if self.sees("I") else node

    def simple(self) -> Node:
        node = Node("name", self.source()) if self.text[self.place : self.place + 1].isdigit() else self.operator()
        return self.template(node) if self.sees("I") else node

    def behind(self, name: str) -> str:
        return shown(self.template(Node("name", name))) if self.sees("I") else name


def _applied(word: str, values: list[str]) -> str:
    """Write an operator with its operands."""
    sign = OPERATORS[word]
    if word == "qu":
        return f"({values[0]}) ? ({values[1]}) : ({values[2]})"
    if word == "ix":
        return f"({values[0]})[{values[1]}]"
    return f"{sign}({values[0]})" if len(values) == 1 else f"({values[0]}) {sign} ({values[1]})"


def _joined(scope: Node, name: Node) -> Node:
    return Node("nested", "", (*(scope.parts if scope.kind == "nested" else (scope,)), name))


def _last(node: Node) -> Node:
    return _last(node.parts[-1]) if node.kind == "nested" else node


def _is_conversion(node: Node) -> bool:
    """Say whether a template is a constructor or a conversion, whose mangled names have no type of the result."""
    *scopes, name = map(_base, (x.parts if (x := _last(node).parts[0]).kind == "nested" else (x,)))
    return name.startswith(("operator ", "~")) or name in scopes[-1:]


def _base(node: Node | None) -> str:
    """Name of a class as its constructors have it."""
    if node is None:
        raise _UnreadableError
    last = _last(node)
    return _base(last.parts[0]) if last.kind == "template" else shown(last).rpartition("::")[2]


def _qualified(letters: str, node: Node) -> Node:
    for letter in reversed(letters):
        node = Node("qualified", _QUALIFIERS[letter], (node,))
    return node

