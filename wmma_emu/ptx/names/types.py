# SPDX-License-Identifier: MIT
"""Types of variables as memory has them: which element, or member, some bytes are; and variables of such types."""

from dataclasses import dataclass
from typing import NamedTuple


class Member(NamedTuple):
    """A member of a class or union; one without a name is a class whose members belong to the one around it."""

    name: str
    offset: int
    type: "Type"

    @property
    def is_shown(self) -> bool:
        """Whether a person names it: names with ``__`` are the library's own (``__half.__x``)."""
        return bool(self.name) and not self.name.startswith("__")

    def holds(self, offset: int, size: int) -> bool:
        """Whether some bytes of the class are all in this member."""
        return self.offset <= offset and offset + size <= self.offset + self.type.bytes

    def meets(self, offset: int, size: int) -> bool:
        """Whether one of some bytes of the class is in this member."""
        return self.offset < offset + size and offset < self.offset + self.type.bytes


@dataclass(frozen=True, slots=True)
class Type:
    """A type: an array has an ``element`` and ``count`` of them (0: not known), a class ``members``."""

    name: str
    bytes: int
    element: "Type | None" = None
    count: int = 0
    members: tuple[Member, ...] = ()

    def array(self, *sizes: int) -> "Type":
        """An array of such elements.

        Examples
        --------
        >>> Type("__half", 2).array(2, 32).name
        '__half [2][32]'
        """
        found = self
        for i in reversed(range(len(sizes))):
            dimensions = "".join(f"[{n or ''}]" for n in sizes[i:])
            found = Type(f"{self.name} {dimensions}", sizes[i] * found.bytes, found, sizes[i])
        return found


def shape_of(kind: Type) -> tuple[tuple[int, ...], Type]:
    """Return the sizes of an array, and the type of its elements.

    Examples
    --------
    >>> shape_of(Type("float", 4).array(2, 3))
    ((2, 3), Type(name='float', bytes=4, element=None, count=0, members=()))
    """
    sizes: list[int] = []
    while kind.element is not None:
        sizes.append(kind.count)
        kind = kind.element
    return tuple(sizes), kind


class _ElementPath(NamedTuple):
    """What some bytes are: ``text`` behind the variable's name, ``rest`` how far they begin behind that.

    ``is_split`` if they are parts of several members or rows, and ``kind`` is the type of what the text names.
    """

    text: str
    rest: int
    kind: Type
    is_split: bool = False


def part(name: str, kind: Type, offset: int, size: int) -> str:
    """Write which part of a variable some bytes are.

    Examples
    --------
    >>> kind = Type("float", 4).array(2, 8)
    >>> part("s", kind, 36, 4), part("s", kind, 32, 16), part("s", kind, 37, 1), part("s", kind, 28, 8)
    ('s[1][1]', 's[1][0..3]', 's[1][1] + 1 byte', 's[0][7] to s[1][0]')
    """
    size = max(size, 1)
    place = _element_path(kind, offset, size)
    if place.is_split:
        first, last = (_joined(name, _element_path(kind, x, 1).text) for x in (offset, offset + size - 1))
        return first if first == last else f"{first} to {last}"
    text = _joined(name, place.text) or kind.name
    if not place.rest:
        return text
    unit = "byte" if abs(place.rest) == 1 else "bytes"
    return f"{text} {'+' if place.rest > 0 else '-'} {abs(place.rest)} {unit}"


def _joined(name: str, text: str) -> str:
    return name + text if name else text.removeprefix(".")


