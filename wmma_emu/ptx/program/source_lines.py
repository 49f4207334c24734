# SPDX-License-Identifier: MIT
"""The source lines of instructions, from ``.loc``, including inlined functions."""

from collections.abc import Mapping, Sequence

from wmma_emu.ptx.program.program import SourceLine

_BEGIN, _END = "// begin inline asm", "// end inline asm"

_DEEPEST = 32
"""The largest depth of inlining; beyond it, the outermost functions are left out."""

_Location = tuple[str, ...]


class SourceLines:
    """The source lines given by successive ``.loc`` directives.

    ``inlined_at`` refers to the location of a call, given by an earlier ``.loc``, which has its own ``inlined_at`` if
    that call was inlined too.

    Examples
    --------
    >>> lines = SourceLines({1: "main.cu", 2: "a.h", 3: "b.h"})
    >>> for loc in ("1 6 5", "2 103 9 inlined_at 1 6 5", "3 292 5 inlined_at 2 103 9"):
    ...     print(lines.at(loc.split()))
    main.cu:6
    main.cu:6, inlined from a.h:103
    main.cu:6, inlined from a.h:103, inlined from b.h:292
    """

    def __init__(self, files: Mapping[int, str]) -> None:
        self._files = files
        self._known: dict[tuple[_Location, _Location | None, SourceLine | None], SourceLine | None] = {}
        self._last: dict[_Location, tuple[SourceLine, int]] = {}

    def at(self, words: Sequence[str]) -> SourceLine | None:
        """Return the source line of the words of a ``.loc``; None if the line is 0, which means unknown."""
        location = tuple(words[:3])
        call = tuple(words[words.index("inlined_at") + 1 :][:3]) if "inlined_at" in words else None
        caller, depth = (None, 0) if call is None else self._last.get(call, (self._line(call), 1))
        key = location, call, caller
        if key not in self._known:
            self._known[key] = self._line(location, caller) if int(location[1]) else caller
        found = self._known[key]
        if found is not None:
            self._last[location] = (found, depth + 1) if depth < _DEEPEST else (self._line(location), 1)
        return found

    def _line(self, location: _Location, inlined_at: SourceLine | None = None) -> SourceLine:
        number, line, column = map(int, location)
        return SourceLine(self._files.get(number, f"file {number}"), line, inlined_at, column)


def lines_of_assembly(lines: Sequence[str]) -> frozenset[int]:
    """Return the line numbers, counted from 1, of inline assembly as marked by LLVM.

    A ``.loc`` in inline assembly counts lines within the assembly string, not lines of the source.

    Examples
    --------
    >>> text = [".loc 1 8 9", "// begin inline asm", "mov.u32 %r1, 0;", ".loc 1 9 9", "// end inline asm"]
    >>> sorted(lines_of_assembly(text))
    [2, 3, 4, 5]
    """
    found: list[int] = []
    is_inside = False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        is_inside = text == _BEGIN or is_inside
        if is_inside:
            found.append(number)
        is_inside = is_inside and text != _END
    return frozenset(found)
