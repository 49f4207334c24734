# SPDX-License-Identifier: MIT
"""The types of variables, built from debugging information entries."""

from collections.abc import Mapping

from wmma_emu.errors import printable
from wmma_emu.ptx.names.dwarf import Entry, plus_uconst
from wmma_emu.ptx.names.types import Member, Type

NAME, TYPE = 0x03, 0x49
_BYTE_SIZE, _UPPER_BOUND, _COUNT, _BIT_OFFSET = 0x0B, 0x2F, 0x37, 0x6B
_MEMBER_LOCATION, _DECLARATION, _EXTERNAL = 0x38, 0x3C, 0x3F
"""The attributes of entries (DWARF 5, 7.5.4)."""

_ARRAY, _SUBRANGE, _MEMBER, _INHERITANCE, _VARIABLE = 0x01, 0x21, 0x0D, 0x1C, 0x34
_CLASSES = (0x02, 0x13, 0x17)  # class, structure, union
_POINTERS = {0x0F: "*", 0x10: "&", 0x42: "&&"}
_QUALIFIERS = {0x26: "const ", 0x35: "volatile ", 0x37: "", 0x16: ""}  # restrict, typedef
_SAME = (*_QUALIFIERS, 0x47)  # and atomic types
"""The tags of entries (DWARF 5, 7.5.3)."""

_DEEPEST, _MOST_DIMENSIONS = 24, 8

_POINTER_BYTES = 8

_UNKNOWN = Type("?", 0)


class EntryTypes:
    """A converter of entries to types; each type is built once."""

    def __init__(self, places: Mapping[int, Entry]) -> None:
        self._entries_by_offset = places
        self._known: dict[int, Type] = {}

    def of(self, entry: Entry, depth: int = 0) -> Type:
        """Return the type that an entry refers to."""
        place = entry.number(TYPE)
        if place is None or place not in self._entries_by_offset or depth > _DEEPEST:
            return _UNKNOWN
        if place not in self._known:
            self._known[place] = _UNKNOWN  # ends the recursion in a class that refers to itself
            self._known[place] = self._made(self._entries_by_offset[place], depth + 1)
        return self._known[place]

    def pointee(self, entry: Entry) -> Type | None:
        """Return the pointee if the type of an entry is a pointer or a reference, else None."""
        for _ in range(_DEEPEST):
            found = self._entries_by_offset.get(entry.number(TYPE) or -1)
            if found is None:
                return None
            if found.tag in _POINTERS:
                return self.of(found)
            if found.tag not in _SAME:
                return None
            entry = found
        return None

    def _made(self, entry: Entry, depth: int) -> Type:
        name = printable(entry.text(NAME))
        if entry.tag in _SAME:
            found = self.of(entry, depth)
            prefix = "" if found.element is not None else _QUALIFIERS.get(entry.tag, "")
            return Type(name or prefix + found.name, found.bytes, found.element, found.count, found.members)
        if entry.tag in _POINTERS:
            return Type(self.text(entry) + _POINTERS[entry.tag], _POINTER_BYTES)
        if entry.tag == _ARRAY:
            sizes = [_size(x) for x in entry.children if x.tag == _SUBRANGE]
            return self.of(entry, depth).array(*sizes[:_MOST_DIMENSIONS])
        size = min(entry.number(_BYTE_SIZE) or 0, 1 << 62)
        if entry.tag in _CLASSES:
            return Type(name, size, members=tuple(self._members(entry, depth)))
        return Type(name or "?", size)

    def _members(self, entry: Entry, depth: int) -> list[Member]:
        found = []
        for child in entry.children:
            # A static member is a member without an offset, or a variable.
            if child.tag in (_MEMBER, _INHERITANCE) and not (child.number(_EXTERNAL) or child.number(_DECLARATION)):
                name = "" if child.tag == _INHERITANCE else printable(child.text(NAME))
                found.append(Member(name, _offset(child), self.of(child, depth)))
        return found

    def text(self, entry: Entry) -> str:
        """Write the name of the type that an entry refers to; pointees are not expanded."""
        suffix, prefix = "", ""
        for _ in range(_DEEPEST):
            found = self._entries_by_offset.get(entry.number(TYPE) or -1)
            if found is None:
                return f"{prefix}void{suffix}"
            name = printable(found.text(NAME))
            if found.tag in _POINTERS:
                suffix = f"{_POINTERS[found.tag]}{suffix}"
            elif name or found.tag not in _SAME:
                return f"{prefix}{name or '?'}{suffix}"
            elif not suffix:
                prefix += _QUALIFIERS.get(found.tag, "")
            entry = found
        return "?"


def _size(subrange: Entry) -> int:
    """Return the number of elements of a dimension; 0 if it is not given, as in ``extern __shared__ float s[]``."""
    count = subrange.number(_COUNT)
    last = subrange.number(_UPPER_BOUND)
    found = count if count is not None else -1 if last is None else last + 1
    return found if 0 < found < 1 << 32 else 0


def _offset(member: Entry) -> int:
    """Return the byte offset of a member, which is a number or a ``DW_OP_plus_uconst`` expression."""
    value = member.attributes.get(_MEMBER_LOCATION)
    if isinstance(value, int):
        return value
    added = plus_uconst(value) if isinstance(value, bytes) else None
    return (member.number(_BIT_OFFSET) or 0) // 8 if added is None else added
