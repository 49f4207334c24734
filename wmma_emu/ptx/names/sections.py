# SPDX-License-Identifier: MIT
"""The debug sections of PTX source as bytes, with the symbols that a linker would replace by addresses."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_SECTION = re.compile(r"^[ \t]*\.section[ \t]+(\.debug_(?:info|abbrev|str|line_str|str_offsets))\s*\{([^}]*)",
                      re.MULTILINE)  # fmt: skip

_SUM = re.compile(r"([\w$.]+)(?:\s*([+-])\s*([\w$.]+))?")

_BYTES = {".b8": 1, ".b16": 2, ".b32": 4, ".b64": 8}

_ADDRESS = 4
"""The least size of an address in bytes."""

_MOST_TEXT = 1 << 26
"""The most characters of a section that are read; real debug information is smaller."""


@dataclass(slots=True)
class Section:
    """The bytes of a section; ``symbols`` are the names that replace numbers, by offset."""

    data: bytearray = field(default_factory=bytearray)
    symbols: dict[int, str] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)


def debug_sections(text: str) -> dict[str, Section]:
    r"""Return the sections that describe variables, by name; empty without debug information.

    Examples
    --------
    >>> found = debug_sections(".section .debug_info {\n.b8 9,3 // an address\n.b64 tile\n.b32 .debug_str+2\n}")
    >>> found[".debug_info"].data.hex(" ", 1), found[".debug_info"].symbols
    ('09 03 00 00 00 00 00 00 00 00 02 00 00 00', {2: 'tile'})
    """
    if ".debug_info" not in text:
        return {}
    found: dict[str, Section] = {}
    for match in _SECTION.finditer(text):
        section = found.setdefault(match[1], Section())
        for line in match[2][:_MOST_TEXT].split("\n"):
            words = line.partition("//")[0].strip()
            size, _, values = words.replace("\t", " ").partition(" ")
            if size in _BYTES:
                _append(section, _BYTES[size], values)
            elif words.endswith(":"):
                section.labels[words[:-1]] = len(section.data)
    labels = {name: place for section in found.values() for name, place in section.labels.items()}
    for section in found.values():
        _resolve(section, labels)
    return found


def _number(word: str) -> int | None:
    digits = word.removeprefix("-")
    return int(word) if digits.isascii() and digits.isdigit() and len(digits) < 21 else None


def _append(section: Section, size: int, values: str) -> None:
    """Append numbers of ``size`` bytes; a name becomes zeros, and a symbol if the size allows an address."""
    for word in map(str.strip, values.split(",")):
        number = _number(word)
        if number is None and size >= _ADDRESS:
            section.symbols[len(section.data)] = word
        section.data += ((number or 0) & (1 << 8 * size) - 1).to_bytes(size, "little")


def _resolve(section: Section, labels: Mapping[str, int]) -> None:
    """Replace labels of these sections, and sums with labels, by numbers; other names stay symbols."""

    def value(word: str) -> int | None:
        return 0 if word.startswith(".debug_") else labels.get(word, _number(word))

    for place, text in list(section.symbols.items()):
        match = _SUM.fullmatch(text)
        first = value(match[1]) if match else None
        if match is None or first is None:
            continue
        second = value(match[3]) if match[3] else 0
        if second is not None:
            total = first - second if match[2] == "-" else first + second
            section.data[place : place + _ADDRESS] = (total & 0xFFFFFFFF).to_bytes(_ADDRESS, "little")
            del section.symbols[place]
