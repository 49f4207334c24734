# SPDX-License-Identifier: MIT
"""The reader of names in a mangled name: scopes, template arguments, local names and substitutions."""

from wmma_emu.ptx.cpp.operators import OPERATORS
from wmma_emu.ptx.cpp.text import MangledText, UnreadableError
from wmma_emu.ptx.cpp.tree import Node, elements, qualified, shown

_STANDARD = {
    "t": "std", "a": "std::allocator", "b": "std::basic_string", "s": "std::string", "i": "std::istream",
    "o": "std::ostream", "d": "std::iostream",
}  # fmt: skip


class NameReader(MangledText):
    """A reader of names."""

    def encoding(self, nested: bool = False) -> tuple[Node, Node | None, tuple[Node, ...] | None]:
        """Read a function: its name, the type of its result if the name contains it, and its parameters."""
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
        """Read a type; a pack expansion, ``DpT_``, gives the types of all its elements."""
        node = self.type()
        return node.parts if node.kind == "pack" else (node,)

    def name(self, of_function: bool = False) -> Node:
        """Read a name with its scopes."""
        if self.accept("N"):
            return self.nested(of_function)
        if self.accept("Z"):
            return self.local(of_function)
        known = self.sees("S") and not self.sees("St")
        if known:
            node = self.substitution()
        else:
            node = _joined(Node("name", "std"), self.plain()) if self.accept("St") else self.plain()
        if self.sees("I"):
            if not known:
                self.keep(node)
            node = self.template(node, of_function)
        return node

    def nested(self, of_function: bool) -> Node:
        """Read a name with its scopes, ``N..E``."""
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
            self.accept("M")  # a member whose initialiser contains a lambda
        if scope is None:
            raise UnreadableError
        return scope if of_function or not qualifiers else qualified(qualifiers, scope)

    def local(self, of_function: bool) -> Node:
        """Read an entity inside a function: a type or a lambda."""
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
        """Read the name and parameters of a function inside another name."""
        name, _, parameters = self.encoding(nested=True)
        self.take("E")
        return Node("name", shown(name) + ("" if parameters is None else f"({', '.join(map(shown, parameters))})"))

    def plain(self, scope: Node | None = None) -> Node:
        """Read a name without its scopes, with its tags."""
        self.accept("L")  # a name with internal linkage
        self.accept("W")
        if self.sees("Ut"):
            node = Node("name", f"'unnamed{self.match('Ut([0-9]*)_')[1]}'")
        elif self.accept("Ul"):
            node = self.closure()
        elif self.accept("DC"):
            node = Node("name", f"[{', '.join(map(shown, self.until('E', self.plain)))}]")
        elif self.sees("C1", "C2", "C3", "C4", "C5", "CI", "D0", "D1", "D2", "D4", "D5"):
            node = Node("name", ("~" if self.match("CI?[1-5]|D[0-5]")[0][0] == "D" else "") + _base(scope))
        elif self.text[self.position : self.position + 1].isdigit():
            node = Node("name", self.source())
        else:
            node = self.operator()
        while self.accept("B"):
            node = Node(node.kind, f"{node.text}[abi:{self.source()}]", node.parts)
        return node

    def source(self) -> str:
        """Read an identifier of the source, which follows its length."""
        length = int(self.match("[0-9]{1,6}")[0])
        self.position += length
        if self.position > len(self.text):
            raise UnreadableError
        name = self.text[self.position - length : self.position]
        return "(anonymous namespace)" if name.startswith("_GLOBAL__N") else name

    def closure(self) -> Node:
        """Read the type of a lambda: its parameters and its number."""
        outer, self.in_lambda = self.in_lambda, True
        parameters: list[Node] = []
        while not self.accept("E"):
            parameters += self.expanded()
        self.in_lambda = outer
        taken = "" if parameters == [Node("name", "void")] else ", ".join(map(shown, parameters))
        return Node("name", f"'lambda{self.match('([0-9]*)_')[1]}'({taken})")

    def operator(self) -> Node:
        """Read the name of an operator."""
        if self.accept("cv"):
            return Node("name", f"operator {shown(self.type())}")
        if self.accept("li"):
            return Node("name", f'operator ""{self.source()}')
        return Node("name", f"operator{OPERATORS.get(self.match('[a-z][a-zA-Z]')[0], ' ?')}")

    def substitution(self) -> Node:
        """Read a substitution: ``S_`` or ``S0_`` for an earlier component, ``Sa`` for a class of std."""
        self.take("S")
        if self.sees(*_STANDARD):
            return Node("name", _STANDARD[self.match(".")[0]])
        index = self.counted()
        if index >= len(self.known):
            raise UnreadableError
        return self.known[index]

    def parameter(self) -> Node:
        """Read ``T_``, ``T0_``: a template argument of the function."""
        self.match("TL[0-9]*_|T")
        index = self.counted()
        if self.in_lambda:
            return Node("name", "auto")
        if index < len(self.arguments):
            return self.arguments[index]
        raise UnreadableError

    def template(self, node: Node, of_function: bool = False) -> Node:
        """Read template arguments; parameter types of a function may refer to the function's own arguments."""
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
        """Read a template argument: a type, a value, or a pack of arguments."""
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


def _joined(scope: Node, name: Node) -> Node:
    return Node("nested", "", (*(scope.parts if scope.kind == "nested" else (scope,)), name))


def _last(node: Node) -> Node:
    return _last(node.parts[-1]) if node.kind == "nested" else node


def _is_conversion(node: Node) -> bool:
    """Return whether a template is a constructor or a conversion, whose mangled name does not contain a result type."""
    *scopes, name = map(_base, (x.parts if (x := _last(node).parts[0]).kind == "nested" else (x,)))
    return name.startswith(("operator ", "~")) or name in scopes[-1:]


def _base(node: Node | None) -> str:
    if node is None:
        raise UnreadableError
    last = _last(node)
    return _base(last.parts[0]) if last.kind == "template" else shown(last).rpartition("::")[2]
