# SPDX-License-Identifier: MIT
"""Types in a mangled name."""

from wmma_emu.ptx.cpp.names import Names
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


class Types(Names):
    """Reads types."""

    def any_type(self) -> Node:
        """Read a type of whichever kind."""
        built_in = self.match("(?:DF[0-9]+[_bx]|D[a-zA-Z]|[a-zA-Z0-9]|)")[0]
        if built_in in _BUILT_IN:
            return Node("name", _BUILT_IN[built_in])
        self.place -= len(built_in)
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
            node = self.keep(self.parameter())  # which may be a template with arguments of its own
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
                self.place += 1
                continue
            found += self.expanded()
        return Node("function", "", tuple(found[:1] if found[1:] == [Node("name", "void")] else found))

    def array(self) -> Node:
        """Read the type of an array."""
        size = self.match("[0-9]*")[0] or ("" if self.sees("_") else shown(self.expression()))
        self.take("_")
        return Node("array", size, (self.type(),))