def _element_path(kind: Type, offset: int, size: int) -> _ElementPath:
    """Go down into arrays and classes as long as one element, or one member, has all the bytes."""
    text, is_named = "", True
    while True:
        if kind.element is not None and kind.element.bytes > 0:
            step = kind.element.bytes
            index, inner = divmod(offset, step)
            if inner + size > step:
                count, more = divmod(size, step)
                if inner or more or kind.element.element is not None:
                    return _ElementPath(text, offset, kind, is_split=True)
                return _ElementPath(f"{text}[{index}..{index + count - 1}]", 0, kind)
            text, kind, offset, is_named = f"{text}[{index}]", kind.element, inner, True
        elif kind.members and 0 <= offset < kind.bytes:
            if is_named and size == kind.bytes and sum(x.holds(offset, size) for x in kind.members) > 1:
                return _ElementPath(text, offset, kind)  # a union, and nobody knows as which member
            member = _member(kind, offset, size)
            if member is None:
                is_whole = offset == 0 and size >= kind.bytes
                is_padding = not any(x.meets(offset, size) for x in kind.members)
                return _ElementPath(text, offset, kind, is_split=not is_whole and not is_padding)
            text += f".{member.name}" if member.is_shown else ""
            kind, offset, is_named = member.type, offset - member.offset, member.is_shown
        else:
            return _ElementPath(text, offset, kind)


def _member(kind: Type, offset: int, size: int) -> Member | None:
    """Find the member that has all the bytes; of a union the first one that has them as one element."""
    found = [x for x in kind.members if x.holds(offset, size)]
    if len(found) < 2:
        return found[0] if found else None
    return next((x for x in found if _is_one(x.type, offset - x.offset, size)), found[0])


def _is_one(kind: Type, offset: int, size: int) -> bool:
    """Whether some bytes are one number; of unions in unions the first member is looked at."""
    while offset >= 0:
        if kind.element is not None and kind.element.bytes > 0:
            offset %= kind.element.bytes
            kind = kind.element
        elif kind.members:
            member = next((x for x in kind.members if x.holds(offset, size)), None)
            if member is None:
                return False
            kind, offset = member.type, offset - member.offset
        else:
            return offset == 0 and size == kind.bytes
    return False


@dataclass(frozen=True)
class Variable:
    """A variable: its name, and its type where that is known.

    Attributes
    ----------
    name : str
        As in the source; "" for memory that has several variables, which are its ``members``.
    kind : Type or None
        None where nobody knows it. Of a pointer it is an array of unknown size: what it points to.
    is_pointer : bool
        Whether the name is a pointer's, and elements are those that it points to.

    Examples
    --------
    >>> Bs = Variable("Bs", Type("__half", 2).array(2, 32, 72))
    >>> Bs.type, Bs.shape, Bs.element_bytes
    ('__half [2][32][72]', (2, 32, 72), 2)
    >>> Bs.element(128, 2), Bs.element(129, 1), Bs.element(128, 16), Variable("s").element(252, 4)
    ('Bs[0][0][64]', 'Bs[0][0][64] + 1 byte', 'Bs[0][0][64..71]', 's + 252 bytes')
    """

    name: str
    kind: Type | None = None
    is_pointer: bool = False

    @property
    def type(self) -> str:
        """The type as C++ writes it without a name; "" where it is not known."""
        if self.kind is None:
            return ""
        if self.is_pointer and self.kind.element is not None:
            name, bracket, sizes = self.kind.element.name.partition(" [")
            return f"{name} (*)[{sizes}" if bracket else f"{name}*"
        return self.kind.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of an array, 0 for one that is not known; () for what is none."""
        return () if self.kind is None else shape_of(self.kind)[0]

    @property
    def element_bytes(self) -> int:
        """Bytes of an element; 0 where its type is not known."""
        return 0 if self.kind is None else shape_of(self.kind)[1].bytes

    @property
    def members(self) -> tuple[Member, ...]:
        """Members of a class, or of the class that the elements are of."""
        return () if self.kind is None else shape_of(self.kind)[1].members

    def element(self, offset: int, size: int = 1) -> str:
        """Name the element, or the member, that ``size`` bytes from ``offset`` on are.

        Of an array the index goes on behind its end, and before its beginning: that is the address meant.
        """
        return part(self.name, self.kind or Type("", 1), offset, size)
