# SPDX-License-Identifier: MIT
"""The user's source line of an instruction, outside inlined toolchain headers, and its quotation."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from wmma_emu.errors import printable
from wmma_emu.ptx.findings import Place
from wmma_emu.ptx.program.program import SourceLine

_TOOLCHAIN = re.compile(
    r"""(?:^|/)(?:
          site-packages/(?:nvidia|triton|numba|numba_cuda)
        | triton/language
        | (?:usr/local|opt)/cuda/include | cuda[-/]v?\d[^/]*/include | targets/[^/]+/include | nvidia/[^/]+/include
        | include/(?:crt|cub|thrust|cooperative_groups) | cccl | libcudacxx
        )/
      | ^(?:mma|cooperative_groups|cuda_(?:bf16|fp\d+|pipeline\w*|awbarrier\w*)|sm_\d+_\w+
          |(?:device|math|vector|texture|surface)_\w*functions\w*|vector_types)\.(?:h|hpp)$
      | (?:^|/)__nv_nvrtc_builtin_header\.h$""",
    re.VERBOSE | re.IGNORECASE,
)
"""Files of compilers, which users do not edit; without a folder if they are built into the compiler."""

_SHOWN_PARTS = 2


def frames_of(source: SourceLine | None) -> Iterator[SourceLine]:
    """Walk from the line of an instruction to the lines at which its inlined functions were called."""
    while source is not None:
        yield source
        source = source.inlined_at


def own_frames(source: SourceLine | None) -> tuple[SourceLine, ...]:
    """Return the lines outside the toolchain, without repetitions: a recursive template has one line.

    If all lines belong to the toolchain, they are returned.

    Examples
    --------
    >>> header = SourceLine("/usr/local/cuda/include/crt/mma.hpp", 91, SourceLine("gemm.cu", 47))
    >>> [str(x) for x in own_frames(header)]
    ['gemm.cu:47']
    """
    everything = list(frames_of(source))
    own = [x for x in everything if not _TOOLCHAIN.search(x.file.replace("\\", "/"))] or everything
    return tuple({(x.file, x.line): x for x in reversed(own)}.values())[::-1]


def parting(one: Place, other: Place) -> tuple[SourceLine | None, SourceLine | None]:
    """Find the innermost source lines at which two instructions differ; a function that both call does not count.

    Examples
    --------
    >>> def at(line):
    ...     return Place(0, SourceLine("matrix.h", 3, SourceLine("gemm.cu", line)))
    >>> [x.line for x in parting(at(40), at(44))], [x.line for x in parting(at(40), at(40))]
    ([40, 44], [3, 3])
    """
    mine, its = own_frames(one.source), own_frames(other.source)
    for a, b in zip(mine, its, strict=False):
        if _line(a) != _line(b):
            return a, b
    return next(iter(mine), None), next(iter(its), None)


def calls_apart(one: Place, other: Place) -> tuple[tuple[SourceLine, ...], tuple[SourceLine, ...]]:
    """List the lines that only one of two instructions has, the outermost last.

    Calls that lead to both of them are left out, such as the call of the function that contains both.

    Examples
    --------
    >>> def at(file, line, call):
    ...     return Place(0, SourceLine(file, line, SourceLine("gemm.cu", call)))
    >>> [[x.line for x in side] for side in calls_apart(at("tile.h", 3, 40), at("tile.h", 7, 40))]
    [[3], [7]]
    >>> [[x.line for x in side] for side in calls_apart(at("tile.h", 3, 40), at("tile.h", 7, 44))]
    [[3, 40], [7, 44]]
    """
    mine, its = list(own_frames(one.source)), list(own_frames(other.source))
    while len(mine) > 1 and len(its) > 1 and _line(mine[-1]) == _line(its[-1]):
        del mine[-1], its[-1]
    return tuple(mine), tuple(its)


def _line(x: SourceLine) -> tuple[str, int]:
    return x.file, x.line


def line_text(line: SourceLine, file: str = "") -> str:
    """Name a line of the source: "gemm.cu:44", or "line 44" of ``file``.

    Examples
    --------
    >>> line = SourceLine("/home/me/gemm.cu", 44)
    >>> line_text(line), line_text(line, "/home/me/gemm.cu")
    ('gemm.cu:44', 'line 44')
    """
    return f"line {line.line}" if line.file == file else f"{short_path(line.file)}:{line.line}"


def short_path(file: str) -> str:
    """Name a file by its last parts.

    Examples
    --------
    >>> short_path("/home/me/kernels/gemm.cu"), short_path("/usr/local/cuda/include/crt/mma.hpp")
    ('gemm.cu', 'crt/mma.hpp')
    """
    parts = [x for x in file.replace("\\", "/").split("/") if x]
    return "/".join(parts[-_SHOWN_PARTS if _TOOLCHAIN.search(file.replace("\\", "/")) else -1 :])


_TAB = 4


class QuotedLine(NamedTuple):
    """A line that a finding is about.

    Attributes
    ----------
    role : str
        The action at the line: "reads", "writes", "loads", "waits", or "" for any other.
    place : Place
        The instruction: its line of the PTX, and its source line.
    file : str
        The path of the file in the PTX; "" if the source is unknown.
    number : int
        The line, counted from 1: of the file, or of the PTX.
    column : int
        The column in ``quote``, counted from 1; 0 if it is unknown.
    quote : str
        The text of the line without tabs and unprintable characters; "" if it is not available.
    raw, raw_column : str, int
        The text and the column as they are in the file.
    """

    role: str
    place: Place
    file: str
    number: int
    column: int
    quote: str
    raw: str = ""
    raw_column: int = 0

    @property
    def where(self) -> str:
        """File and line, the file by its last part: "gemm.cu:44", or "line 54" of the PTX."""
        return f"{printable(short_path(self.file))}:{self.number}" if self.file else f"line {self.number}"


def quoted(role: str, place: Place, line: SourceLine | None, text_of: Callable[[str], str], ptx: str) -> QuotedLine:
    r"""Quote a line of the source, or the PTX instruction ``ptx`` if the source is unknown.

    ``text_of`` returns the text of a file, "" if it is not available.

    Examples
    --------
    >>> line = SourceLine("/home/me/k.cu", 2, None, 5)
    >>> found = quoted("reads", Place(54, line), line, lambda file: "int x;\n\tx = s[0];", "ld.shared.u32 %r1, [s];")
    >>> found.where, found.quote, found.column
    ('k.cu:2', '    x = s[0];', 8)
    """
    if line is None:
        return QuotedLine(role, place, "", place.line, 0, printable(ptx.expandtabs(_TAB)), ptx)
    lines = text_of(line.file).split("\n")  # as compilers count lines: a form feed does not start one
    raw = lines[line.line - 1].rstrip() if 0 < line.line <= len(lines) else ""
    column = len(printable(raw[: line.column - 1].expandtabs(_TAB))) + 1 if 0 < line.column <= len(raw) else 0
    quote = printable(raw.expandtabs(_TAB))
    return QuotedLine(role, place, line.file, line.line, column, quote, raw, line.column)
