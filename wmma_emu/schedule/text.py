# SPDX-License-Identifier: MIT
"""A schedule as text: a table of machine instructions, and on Volta the octets and the threadgroups' parts."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Literal

from wmma_emu.display import in_columns, runs_of
from wmma_emu.schedule.spec import MachineStep, Schedule

_WIDTH = 100


def numbers(values: Iterable[int]) -> str:
    """Write numbers as ranges.

    Examples
    --------
    >>> numbers([0, 1, 2, 3, 8, 10, 11]), numbers(range(5, 6)), numbers([])
    ('0-3, 8, 10-11', '5', '-')
    """
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs_of(values)) or "-"


def threadgroups_named(*threadgroups: int) -> str:
    """Name threadgroups, so that they are not confused with lanes.

    Examples
    --------
    >>> threadgroups_named(2), threadgroups_named(0, 1, 2, 3), threadgroups_named(4, 6)
    ('TG2', 'TG0-3', 'TG4, 6')
    """
    return f"TG{numbers(threadgroups)}"


def runs_of_k(ks: Sequence[int]) -> str:
    """Write the k of a machine instruction: ranges, or a common residue if there are many.

    Examples
    --------
    >>> runs_of_k(range(8)), runs_of_k([0, 1, 4, 5, 8, 9, 12, 13, 16, 17]), runs_of_k(range(131, 256, 4))
    ('0-7', '0-17, k % 4 = 0, 1', '131-255, k % 4 = 3')
    """
    text = numbers(ks)
    if text.count(",") < 3:
        return text
    for modulus in (2, 4, 8):
        residues = sorted({k % modulus for k in ks})
        if [k for k in range(ks[0], ks[-1] + 1) if k % modulus in residues] == list(ks):
            return f"{ks[0]}-{ks[-1]}, k % {modulus} = {', '.join(map(str, residues))}"
    return text


def text_of(schedule: Schedule) -> str:
    """Write a schedule, at most 100 characters per line; a longer name has a separate line."""
    return "\n".join(_lines(schedule))


def _lines(schedule: Schedule) -> Iterator[str]:
    entry, chip = schedule.instruction, schedule.arch
    lowering = "" if schedule.lowering == "native" else f", lowering {schedule.lowering}"
    headline = f"{entry.mnemonic} on {chip} ({chip.generation}){lowering}: {schedule.machine}"
    yield from wrap(headline, _WIDTH, break_long_words=False, break_on_hyphens=False)
    yield ""
    if schedule.sets:
        yield from in_columns([OCTET_HEADINGS, *octet_rows(schedule)], "  ")
        yield ""
    yield from in_columns([step_headings(schedule), *step_rows(schedule)], "  ")
    yield ""
    if schedule.sets:
        yield from wrap(
            "Rows x columns of D that each threadgroup TGn, lanes 4 n to 4 n + 3, computes in the steps of every set, "
            "with A in its lanes; both threadgroups of an octet read the half of B that the column 'B held by' "
            "names:", _WIDTH
        )  # fmt: skip
        yield from in_columns([["step", *map(threadgroups_named, range(8))], *threadgroup_rows(schedule)], "  ")
        yield ""
    for label, text in remarks(schedule):
        yield from wrap(f"{label}: {text}", _WIDTH, subsequent_indent="  ")


def remarks(schedule: Schedule) -> list[tuple[str, str]]:
    """Return the labelled remarks that are not in the table."""
    transposed = any(step.transposed for step in schedule.steps)
    pairs = [
        ("before", schedule.before),
        ("transposed", "the first operand of the machine instruction is B, the second A" if transposed else ""),
        ("after", schedule.after),
        ("scales", _scales(schedule)),
        ("note", schedule.note),
        ("inside", schedule.inside),
        ("known from", f"{schedule.source} ({schedule.status})"),
    ]
    return [(label, text) for label, text in pairs if text]


def _scales(schedule: Schedule) -> str:
    instruction = schedule.instruction
    if not instruction.is_block_scaled:
        return ""
    count = "one" if instruction.scale_vec == 1 else str(instruction.scale_vec)
    return (
        f"{count} of every row of A and of every column of B, in {instruction.scale}, each for "
        f"{instruction.scale_block} k; bytes of one "
        "register a lane for A and of one for B, which the selectors choose"
    )


OCTET_HEADINGS = ("octet", "threadgroups", "lanes", "product", "rows", "columns")


def step_headings(schedule: Schedule) -> tuple[str, ...]:
    """Return the headings of `step_rows`."""
    if schedule.sets:
        return ("#", "machine instruction", "set", "step", "k", "reads A", "reads B", "B held by", "adds to", "writes")
    return ("#", "machine instruction", "rows", "columns", "k", "reads A", "reads B", "adds to", "writes")


def step_rows(schedule: Schedule) -> list[list[str]]:
    """Return a row for each machine instruction: its part of D or, on Volta, its set and step; k; registers."""
    lines = []
    for step in schedule.steps:
        where = [numbers(step.rows), numbers(step.cols)] if step.set is None else [str(step.set), str(step.step)]
        threadgroups = sorted({part.b_threadgroup for part in step.parts if part.b_threadgroup is not None})
        lines.append([
            str(step.number), step.opcode, *where, runs_of_k(step.ks), _registers("a", step), _registers("b", step),
            *([threadgroups_named(*threadgroups)] if threadgroups else []), *accumulates(schedule, step),
        ])  # fmt: skip
    return lines


def _registers(name: Literal["a", "b"], step: MachineStep) -> str:
    registers = step.registers(name)
    return f"{name} {numbers(registers)}" if registers else "shared memory"


_ORDINALS = ("first", "second")


def accumulates(schedule: Schedule, step: MachineStep) -> tuple[str, str]:
    """Return the names of a machine instruction's addend and result: registers of c, of d, or of separate sums."""
    if schedule.finish in ("add_c", "add_sums_and_c"):
        name = _ORDINALS[step.number]
        before = _ORDINALS[step.number - 1]
    else:
        name = before = "d" if schedule.finish == "none" else "sums"
    written = numbers(step.registers("d"))
    converted = f" as {schedule.sums}" if schedule.c_is_converted else ""
    added = {"zero": "0", "d": f"{before} {written}", "c": f"c {numbers(step.registers('c'))}{converted}"}[step.start]
    return added, f"{name} {written}"


def octet_rows(schedule: Schedule) -> list[list[str]]:
    """Return a row for each octet: its threadgroups and lanes, and its block of D."""
    lines = []
    for octet in range(4):
        parts = [part for step in schedule.sets[0] for part in step.parts if part.octet == octet]
        rows, cols = ({i for part in parts for i in getattr(part, x)} for x in ("rows", "cols"))
        lanes = sorted({lane for part in parts for lane in part.d.lanes})
        lines.append([
            str(octet), f"{threadgroups_named(octet)}, {threadgroups_named(octet + 4)}", numbers(lanes),
            str(parts[0].matrix), numbers(sorted(rows)), numbers(sorted(cols)),
        ])  # fmt: skip
    return lines


def threadgroup_rows(schedule: Schedule) -> list[list[str]]:
    """Return a row for each step of a set: the part of each threadgroup, which is the same in every set."""
    return [
        [str(step.step), *(f"{numbers(part.rows)}x{numbers(part.cols)}" for part in step.parts)]
        for step in schedule.sets[0]
    ]
