# SPDX-License-Identifier: MIT
"""Conversion of a launch's sightings to findings: grouped by cause, in terms of the source."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from wmma_emu.errors import printable
from wmma_emu.ptx.findings import TITLES, Name, Place, Sighting, Table
from wmma_emu.ptx.memory.races.remedies import REMEDIES, is_update
from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction, SourceLine
from wmma_emu.ptx.reports.causes import Cause, Edge, causes_of
from wmma_emu.ptx.reports.finding import Explain, Finding
from wmma_emu.ptx.reports.fixes import Fix, Trial, likely_fix, tried_fix
from wmma_emu.ptx.reports.frames import QuotedLine, quoted
from wmma_emu.ptx.reports.gaps import loops_of
from wmma_emu.ptx.reports.identifiers import code_of_side, identifier
from wmma_emu.ptx.reports.words import Names, NamesOfThePtx, row_text, source_text

_READS = ("ld", "ldu", "ldmatrix", "wmma.load")
_WRITES = ("st", "stmatrix", "wmma.store")
_COPIES = ("cp.async",)
_UPDATES = ("atom", "red")
_MOST_NAMED = 3


@dataclass(frozen=True)
class FindingMaker:
    """Makes findings of the sightings of a kernel.

    ``kernel`` is its plain name, ``text_of`` returns the text of a source file, and ``names`` are the source's names of
    memory; ``explain`` makes the history of a sighting, and ``trial`` returns a function that tries barriers.
    ``in_ptx`` is whether lines are lines of PTX source.
    """

    program: KernelProgram
    kernel: str
    arch: str
    text_of: Callable[[str], str] = lambda file: ""
    names: Names = NamesOfThePtx()  # noqa: RUF009 - it has no state
    explain: Explain | None = None
    trial: Callable[[Sighting], Trial | None] | None = None
    in_ptx: bool = True

    def __call__(self, sightings: Iterable[Sighting]) -> tuple[Finding, ...]:
        """Make one finding for each cause; `numbered` distinguishes findings with equal identifiers afterwards."""
        found = list(sightings)
        if not found:
            return ()
        code = self.program.instructions
        causes = causes_of(
            found, lambda line: self._numbers.get(line, line), loops_of(code),
            lambda one, other: max(one, other) < len(code) and is_update(code[one], code[other], code),
        )  # fmt: skip
        return tuple(self._finding(cause, found) for cause in causes)

    @cached_property
    def _numbers(self) -> dict[int, int]:
        """The index of the first instruction in each line of the PTX."""
        return {x.line: i for i, x in reversed(list(enumerate(self.program.instructions)))}

    def _finding(self, cause: Cause, met: list[Sighting]) -> Finding:
        pair = cause.pairs[0]
        edge = pair[0]
        sightings = tuple(dict.fromkeys(x.sighting for x in cause.edges))
        sightings = (edge.sighting, *(x for x in sightings if x is not edge.sighting))
        sides = self._sides(edge)
        variables = tuple(dict.fromkeys(x for edges in cause.pairs if (x := self._variable(edges[0].sighting))))
        location = edge.sighting.location
        kind = edge.sighting.kind
        return Finding(
            self._id(edge.sighting, sides), self.kernel, self.arch, _title(kind, variables, sides), kind,
            source_text(edge.sighting.said, self.names, sides[0].file), sides, variables,
            self.names.element(location) if location else "", Fix(partial(self._fix, cause, sides, met)), sightings,
            self._more(cause), self._aliases(cause), self.explain, self.in_ptx,
            tuple(
                row_text(row, self.names, sides[0].file)
                for x in edge.sighting.said if isinstance(x, Table) for row in x.rows
            ),
        )  # fmt: skip

    def _aliases(self, cause: Cause) -> tuple[str, ...]:
        """Return the identifiers of the other pairs of lines; which pair comes first depends on the threads' order."""
        first, *others = (self._id(x[0].sighting, self._sides(x[0])) for x in cause.pairs)
        return tuple(x for x in dict.fromkeys(others) if x != first)

    def _sides(self, edge: Edge) -> tuple[QuotedLine, ...]:
        """Quote the lines of both sides, in source order; a line that both sides share is quoted once."""
        there, here = edge.lines
        sighting = edge.sighting
        sides = [self._quote(sighting.place, here)]
        if edge.other is not None:
            sides.append(self._quote(edge.other, there))
        sides.sort(key=lambda x: (x.file, x.number, x.column))
        if len(sides) == 2 and sides[0].where == sides[1].where:
            roles = " and ".join(dict.fromkeys(x.role for x in sides if x.role))
            same = sides[0].column == sides[1].column
            return (sides[0]._replace(role=roles, column=sides[0].column if same else 0),)
        return tuple(sides)

    def _quote(self, place: Place, line: SourceLine | None) -> QuotedLine:
        number = self._numbers.get(place.line)
        role = "" if number is None else _role(self.program.instructions[number])
        return quoted(role, place, line, self.text_of, self.program.text(place.line))

    def _variable(self, sighting: Sighting) -> str:
        location = sighting.location
        if location is not None and location.owner:
            return printable(self.names.variable(location.space, location.owner) or location.owner)
        name = next((x for x in sighting.said if isinstance(x, Name)), None)
        return "" if name is None else printable(self.names.variable(name.space, name.owner) or name.owner)

    def _id(self, sighting: Sighting, sides: Iterable[QuotedLine]) -> str:
        """Identify a cause by properties that do not change when the lines of a file move."""
        location = sighting.location
        name = location or next((x for x in sighting.said if isinstance(x, Name)), None)
        codes = [code_of_side(x, self.program, self.text_of) for x in sides]
        return identifier(sighting.kind, self.kernel, name.owner if name else "", codes)

    def _fix(self, cause: Cause, sides: tuple[QuotedLine, ...], met: list[Sighting]) -> str:
        """Describe a possible fix: a barrier that was tried, if there is one, else the general remedy."""
        first = cause.pairs[0][0]
        if not first.remedy:
            return ""
        trial = None if self.trial is None else self.trial(first.sighting)
        code, file = self.program.instructions, sides[0].file
        fix = likely_fix(cause.edges, code, file) if trial is None else tried_fix(cause.edges, code, trial, file, met)
        remedy, later = REMEDIES[first.remedy], first.sighting.place.line
        in_order = sorted(sides, key=lambda x: x.place.line == later) if remedy.is_in_time else sides
        return fix or remedy.fix(*(_line_of(x, file) for x in in_order))

    def _more(self, cause: Cause) -> tuple[str, ...]:
        file = self._sides(cause.pairs[0][0])[0].file
        _, *texts = dict.fromkeys(self._pair_text(pair[0], file) for pair in cause.pairs)
        more = [f"and {len(texts) - _MOST_NAMED} more"] if len(texts) > _MOST_NAMED else []
        return (", ".join([*texts[:_MOST_NAMED], *more]),) if texts else ()

    def _pair_text(self, edge: Edge, file: str) -> str:
        """Describe a pair of lines and the variable: "Bs at lines 32/53"."""
        sides, variable = self._sides(edge), self._variable(edge.sighting)
        where = _lines_text(sides, file)
        where = where.replace("line", "lines", 1) if len(sides) == 2 and where.startswith("line ") else where
        return f"{variable} at {where}" if variable else where


