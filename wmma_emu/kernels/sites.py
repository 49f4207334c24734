# SPDX-License-Identifier: MIT
"""Source positions of accesses and barriers in a kernel: an instruction of the machine for each position."""

import ast
import linecache
import os
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import CodeType, FrameType, TracebackType
from typing import Any

import numpy as np

from wmma_emu.kernels.machine_operands import LOOP_CONDITION, REGISTERS, Operands
from wmma_emu.ptx.program.program import (
    AddressOperand,
    KernelProgram,
    LabelTarget,
    Predicate,
    PtxInstruction,
    Register,
    SourceLine,
    Symbol,
)

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIBRARIES = (_PACKAGE + os.sep, os.path.dirname(np.__file__) + os.sep)
_OPCODES = {"ld": "ld.{}.b{}", "st": "st.{}.b{}", "red": "red.{}.add.b{}"}

Frame = tuple[CodeType, int, int]
"""A function's code, the instruction in it, and the line."""


class Sites:
    """The instructions of a launch: one for each source position and each kind of access there.

    The ``line`` of a site is its number; `program` arranges them in the order of the source.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], PtxInstruction] = {}
        self._order: dict[int, tuple[int, ...]] = {}
        self._texts: list[str] = []
        self._codes: list[CodeType] = []  # kept alive so that their ids stay unique
        self._is_of_a_library: dict[int, bool] = {}

    def current(self, what: str, size: int, owner: str, space: str) -> PtxInstruction:
        """Return the instruction for the access that the kernel performs now: "ld", "st" or "red" of some bytes."""
        key, own = self._where((what, size, owner))
        found = self._known.get(key)
        if found is None:
            opcode = _OPCODES[what].format(space, 8 * size)
            found = self._known[key] = self._new(tuple(_frames_of_the_user(own)), opcode, owner, space)
        return found

    def call(self, opcode: str, operands: Operands) -> PtxInstruction:
        """Return the instruction for the call that the kernel performs now."""
        key, own = self._where((opcode,))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._new(tuple(_frames_of_the_user(own)), opcode, operands=operands)
        return found

    def _where(self, what: tuple[Any, ...]) -> tuple[tuple[Any, ...], FrameType | None]:
        """Return what identifies an access at the kernel's position, and the innermost frame of the user."""
        frame: FrameType | None = sys._getframe(2)
        key: list[Any] = [*what]
        is_known = self._is_of_a_library
        own = None
        while frame is not None:
            code = frame.f_code
            of_a_library = is_known.get(id(code))
            if of_a_library is None:
                self._codes.append(code)
                of_a_library = is_known[id(code)] = code.co_filename.startswith(_LIBRARIES)
            if not of_a_library:
                own = frame if own is None else own
                key += (id(code), frame.f_lasti)
            elif own is not None:
                break
            frame = frame.f_back
        return tuple(key), own

    def at(self, frames: Iterable[Frame], opcode: str) -> PtxInstruction:
        """Return the instruction at a source position.

        The frames of the kernel and of the functions it called, innermost first.
        """
        frames = tuple(frames)
        key = (opcode, *((id(code), lasti) for code, lasti, _ in frames))
        if key not in self._known:
            self._known[key] = self._new(frames, opcode)
        return self._known[key]

    def _new(
        self, frames: tuple[Frame, ...], opcode: str, owner: str = "", space: str = "", operands: Operands = ()
    ) -> PtxInstruction:  # fmt: skip
        self._codes += [code for code, _, _ in frames]
        source = None
        for code, lasti, line in reversed(frames):
            source = SourceLine(code.co_filename, line, source, column_of(code, lasti))
        self._texts.append(f"{opcode} {owner};" if owner else f"{opcode};")
        number = len(self._texts)
        self._order[number] = (*(x for _, lasti, line in reversed(frames) for x in (line, lasti)), number)
        mnemonic, *modifiers = opcode.split(".")
        operands = _operands(mnemonic, owner, space, source) if owner else operands
        return PtxInstruction(opcode, mnemonic, tuple(modifiers), operands, None, number, 0, source)

    def order(self, instruction: PtxInstruction) -> tuple[int, ...]:
        """Return the position of an instruction in the order of the source."""
        return self._order[instruction.line]

    def text(self, line: int) -> str:
        """Return the text of a site's instruction."""
        return self._texts[line - 1].rstrip(";") if line else ""

    def program(self, name: str, symbols: Iterable[Symbol], shared_bytes: int) -> KernelProgram:
        """Make a program of all sites in the order of the source, with a backward jump for each loop."""
        code = sorted(self._known.values(), key=self.order)
        return KernelProgram(
            name, (), 0, REGISTERS, tuple(_with_loops(code)), tuple(symbols), shared_bytes, None, 0, None,
            None, tuple(self._texts), shared_span=shared_bytes,
        )  # fmt: skip


