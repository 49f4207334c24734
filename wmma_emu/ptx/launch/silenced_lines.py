# SPDX-License-Identifier: MIT
"""The silences of a launch: its own, those in comments, and those in force; and checks that their lines exist."""

from collections.abc import Collection, Iterable

from wmma_emu.errors import OptionError, printable, shorten
from wmma_emu.ptx.findings import KINDS, Sighting
from wmma_emu.ptx.launch.silences import Silence, SilenceOutcome, apply_silences, in_force
from wmma_emu.ptx.launch.sources import lines_of
from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction, SourceLine

_MOST_NAMES = 5


def apply_launch_silences(
    findings: Iterable[Sighting],
    given: Iterable[Silence],
    written: Iterable[Silence],
    program: KernelProgram,
    checks: Collection[str],
) -> SilenceOutcome:
    """Remove silenced findings: by silences of the launch or module, of comments, or in force in this thread.

    Unused silences are returned only if their lines belong to this kernel, and their kinds were checked.
    """
    scopes = in_force()
    everything = dict.fromkeys([*given, *written, *(x for scope in scopes for x in scope.silences)])
    if not everything:
        return SilenceOutcome(list(findings), (), (), ())
    judged = apply_silences(findings, list(everything))
    for scope in scopes:
        scope.use(judged.used)
    unused = (x for x in judged.unused if KINDS[x.kind].check in checks and _is_in(x, program.instructions))
    return judged._replace(unused=tuple(unused))


def require_lines(silences: Iterable[Silence], kernels: Iterable[KernelProgram], name: str) -> None:
    """Reject silences at lines that no kernel of a module has."""
    instructions: list[PtxInstruction] | None = None
    for silence in silences:
        if instructions is None:
            instructions = [x for program in kernels for x in program.instructions]
        if not _is_in(silence, instructions):
            raise OptionError(
                f"a silence of {silence.kind} is at {silence.place}, but no instruction of {shorten(name, str)} comes "
                f"from there; {_nearest_lines_text(silence, instructions)}"
            )


def _is_in(silence: Silence, instructions: Iterable[PtxInstruction]) -> bool:
    return any(silence.is_at(x.line, x.source) for x in instructions)


def _nearest_lines_text(silence: Silence, instructions: list[PtxInstruction]) -> str:
    if isinstance(silence.line, int):
        return f"the nearest lines of the PTX are {_nearest({x.line for x in instructions}, silence.line)}"
    file, _, line = silence.line.rpartition(":")
    places = {(x.file, x.line) for x in lines_of(instructions)}
    there = {n for f, n in places if Silence(silence.kind, f"{file}:{n}", "this line").is_at(0, SourceLine(f, n))}
    if there:
        return f"the nearest lines of {printable(file)} are {_nearest(there, int(line))}"
    names = sorted({f for f, _ in places})[:_MOST_NAMES]
    return f"its sources are {printable(', '.join(names))}" if names else "the PTX has no source lines"


def _nearest(lines: set[int], wanted: int) -> str:
    near = sorted(sorted(lines, key=lambda x: abs(x - wanted))[:2])
    return " and ".join(map(str, near)) or "none: it has no instructions"
