# SPDX-License-Identifier: MIT
"""Races of loads with unused values, detected by running the launch again with undefined bits as their results."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from wmma_emu.ptx.findings import Detail, Message, Sighting, place_of, plain_text
from wmma_emu.ptx.memory.races.race import RACE, UNUSED, RacedBytes
from wmma_emu.ptx.memory.races.suspects import Suspects
from wmma_emu.ptx.program.program import PtxInstruction

_ROUNDS = 8
"""The number of rounds, each of which removes used loads from the trial, before all remaining loads count as used."""


def classify_uses(
    findings: Sequence[Sighting], raced: RacedBytes, run: Callable[[Suspects], bool]
) -> dict[Sighting, Sighting]:
    """Find the races whose outcome cannot matter, and the uses of the other races' values.

    A race is one of an unused value if nothing depends on any value that its loads return, for all these loads
    together. Undecided races are unchanged; for the others, if the run completed, return the replacement of each
    finding. ``run`` runs the launch again in the same order, and returns whether it completed.
    """
    asked = [x for x in findings if x.kind == RACE and x.line not in raced.others]
    if not asked or not raced.is_whole:
        return {}
    seen = Suspects(raced.bytes())
    if not run(seen) or not seen.is_whole:
        return {}
    found = {x: _with_both_sides(x, raced, seen) for x in findings if x.kind == RACE}
    in_races = {seen.instructions[x].line for x in seen.racing}
    undecided = {
        x: loads
        for x in asked
        if x.line not in seen.others and (loads := seen.readers.get(x.line, set()) | ({x.line} & in_races))
    }
    unused, uses = _find_unused(seen, raced, run, undecided.values())
    for original, loads in undecided.items():
        finding, line = found[original], original.line
        if loads <= unused:
            said = "; nothing depends on ", *_named(seen, loads, line)
            found[original] = replace(finding, kind=UNUSED, said=(*finding.said, *said), remedy=finding.apart)
        elif used := sorted(loads & uses.keys()):
            at = uses[used[0]]
            load = _loaded(seen, used[0], line)
            text = plain_text(("; ", *load, " is used at ", place_of(at), f" by {at.opcode}"))
            found[original] = replace(finding, said=(*finding.said, Detail(text)))
    return found


def _with_both_sides(finding: Sighting, raced: RacedBytes, seen: Suspects) -> Sighting:
    """Add all other sides of a race, from the run that compared every load with every store.

    For a race of two stores, the sides that were known before are kept.
    """
    known = seen.met.get(finding.line)
    if not known:
        return finding
    return (finding if finding.line in raced.others else replace(finding, others=())).with_others(known)


def _find_unused(
    seen: Suspects, raced: RacedBytes, run: Callable[[Suspects], bool], undecided: Collection[set[int]]
) -> tuple[set[int], dict[int, PtxInstruction]]:
    """Replace the loads' results with undefined bits; return the lines of unused loads, and the uses of the others.

    ``undecided`` contains the lines of each race's loads; the search ends once each race has a used load.
    """
    left, uses = dict(seen.racing), dict[int, PtxInstruction]()
    for _ in range(_ROUNDS):
        if not left or all(loads & uses.keys() for loads in undecided):
            break
        trial = Suspects(raced.bytes(), left)
        if not run(trial) or not trial.is_whole or trial.goes_beyond(seen) or None in trial.uses:
            return set(), uses
        blamed = {line: at for line, at in trial.uses.items() if line is not None}
        if not blamed:
            return {seen.instructions[x].line for x in left}, uses
        uses.update(blamed)
        left = {x: keys for x, keys in left.items() if seen.instructions[x].line not in blamed}
    return set(), uses


def _loaded(seen: Suspects, load: int, line: int) -> Message:
    """Describe the value of a load; ``line`` is the finding's line."""
    if load == line:
        return ("the value that it loads",)
    return "the value loaded at ", next(place_of(x) for i in seen.racing if (x := seen.instructions[i]).line == load)


def _named(seen: Suspects, loads: set[int], line: int) -> Message:
    first, *more = sorted(loads, key=lambda x: (x != line, x))
    others = f", nor on the values of {len(more)} more load{'s' * (len(more) > 1)}" if more else ""
    return (*_loaded(seen, first, line), others) if others else _loaded(seen, first, line)
