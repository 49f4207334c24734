# SPDX-License-Identifier: MIT
"""The names and types of variables and parameters in debug information, by the symbols of PTX."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from wmma_emu.errors import printable
from wmma_emu.ptx.names.dwarf import LOCATION, Entry, entries, plus_uconst
from wmma_emu.ptx.names.entry_types import NAME, EntryTypes
from wmma_emu.ptx.names.references import name_of_reference
from wmma_emu.ptx.names.sections import debug_sections
from wmma_emu.ptx.names.symbols import plain_symbol
from wmma_emu.ptx.names.types import Member, Type, Variable

_LINKAGE_NAMES = (0x6E, 0x2007)
_VARIABLE, _SUBPROGRAM, _PARAMETER = 0x34, 0x2E, 0x05

_HASHED = re.compile(r"(?<!\d)(\d+)(_GLOBAL__N_|_INTERNAL_)")


class DebugInfo(NamedTuple):
    """Variables by their symbols, and parameters by the symbol of the kernel."""

    variables: dict[str, Variable]
    parameters: dict[str, tuple[Variable, ...]]

    def variable(self, symbol: str) -> Variable | None:
        """Return the variable of a symbol; hashes of the source in the symbol are ignored."""
        return self.variables.get(without_hashes(symbol))


def without_hashes(symbol: str) -> str:
    """Remove a compiler's hashes of the source, so that symbols in unnamed namespaces match those of edited source.

    Examples
    --------
    >>> without_hashes("_ZN23_GLOBAL__N__5f2b_4_k_cu1kEv"), without_hashes("_Z1kv")
    ('_ZN_GLOBAL__N_1kEv', '_Z1kv')
    """
    found = _HASHED.search(symbol)
    while found is not None:
        length = int(found[1][-4:])
        symbol = symbol[: found.start()] + found[2] + symbol[max(found.start(2) + length, found.end()) :]
        found = _HASHED.search(symbol, found.start() + len(found[2]))
    return symbol


def read_debug_info(text: str) -> DebugInfo:
    """Read the debug information of PTX source; missing or broken parts are skipped."""
    units, places = entries(debug_sections(text))
    reader = _DebugInfoReader(EntryTypes(places))
    for unit in units:
        reader.read(unit)
    return reader.found()


class _DebugInfoReader:
    def __init__(self, types: EntryTypes) -> None:
        self._types = types
        self._variables: dict[str, Variable] = {}
        self._parameters: dict[str, tuple[Variable, ...]] = {}
        self._depots: dict[str, list[Member]] = defaultdict(list)
        self._references: dict[tuple[str, str], list[tuple[int, Type]]] = defaultdict(list)

    def read(self, unit: Entry) -> None:
        waiting = [(unit, "")]
        while waiting:
            entry, function = waiting.pop()
            if entry.tag == _SUBPROGRAM:
                function = entry.text(*_LINKAGE_NAMES, NAME)
                taken = [self._variable(x) for x in entry.children if x.tag == _PARAMETER]
                self._parameters.setdefault(without_hashes(function), tuple(taken))
            elif entry.tag in (_VARIABLE, _PARAMETER):
                self._note(entry, function)
            waiting += [(x, function) for x in entry.children]

    def _variable(self, entry: Entry) -> Variable:
        name = printable(entry.text(NAME))
        pointee = self._types.pointee(entry)
        if pointee is not None:
            return Variable(name, pointee.array(0) if pointee.bytes else None, is_pointer=True)
        return Variable(name, self._known_type(entry))

    def _known_type(self, entry: Entry) -> Type | None:
        kind = self._types.of(entry)
        return kind if kind.bytes or kind.element else None

    def _note(self, entry: Entry, function: str) -> None:
        reference = name_of_reference(entry.text(NAME))
        if reference is not None:
            kind = self._types.pointee(entry)
            if kind is not None:
                self._references[function, reference[1]].append((reference[0], kind))
        elif entry.symbol.startswith("__local_depot"):
            kind = self._types.of(entry)
            location = entry.attributes.get(LOCATION)  # DW_OP_addr, its address, and the offset
            offset = plus_uconst(location[9:]) if isinstance(location, bytes) else None
            self._depots[entry.symbol].append(Member(printable(entry.text(NAME)), offset or 0, kind))
        elif entry.symbol and entry.tag == _VARIABLE:
            found = Variable(plain_symbol(entry.symbol), self._known_type(entry))
            self._variables.setdefault(without_hashes(entry.symbol), found)

    def found(self) -> DebugInfo:
        variables = {**dict(self._of_references()), **self._variables}
        for symbol, members in self._depots.items():
            size = max(x.offset + x.type.bytes for x in members)
            variables[symbol] = Variable("", Type(symbol, size, members=tuple(members)))
        return DebugInfo(variables, self._parameters)

    def _of_references(self) -> Iterator[tuple[str, Variable]]:
        """Yield the symbols and types of the referenced variables; equal names are numbered in source order."""
        for (function, name), found in self._references.items():
            outer = function[2:] if function.startswith("_Z") else f"{len(function)}{function}"
            for i, (_, kind) in enumerate(sorted(found, key=lambda x: x[0])):
                # The discriminator of variables with the same name in one function (Itanium C++ ABI, 5.1.6).
                number = "" if not i else f"_{i - 1}" if i <= 10 else f"__{i - 1}_"
                symbol = f"_ZZ{outer}E{len(name)}{name}{number}"
                yield without_hashes(symbol), Variable(printable(name), kind)
