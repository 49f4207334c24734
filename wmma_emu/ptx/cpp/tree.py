# SPDX-License-Identifier: MIT
"""C++ types and names as trees, and their notation."""

from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Node:
    """A type, a name or a template argument.

    ``kind`` determines the meaning of ``text`` and ``parts``:

    | kind | text | parts |
    |---|---|---|
    | name | a type that is built in, a class, a function, a value | |
    | nested | | the scopes and the name |
    | template | | the template and its arguments |
    | pointer | ``*``, ``&``, ``&&`` | the type that it points to |
    | qualified | ``const``, ``volatile``, ``__restrict__`` | the type |
    | array | the number of elements | the type of the elements |
    | function | | the type of the result, and the parameters |
    | member | | the class, and the type of its member |
    | pack | | types or values, to be expanded |

    ``size`` is the number of nodes and letters.
    """

    kind: str
    text: str = ""
    parts: "tuple[Node, ...]" = ()
    size: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", 1 + len(self.text) + sum(x.size for x in self.parts))


def shown(node: Node, declared: str = "") -> str:
    """Write a type in C++ notation, with the declared name in its usual position.

    Examples
    --------
    >>> half = Node("qualified", "const", (Node("name", "half"),))
    >>> pointer = Node("pointer", "*", (half,))
    >>> shown(pointer), shown(pointer, " A"), shown(Node("qualified", "const", (pointer,)))
    ('const half*', 'const half* A', 'const half* const')
    >>> shown(Node("pointer", "*", (Node("array", "4", (Node("name", "int"),)),)))
    'int (*)[4]'
    """
    parts = node.parts
    match node.kind:
        case "name":
            return node.text + declared
        case "nested":
            return "::".join(shown(x) for x in parts) + declared
        case "template":
            return f"{shown(parts[0])}<{_listed(parts[1:])}>{declared}"
        case "pack":
            return _listed(parts) + declared
        case "pointer":
            is_wrapped = unqualified(parts[0]).kind in ("array", "function")
            return shown(parts[0], f"({node.text}{declared})" if is_wrapped else node.text + declared)
        case "qualified":
            if unqualified(parts[0]).kind in ("pointer", "member"):
                return shown(parts[0], f" {node.text}{declared}")
            return f"{node.text} {shown(parts[0], declared)}"
        case "array":
            return shown(parts[0], f"{' ' * bool(declared)}{declared.lstrip()}[{node.text}]")
        case "function":
            return shown(parts[0], f" {declared.lstrip()}({_listed(parts[1:])})")
        case _:  # a pointer to a member
            head = f"({shown(parts[0])}::*{declared})"
            return shown(parts[1], head if parts[1].kind == "function" else f" {shown(parts[0])}::*{declared}")


def _listed(nodes: tuple[Node, ...]) -> str:
    return ", ".join(x for node in nodes if (x := shown(node)))


def scopes_of(name: Node) -> list[Node]:
    """Return the parts of a name, the outermost scope first."""
    return [y for x in name.parts for y in scopes_of(x)] if name.kind == "nested" else [name]


def unqualified(node: Node) -> Node:
    """Return a type without ``const`` and ``volatile``."""
    while node.kind == "qualified":
        node = node.parts[0]
    return node


def elements(pattern: Node) -> tuple[Node, ...]:
    """Expand a pattern, ``T*...``, by the pack in it; a pattern without a pack is its only element.

    Examples
    --------
    >>> pack = Node("pack", parts=(Node("name", "float"), Node("name", "int")))
    >>> [shown(x) for x in elements(Node("pointer", "*", (pack,)))]
    ['float*', 'int*']
    """
    count = _count(pattern)
    if count is None:
        return (pattern,)
    return tuple(_element(pattern, i) for i in range(count))


def _count(node: Node) -> int | None:
    """Return the number of elements of the packs in a pattern; None without a pack, or if the numbers differ."""
    if node.kind == "pack":
        return len(node.parts)
    found = [x for part in node.parts if (x := _count(part)) is not None]
    return found[0] if found and all(a == b for a, b in pairwise(found)) else None


def _element(node: Node, index: int) -> Node:
    if node.kind == "pack":
        return node.parts[index] if index < len(node.parts) else node
    parts = tuple(_element(x, index) for x in node.parts)
    return pointer_to(node.text, parts[0]) if node.kind == "pointer" else Node(node.kind, node.text, parts)


def pointer_to(sign: str, node: Node) -> Node:
    """Return a pointer or reference to a type; references to references collapse as in C++.

    Examples
    --------
    >>> reference = pointer_to("&", Node("name", "int"))
    >>> shown(pointer_to("&&", reference)), shown(pointer_to("*", Node("name", "int")))
    ('int&', 'int*')
    """
    if sign != "*" and node.kind == "pointer" and node.text != "*":
        return node if sign == "&&" else Node("pointer", "&", node.parts)
    return Node("pointer", sign, (node,))


_QUALIFIERS = {"r": "__restrict__", "V": "volatile", "K": "const"}


def qualified(letters: str, node: Node) -> Node:
    """Qualify a type by the letters of the mangled name, ``VK``.

    Examples
    --------
    >>> shown(qualified("VK", Node("name", "int")))
    'volatile const int'
    """
    for letter in reversed(letters):
        node = Node("qualified", _QUALIFIERS[letter], (node,))
    return node
