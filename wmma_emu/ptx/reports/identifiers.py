# SPDX-License-Identifier: MIT
"""Identifiers of findings, which do not change when files move, lines move, or compilers change."""

import hashlib
import re
from collections.abc import Callable, Iterable

from wmma_emu.ptx.names.symbols import plain_symbol
from wmma_emu.ptx.program.program import KernelProgram
from wmma_emu.ptx.reports.frames import QuotedLine, frames_of
from wmma_emu.ptx.reports.statements import is_python, outline_of

_DIGITS = 10
_NUMBA = "cudapy::"
"""The prefix of the names of numba's kernels; the module name follows, which differs between a script and a test."""

_NUMBA_ARRAY = re.compile(r"(_cudapy_smem)_\d+")
_ARGUMENT = re.compile(r"argument \d+")
_NUMBERED = re.compile(r"(%[A-Za-z_]+|\$?L_\w*?BB)\d+(?:_\d+)?")
"""Registers and labels that compilers number differently in each compilation."""


def identifier(kind: str, kernel: str, owner: str, sides: Iterable[str]) -> str:
    """Return an identifier for a kind, a kernel, the memory accessed, and the code of the sides in any order.

    Examples
    --------
    >>> identifier("race", "k", "tile", ["tile[i]=0;", "x=tile[j];"])
    'race-3798578d2f'
    """
    name = kernel.rpartition("::")[2] if kernel.startswith(_NUMBA) else kernel
    parts = [kind, name, owner_name(owner), *sorted(set(sides))]
    digest = hashlib.sha256("\0".join(parts).encode(errors="backslashreplace")).hexdigest()[:_DIGITS]
    return f"{kind.replace(' ', '-')}-{digest}"


def owner_name(owner: str) -> str:
    """Reduce the name of memory in a launch to the part without types, templates or debug information.

    Examples
    --------
    >>> owner_name("_ZZ5scaleILi4EEvPfE4tile"), owner_name("_ZZ1kE3sum_0"), owner_name("argument 1 (int*) of k")
    ('tile', 'sum', 'argument 1')
    """
    found = _ARGUMENT.match(owner) or _NUMBA_ARRAY.fullmatch(owner)
    if found:
        return found[1] if found.re is _NUMBA_ARRAY else found[0]
    return "" if owner.startswith("%") else plain_symbol(owner)


def code_of_side(side: QuotedLine, program: KernelProgram, text_of: Callable[[str], str]) -> str:
    """Identify the position of a side by the code of its statement, without comments and whitespace, and its file name.

    If the source text is not available, use the line relative to the start of the kernel; if the source is unknown, use
    the instruction without its register numbers.
    """
    if not side.file:
        return " ".join(_NUMBERED.sub(r"\1", side.quote.partition("//")[0]).split())
    file = side.file.replace("\\", "/").rpartition("/")[2]
    text = text_of(side.file)
    if text:
        outline = outline_of(text, is_python(side.file))
        return f"{file}:{outline.code_of(outline.around(side.number))}"
    return f"{file}+{side.number - _first_line(program, side.file)}"


def _first_line(program: KernelProgram, file: str) -> int:
    begin, end = program.functions[0][1:] if program.functions else (0, len(program.instructions))
    frames = [tuple(frames_of(x.source)) for x in program.instructions]
    own = [x[-1].line for x in frames[begin:end] if x and x[-1].file == file]
    return min(own or [x.line for each in frames for x in each if x.file == file], default=0)
