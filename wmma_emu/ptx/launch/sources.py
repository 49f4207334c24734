# SPDX-License-Identifier: MIT
"""The sources of a module: the texts that were compiled here, and the files that the PTX names."""

import linecache
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from wmma_emu.ptx.program.program import ModuleProgram, PtxInstruction, SourceLine
from wmma_emu.ptx.reports.frames import frames_of

_LARGEST_FILE = 1 << 22
"""Bytes of a source that is read."""

_FIELDS_OF_A_CELL = 4
"""What `linecache` keeps of a text that is in no file: its size, None for its time, its lines, and its name."""


class Sources:
    """The sources of a module, by the names that the PTX has for them.

    ``given`` are the texts that are at hand, ``paths`` files of this machine that are called otherwise in the PTX. A
    file counts as the one that was compiled if it has as many bytes as the PTX says, where it says that, and all lines
    that the PTX names.
    """

    def __init__(
        self, program: ModuleProgram, given: Mapping[str, str] | None = None, paths: Mapping[str, str] | None = None
    ) -> None:
        self._sizes = program.file_sizes
        self._given = dict(given or {})
        self.paths = dict(paths or {})
        self._last: dict[str, int] = {}
        for line in lines_of(x for kernel in program.kernels.values() for x in kernel.instructions):
            self._last[line.file] = max(self._last.get(line.file, 0), line.line)
        self._texts: dict[str, str] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._last)

    def text(self, name: str) -> str:
        """Return the text of a source; "" of what is not at hand, or not what was compiled."""
        if name in self._given:
            return self._given[name]
        if name not in self._texts:
            self._texts[name] = self._read(name)
        return self._texts[name]

    def _read(self, name: str) -> str:
        raw = _bytes_of(self.paths.get(name, name))
        size = self._sizes.get(name, len(raw))
        text = raw.decode("utf-8", errors="replace")
        return text if len(raw) == size and text.count("\n") + 1 >= self._last.get(name, 0) else ""


def lines_of(instructions: Iterable[PtxInstruction]) -> Iterator[SourceLine]:
    """Walk over the lines that instructions come from, those where functions were inlined too; each once."""
    for source in {x.source for x in instructions}:
        yield from frames_of(source)


def _bytes_of(name: str) -> bytes:
    """Read a small file, or a cell of a notebook, which Python keeps the lines of."""
    kept: Any = linecache.cache.get(name)
    if kept is not None and len(kept) == _FIELDS_OF_A_CELL and kept[1] is None:
        return "".join(kept[2]).encode()
    try:
        path = Path(name)
        size = path.stat().st_size if path.is_file() else 0
        if 0 < size <= _LARGEST_FILE:  # what a system makes while it is read, as Linux does in /proc, has no size
            with path.open("rb") as file:
                return file.read(size)
    except (OSError, ValueError):
        pass
    return b""
