# SPDX-License-Identifier: MIT
"""The entries of DWARF 2 to 5 debug information that describe variables.

This reader replaces a library for three reasons: the sections in PTX consist of words and symbol names instead of the
bytes and relocations that libraries read, one small table of forms is enough, and names do not need an extra package.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from wmma_emu.ptx.names.sections import Section

LOCATION = 0x02
"""The attribute that contains the location of a variable."""

_FIXED = {
    0x01: 8, 0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x0E: 4, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x17: 4,
    0x1C: 4, 0x1D: 4, 0x1E: 16, 0x1F: 4, 0x20: 8, 0x24: 8, 0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4, 0x29: 1, 0x2A: 2,
    0x2B: 3, 0x2C: 4,
}  # fmt: skip
"""The size in bytes of each form of a fixed size (DWARF 5, 7.5.6; 32-bit DWARF, addresses of eight bytes)."""

_LENGTH_BYTES = {0x03: 2, 0x04: 4, 0x0A: 1}
"""The forms of a block that follows its length, and the size of the length in bytes; the length of `_LEB_BLOCKS` is in
LEB128."""

_LEB_BLOCKS, _SIGNED, _UNSIGNED, _STRING = (0x09, 0x18), (0x0D,), (0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23), 0x08
_PRESENT, _IMPLICIT, _INDIRECT = 0x19, 0x21, 0x16
_IN_UNIT = (0x11, 0x12, 0x13, 0x14, 0x15)
"""The forms of references relative to the beginning of their unit."""

_STRINGS = {0x0E: ".debug_str", 0x1F: ".debug_line_str"}
_INDEXED_STRINGS = (0x1A, 0x25, 0x26, 0x27, 0x28)
_OFFSETS_HEADER = 8

_MOST_ATTRIBUTES = 64
"""The most attributes of an entry; compilers write about twenty."""

_MOST_ENTRIES = 1 << 20

_LONGEST_STRING = 1 << 12

Value = int | str | bytes


@dataclass(slots=True)
class Entry:
    """A debugging information entry: its tag, its attributes by number, and the entries in it.

    ``symbol`` is the symbol in its location (``DW_OP_addr``).
    """

    tag: int
    attributes: dict[int, Value] = field(default_factory=dict)
    children: "list[Entry]" = field(default_factory=list)
    symbol: str = ""

    def number(self, attribute: int) -> int | None:
        """Return the value of an attribute if it is a number."""
        value = self.attributes.get(attribute)
        return value if isinstance(value, int) else None

    def text(self, *attributes: int) -> str:
        """Return the first of some attributes that is a string, or ""."""
        return next((x for a in attributes if isinstance(x := self.attributes.get(a), str)), "")


@dataclass(slots=True)
class _Cursor:
    """A position in a section; for a unit also its start and its DWARF version."""

    data: bytes
    offset: int
    start: int = 0
    version: int = 0

    def take(self, count: int) -> bytes:
        if count < 0 or self.offset + count > len(self.data):
            raise IndexError("the section ends within an entry")
        self.offset += count
        return self.data[self.offset - count : self.offset]

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")

    def leb(self, signed: bool = False) -> int:
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 70:
                raise IndexError("an LEB128 number is longer than eleven bytes")
            if not byte & 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def string(self) -> str:
        start, end = self.offset, self.data.index(0, self.offset)
        self.offset = end + 1
        return self.data[start : min(end, start + _LONGEST_STRING)].decode("utf-8", "replace")


_Abbreviation = tuple[int, bool, tuple[tuple[int, int, int], ...]]
"""An abbreviation: the tag, whether the entry has children, and (attribute, form, implicit value) of each attribute."""


def entries(sections: Mapping[str, Section]) -> tuple[list[Entry], dict[int, Entry]]:
    """Read the units of the sections; return the first entry of each unit, and all entries by their offset.

    Reading stops at data that cannot be decoded.
    """
    units: list[Entry] = []
    reader = _DwarfReader(sections)
    with suppress(IndexError, ValueError, KeyError, OverflowError):
        for unit in reader.units():
            units.append(unit)
    return units, reader.entries_by_offset


class _DwarfReader:
    def __init__(self, sections: Mapping[str, Section]) -> None:
        info = sections.get(".debug_info", Section())
        self._bytes = {name: bytes(x.data) for name, x in sections.items()}
        self._info, self._symbols = bytes(info.data), info.symbols
        self.entries_by_offset: dict[int, Entry] = {}
        self._abbreviation_tables: dict[int, dict[int, _Abbreviation]] = {}
        self._unread = 2 * len(self._bytes.get(".debug_abbrev", b""))  # overlapping tables are invalid

    def units(self) -> Iterator[Entry]:
        at = 0
        while at + 11 <= len(self._info):
            cursor = _Cursor(self._info, at, at)
            length, cursor.version = cursor.number(4), cursor.number(2)
            if not 2 <= cursor.version <= 5:
                return
            if cursor.version == 5:
                cursor.take(2)
                table = cursor.number(4)
            else:
                table = cursor.number(4)
                cursor.take(1)
            end = min(at + 4 + length, len(self._info))
            yield from self._unit(cursor, end, self._abbreviations(table))
            at += 4 + length

    def _unit(self, cursor: _Cursor, end: int, shapes: dict[int, _Abbreviation]) -> Iterator[Entry]:
        """Read the entries of a unit; yield the entry without a parent, which is the unit itself."""
        parents: list[Entry] = []
        while cursor.offset < end:
            place = cursor.offset
            code = cursor.leb()
            if len(self.entries_by_offset) > _MOST_ENTRIES:
                raise IndexError("too many entries")
            if not code:
                if len(parents) < 2:
                    return
                parents.pop()
                continue
            tag, has_children, attributes = shapes[code]
            entry = self.entries_by_offset[place] = Entry(tag)
            if parents:
                parents[-1].children.append(entry)
            else:
                yield entry
            if has_children or not parents:
                parents.append(entry)
            for attribute, form, implicit in attributes:
                self._read(cursor, entry, attribute, form, implicit)

    def _read(self, cursor: _Cursor, entry: Entry, attribute: int, form: int, implicit: int) -> None:
        if form == _INDIRECT:
            form = cursor.leb()
        before = cursor.offset
        value = self._value(cursor, form, implicit)
        if form in _IN_UNIT and isinstance(value, int):
            value += cursor.start
        entry.attributes[attribute] = value
        if attribute == LOCATION and isinstance(value, bytes) and value[:1] == b"\x03":
            entry.symbol = self._symbols.get(cursor.offset - len(value) + 1, "") if cursor.offset > before else ""

    def _value(self, cursor: _Cursor, form: int, implicit: int) -> Value:
        if form in _FIXED or form in _UNSIGNED or form == 0x10:
            # References to other units have the size of an address in DWARF 2.
            size = _FIXED.get(form, 8 if cursor.version == 2 else 4)
            number = cursor.leb() if form in _UNSIGNED else cursor.number(size)
            if form in _STRINGS:
                return self._string(_STRINGS[form], number)
            return self._indexed(number) if form in _INDEXED_STRINGS else number
        if form == _STRING:
            return cursor.string()
        if form in _SIGNED:
            return cursor.leb(signed=True)
        if form in _LENGTH_BYTES:
            return cursor.take(cursor.number(_LENGTH_BYTES[form]))
        if form in _LEB_BLOCKS:
            return cursor.take(cursor.leb())
        if form in (_PRESENT, _IMPLICIT):
            return 1 if form == _PRESENT else implicit
        raise ValueError(f"the form {form:#x} does not exist in DWARF 5")

    def _string(self, section: str, place: int) -> str:
        text = self._bytes.get(section, b"")[place : place + _LONGEST_STRING]
        return text.partition(b"\0")[0].decode("utf-8", "replace")

    def _indexed(self, index: int) -> str:
        at = _OFFSETS_HEADER + 4 * index
        offset = self._bytes.get(".debug_str_offsets", b"")[at : at + 4]
        return self._string(".debug_str", int.from_bytes(offset, "little")) if offset else ""

    def _abbreviations(self, place: int) -> dict[int, _Abbreviation]:
        """Read the table of abbreviations at an offset; of a truncated table, the part before the end."""
        if place not in self._abbreviation_tables:
            shapes = self._abbreviation_tables[place] = {}
            cursor = _Cursor(self._bytes.get(".debug_abbrev", b""), place)
            with suppress(IndexError):
                while self._unread > 0 and (code := cursor.leb()):
                    before = cursor.offset
                    shapes[code] = _read_abbreviation(cursor)
                    self._unread -= cursor.offset - before
        return self._abbreviation_tables[place]


def plus_uconst(expression: bytes) -> int | None:
    """Return the number that an expression adds if it begins with ``DW_OP_plus_uconst``."""
    if expression[:1] != b"\x23":
        return None
    return sum((byte & 0x7F) << 7 * i for i, byte in enumerate(expression[1:10]))


def _read_abbreviation(cursor: _Cursor) -> _Abbreviation:
    tag, has_children = cursor.leb(), cursor.number(1) != 0
    attributes: list[tuple[int, int, int]] = []
    while True:
        attribute, form = cursor.leb(), cursor.leb()
        implicit = cursor.leb(signed=True) if form == _IMPLICIT else 0
        if not attribute and not form:
            return tag, has_children, tuple(attributes[:_MOST_ATTRIBUTES])
        attributes.append((attribute, form, implicit))