def _role(instruction: PtxInstruction) -> str:
    opcode = instruction.opcode
    for names, role in ((_WRITES, "writes"), (_READS, "reads"), (_UPDATES, "updates"), (_COPIES, "copies")):
        if opcode.startswith(tuple(f"{x}." for x in names)):
            return role
    return ""


def _title(kind: str, variables: tuple[str, ...], sides: tuple[QuotedLine, ...]) -> str:
    named = " and ".join(variables[:2]) if len(variables) < 3 else f"{variables[0]} and {len(variables) - 1} more"
    head, of = TITLES.get(kind, (kind, "on"))
    return f"{head}{f' {of} {named}' if named else ''} at {_lines_text(sides)}"


def _line_of(side: QuotedLine, file: str) -> str:
    return f"line {side.number}" if side.file == file else side.where


def _lines_text(sides: tuple[QuotedLine, ...], file: str = "") -> str:
    """Return one line or two as text: "gemm.cu:44/51".

    Examples
    --------
    >>> at = QuotedLine("reads", Place(54), "/home/me/gemm.cu", 44, 0, "")
    >>> _lines_text((at, at._replace(number=51))), _lines_text((at, at._replace(file="tile.h", number=8)))
    ('gemm.cu:44/51', 'gemm.cu:44/tile.h:8')
    """
    names = [_line_of(x, file) if file else x.where for x in sides]
    if len(sides) == 2 and sides[0].file == sides[1].file:
        names[1] = str(sides[1].number)
    return "/".join(names)


def numbered(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Number findings with equal identifiers (the same code, written twice), in source order."""
    seen = Counter[str]()
    numbers: dict[int, str] = {}
    for finding in sorted(findings, key=lambda x: [(s.file, s.number) for s in x.sides]):
        seen[finding.id] += 1
        numbers[id(finding)] = finding.id if seen[finding.id] == 1 else f"{finding.id}-{seen[finding.id]}"
    return tuple(x if numbers[id(x)] == x.id else replace(x, id=numbers[id(x)]) for x in findings)
