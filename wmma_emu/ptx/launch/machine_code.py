# SPDX-License-Identifier: MIT
"""The multiplications and additions that the assembler fuses, as seen in its machine code.

Every PTX instruction gets its own ``.loc``; the assembler then names the PTX instruction of each machine instruction. A
fused multiply-add belongs to the addition.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple

from wmma_emu.errors import CompilationError
from wmma_emu.instructions import Arch
from wmma_emu.ptx.launch.assembler import Assembler, find_assemblers
from wmma_emu.ptx.syntax.parser import parse
from wmma_emu.ptx.syntax.tree import InstructionText, Scope, Statement

Position = tuple[int, int]
"""The line and column of an instruction in the PTX."""

_LOCATION = re.compile(r"^[ \t]*\.(loc|file)\b.*$", re.MULTILINE)
_SECTION = re.compile(r"^\s*\.section\s+\.debug\w*\s*\{.*?\}", re.DOTALL | re.MULTILINE)
_DEBUG_TARGET = re.compile(r"^(\s*\.target\s+[^\n]*?)\s*,\s*debug\b", re.MULTILINE)
_FILE = "numbered.ptx"
_MARK = re.compile(r"\.loc 1 \d+ 0$")
_LINE_SAID = re.compile(r"line (\d+)")

_KERNEL = re.compile(r"\s*\.section\s+\.text\.(\S+?),")
_LINE = re.compile(rf'\s*//## File "{re.escape(_FILE)}", line (\d+)')
_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)\s*([^;]*);")
_ARITHMETIC = re.compile(r"U?([FDH])(ADD|MUL|FMA)(2|32I|2_32)?(\.|$)")
_BY_ONE = re.compile(r",\s*-?1(,\s*-?1)?\s*,")
_OF_ZEROS = re.compile(r"-RZ,\s*RZ")
_PLUS_ZERO = re.compile(r",\s*-RZ(\.H0_H0)?\s*$")
_TYPES = {"f32": "F", "f32x2": "F", "f64": "D"}


class Disassembly(NamedTuple):
    """The arithmetic instructions in the machine code of PTX source, from a version of ptxas, for the chip ``target``.

    ``kinds`` maps each function and each position of a PTX instruction to the type letters and kinds of the
    corresponding machine instructions: ``{("F", "fma")}``.
    """

    version: str
    target: str
    kinds: Mapping[str, Mapping[Position, frozenset[tuple[str, str]]]]

    def kinds_of(self, kernel: str, place: Position, type_name: str) -> frozenset[str]:
        """Return the kinds of an instruction's machine instructions, "add", "mul", "fma"; none if it was removed."""
        letter = _TYPES.get(type_name, "H")
        return frozenset(kind for x, kind in self.kinds.get(kernel, {}).get(place, ()) if x == letter)


def assembled(text: str, arch: Arch) -> Disassembly:
    """Assemble PTX with the newest installed ptxas that accepts it."""
    refusals: list[str] = []
    for assembler in find_assemblers():
        try:
            return assembled_by(assembler, text, target_of(text, arch))
        except CompilationError as error:
            refusals.append(str(error))
    raise CompilationError(
        f"contraction='ptxas' needs a ptxas that accepts the PTX, but no installed one does: {'; '.join(refusals)}. "
        "Install the ptxas of the compiler's release (pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm), or use "
        "contraction='rules', which needs none"
    )


def target_of(text: str, arch: Arch) -> str:
    """Return the chip to assemble for: the chip that runs the PTX, or the PTX's own if only that chip can run it."""
    match = re.search(r"^\s*\.target\s+(sm_\d+[af])", text, re.MULTILINE)
    return match[1] if match else arch.name


def assembled_by(assembler: Assembler, text: str, target: str) -> Disassembly:
    """Assemble PTX and read its machine code."""
    marked, places = numbered(text)
    try:
        listing = assembler.listing(marked, target)
    except CompilationError as error:
        raise CompilationError(_LINE_SAID.sub(lambda x: f"line {_line_of(marked, int(x[1]))}", str(error))) from None
    kinds: dict[str, dict[Position, set[tuple[str, str]]]] = {}
    for kernel, number, letter, kind in _arithmetic(listing):
        kinds.setdefault(kernel, {}).setdefault(places[number - 1], set()).add((letter, kind))
    frozen = {kernel: {place: frozenset(x) for place, x in found.items()} for kernel, found in kinds.items()}
    return Disassembly(assembler.version, target, frozen)


def numbered(text: str) -> tuple[str, list[Position]]:
    r"""Insert a ``.loc`` before every instruction, instead of the existing debug information.

    The ``.loc`` names the number of the instruction, counted from 1. The returned positions are the positions of the
    instructions, or of their guards.

    Examples
    --------
    >>> text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { .reg .b32 %r; @!%p mov.b32 %r, 1; ret; }"
    >>> print(numbered(text.replace("%r;", "%r; .reg .pred %p;"))[0].splitlines()[3:5])
    ['.entry k() { .reg .b32 %r; .reg .pred %p; ', '.loc 1 1 0']
    """
    places = sorted((x.line, x.column) for f in parse(text).functions for x in _instructions(f.body or ()) if x.line)
    starts = list(accumulate((len(x) + 1 for x in text.split("\n")), initial=0))
    pieces, done = [], 0
    for number, (line, column) in enumerate(places, 1):
        start = starts[line - 1] + column - 1
        pieces += [_LOCATION.sub("", text[done:start]), f"\n.loc 1 {number} 0\n"]
        done = start
    marked = "".join([*pieces, _LOCATION.sub("", text[done:])])
    marked = _DEBUG_TARGET.sub(r"\1", _SECTION.sub("", marked))
    return f'{marked}\n.file 1 "{_FILE}"\n', places


def _line_of(marked: str, line: int) -> int:
    """Return the original line for a line of the marked PTX; each ``.loc`` has added two lines."""
    ahead = marked.split("\n")[:line]
    return line - 2 * sum(_MARK.match(x) is not None for x in ahead)


def _instructions(body: Iterable[Statement]) -> Iterator[InstructionText]:
    for statement in body:
        if isinstance(statement, Scope):
            yield from _instructions(statement.body)
        elif isinstance(statement, InstructionText):
            yield statement


def _arithmetic(listing: str) -> Iterator[tuple[str, int, str, str]]:
    """Yield each addition or multiplication: its function, its PTX instruction, its type letter and its kind."""
    kernel, number = "", 0
    for line in listing.splitlines():
        if match := _KERNEL.match(line):
            kernel, number = match[1], 0
        elif match := _LINE.match(line):
            number = int(match[1])
        elif number and (match := _INSTRUCTION.search(line)) and (kind := _kind(match[1], match[2])):
            yield kernel, number, *kind


def _kind(opcode: str, operands: str) -> tuple[str, str] | None:
    """Return the type letter and the kind of a machine instruction.

    A multiply-add of zeros is a move; a multiply-add by 1 is an addition, and one that adds -0 is a multiplication.
    """
    match = _ARITHMETIC.match(opcode)
    if match is None:
        return None
    kind = match[2].lower()
    if kind == "fma" and _OF_ZEROS.search(operands):
        return None
    if kind == "fma" and _BY_ONE.search(operands):
        return match[1], "add"
    return match[1], "mul" if kind == "fma" and _PLUS_ZERO.search(operands) else kind