def frames_of_error(traceback: TracebackType | None) -> list[Frame]:
    """Return the frames of the user in which an error was raised, below the launch, innermost first."""
    found: list[list[Frame]] = [[]]
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if _is_of_a_library(code):
            found.append([])
        else:
            found[-1].insert(0, (code, traceback.tb_lasti, traceback.tb_lineno))
        traceback = traceback.tb_next
    own = [x for x in found if x]
    return own[-1] if own else []


def frames_of_generator(generator: Any) -> list[Frame]:
    """Return the frames of a suspended generator and of those that it delegates to, innermost first."""
    found: list[Frame] = []
    while getattr(generator, "gi_frame", None) is not None:
        frame = generator.gi_frame
        found.insert(0, (frame.f_code, frame.f_lasti, frame.f_lineno))
        generator = generator.gi_yieldfrom
    return found


@lru_cache(maxsize=256)
def name_of_declaration(file: str, line: int, column: int) -> str:
    """Return the name to which a call at a line and column is assigned, as in ``s = t.shared(...)``.

    Without an assignment it names the line. In ``a, b = t.shared(...), t.shared(...)`` each call has its own name.
    """
    try:
        tree = ast.parse(text_of(file))
    except (SyntaxError, ValueError):
        tree = ast.Module([], [])
    for statement in (x for x in ast.walk(tree) if isinstance(x, ast.Assign) and len(x.targets) == 1):
        for target, value in _pairs(statement.targets[0], statement.value):
            if isinstance(target, ast.Name) and (value.lineno, value.col_offset + 1) == (line, column):
                return target.id
    return f"shared memory of line {line}"


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target, value)]


def _frames_of_the_user(frame: FrameType | None) -> Iterator[Frame]:
    """Yield the user's frames, from a function up to the kernel."""
    while frame is not None and not _is_of_a_library(frame.f_code):
        yield frame.f_code, frame.f_lasti, frame.f_lineno
        frame = frame.f_back


def _is_of_a_library(code: CodeType) -> bool:
    return code.co_filename.startswith(_LIBRARIES)


def column_of(code: CodeType, lasti: int) -> int:
    """Return the column of its line at which an instruction of a function begins, counted from 1; 0 if unknown."""
    positions = list(code.co_positions())
    column = positions[lasti // 2][2] if lasti // 2 < len(positions) else None
    return 0 if column is None else column + 1


def _operands(mnemonic: str, owner: str, space: str, source: SourceLine | None) -> Operands:
    """Make operands such that a load and a store of one line share the address and the value."""
    line = source.line if source else 0
    address = AddressOperand(Symbol(space, 0, owner, 0), line)
    value = Register(len(REGISTERS) + line, f"%v{line}", "b64")
    return (value, address) if mnemonic == "ld" else (address, value)


def _with_loops(code: list[PtxInstruction]) -> list[PtxInstruction]:
    """Append a backward jump after the last instruction of each loop of the source."""
    jumps: list[tuple[int, int]] = []
    files = {x.source.file for x in code if x.source}
    for file in files:
        lines = [0 if x.source is None else _outermost(x.source, file) for x in code]
        for first, last in _loops(text_of(file)):
            inside = [i for i, line in enumerate(lines) if first <= line <= last]
            if inside:
                jumps.append((inside[0], inside[-1]))
    out: list[PtxInstruction] = []
    places: dict[int, int] = {}
    for i, x in enumerate(code):
        places[i] = len(out)
        out.append(x)
        for begin, end in sorted(jumps, reverse=True):
            if end == i:
                back = LabelTarget(places[begin], "loop")
                repeated = Predicate(LOOP_CONDITION, False)
                out.append(PtxInstruction("bra", "bra", (), (back,), repeated, -1, 0, x.source))
    return out


def _outermost(source: SourceLine, file: str) -> int:
    """Return the outermost line of a file that contains an instruction."""
    line = 0
    place: SourceLine | None = source
    while place is not None:
        line = place.line if place.file == file else line
        place = place.inlined_at
    return line


@lru_cache(maxsize=32)
def _loops(text: str) -> tuple[tuple[int, int], ...]:
    """Return the first and the last line of each loop's body."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    found = [x for x in ast.walk(tree) if isinstance(x, ast.For | ast.While)]
    return tuple((x.body[0].lineno, x.body[-1].end_lineno or x.body[-1].lineno) for x in found)


def text_of(file: str) -> str:
    """Return the source text of a Python file or of a notebook cell; "" if it is unavailable."""
    return "".join(linecache.getlines(file))
