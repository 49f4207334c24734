# SPDX-License-Identifier: MIT
"""The memory layout of source types, which names the element or member at an offset; and variables of these types."""

from dataclasses import dataclass
from typing import NamedTuple


class Member(NamedTuple):
    """A member of a class or union; the members of an unnamed member belong to the enclosing class."""

    name: str
    offset: int
    type: "Type"

    @property
    def is_shown(self) -> bool:
        """Whether source code uses the name: names with ``__`` are internal to libraries (``__half.__x``)."""
        return bool(self.name) and not self.name.startswith("__")

    def holds(self, offset: int, size: int) -> bool:
        """Return whether this member contains all of some bytes of the class."""
        return self.offset <= offset and offset + size <= self.offset + self.type.bytes

    def meets(self, offset: int, size: int) -> bool:
        """Return whether this member overlaps some bytes of the class."""
        return self.offset < offset + size and offset < self.offset + self.type.bytes


@dataclass(frozen=True, slots=True)
class Type:
    """A type; arrays have an ``element`` type and a ``count`` (0 if unknown), classes have ``members``."""

    name: str
    bytes: int
    element: "Type | None" = None
    count: int = 0
    members: tuple[Member, ...] = ()

    def array(self, *sizes: int) -> "Type":
        """Return the type of an array with elements of this type.

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
    """The name of some bytes: ``text`` follows the variable's name, ``rest`` is the offset from the named object.

    ``is_split`` is set if the bytes belong to several members or rows; ``kind`` is the type of the named object.
    """

    text: str
    rest: int
    kind: Type
    is_split: bool = False


def part(name: str, kind: Type, offset: int, size: int) -> str:
    """Return the name of the part of a variable that some bytes belong to.

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
    """Follow arrays and classes down while one element, or one member, contains all the bytes."""
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
                return _ElementPath(text, offset, kind)  # a union; the member in use is unknown
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
    """Return the member that contains all the bytes; in a union, the first one in which they are one element."""
    found = [x for x in kind.members if x.holds(offset, size)]
    if len(found) < 2:
        return found[0] if found else None
    return next((x for x in found if _is_one(x.type, offset - x.offset, size)), found[0])


def _is_one(kind: Type, offset: int, size: int) -> bool:
    """Return whether some bytes are one number; in nested unions, the first member decides."""
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
        As in the source; "" for memory that contains several variables, which are its ``members``.
    kind : Type or None
        None if unknown. For a pointer, the pointee as an array of unknown size.
    is_pointer : bool
        Whether the variable is a pointer, and elements are elements of its pointee.

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
        """The type in C++ notation without a name; "" if unknown."""
        if self.kind is None:
            return ""
        if self.is_pointer and self.kind.element is not None:
            name, bracket, sizes = self.kind.element.name.partition(" [")
            return f"{name} (*)[{sizes}" if bracket else f"{name}*"
        return self.kind.name

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of an array, 0 if unknown; () for other types."""
        return () if self.kind is None else shape_of(self.kind)[0]

    @property
    def element_bytes(self) -> int:
        """The size of an element in bytes; 0 if its type is unknown."""
        return 0 if self.kind is None else shape_of(self.kind)[1].bytes

    @property
    def members(self) -> tuple[Member, ...]:
        """The members of a class, or of the class of the elements."""
        return () if self.kind is None else shape_of(self.kind)[1].members

    def element(self, offset: int, size: int = 1) -> str:
        """Return the name of the element or member at ``offset``, for an access of ``size`` bytes.

        Indices may be outside of an array, because out-of-bounds addresses are named as well.
        """
        return part(self.name, self.kind or Type("", 1), offset, size)
