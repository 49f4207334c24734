# SPDX-License-Identifier: MIT
"""The sources of a module: the source code compiled by this package, and the files that the PTX names."""

import linecache
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from wmma_emu.ptx.program.program import ModuleProgram, PtxInstruction, SourceLine
from wmma_emu.ptx.reports.frames import frames_of

_LARGEST_FILE = 1 << 22
"""The maximum size in bytes of a source file."""

_FIELDS_OF_A_CELL = 4
"""The length of a `linecache` entry for code that is not in a file: size, None instead of a time, lines, name."""


class Sources:
    """The sources of a module, by their names in the PTX.

    ``given`` is source code that is available, ``paths`` are the paths of files on this machine that have other names
    in the PTX. A file is accepted as the compiled one if it has the size that the PTX states (if it does), and all
    lines that the PTX names.
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
        """Return a source's text; "" if it is not available, or is not the compiled one."""
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
    """Yield the source lines of instructions, including the lines of inlined calls; each once."""
    for source in {x.source for x in instructions}:
        yield from frames_of(source)


def _bytes_of(name: str) -> bytes:
    """Read a small file, or a notebook cell, whose lines Python keeps."""
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
