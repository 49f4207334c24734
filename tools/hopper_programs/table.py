# SPDX-License-Identifier: MIT
"""The table of programs: what the emulator computes, and what the chip did."""

import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tools.bundle_launcher import bundles_in, read_bundle
from tools.hopper_programs.programs import Program
from tools.launch_bundles import emulated_bundle
from wmma_emu.errors import WmmaEmuError

__all__ = ["Outcome", "compared", "print_table"]

_COLUMNS = ("program", "launches", "equal", "differ", "refused", "findings", "instructions", "seconds")


class Outcome(NamedTuple):
    """The result of a launch: ``equal``, ``differs``, ``refused`` or ``not recorded``, and the emulator's report."""

    verdict: str
    text: str
    findings: tuple[str, ...] = ()
    instructions: int = 0
    seconds: float = 0.0


def print_table(programs: tuple[Program, ...], folder: Path, options: dict[str, Any]) -> int:
    """Print a row for each program, and below the table each launch that is not equal, and each finding."""
    failures, notes = 0, []
    print(_row(_COLUMNS), _row(["---"] * len(_COLUMNS)), sep="\n", flush=True)
    for program in programs:
        found = bundles_in(folder / "bundles" / program.name)
        if not found:
            continue
        outcomes = {x: compared(x, folder / "recorded", options) for x in found}
        counts = Counter(x.verdict for x in outcomes.values())
        kinds = Counter(finding for x in outcomes.values() for finding in x.findings)
        failures += len(found) - counts["equal"]
        numbers = sum(x.instructions for x in outcomes.values()), sum(x.seconds for x in outcomes.values())
        cells = [program.name, len(found), counts["equal"], counts["differs"], counts["refused"], sum(kinds.values())]
        print(_row([*cells, f"{numbers[0]:,}", f"{numbers[1]:.1f}"]), flush=True)
        notes += [f"{x.name} of {program.name}: {y.text}" for x, y in outcomes.items() if y.verdict != "equal"]
        notes += [f"{program.name}, {count} times: {kind}" for kind, count in kinds.items()]
    print("", *notes, sep="\n")
    return min(failures, 1)


def compared(bundle: Path, recorded: Path, options: dict[str, Any]) -> Outcome:
    """Run a bundle on the emulator, and compare its arrays with those of the recording."""
    recording = recorded / f"{bundle.parent.name}__{bundle.name}--module.ptx.gz.npz"
    started = time.perf_counter()
    try:
        arrays, report = emulated_bundle(bundle, **options)
    except WmmaEmuError as error:
        return Outcome("refused", f"refused: {error}")
    seconds = time.perf_counter() - started
    said = tuple(str(x).splitlines()[0] for x in report.findings), report.instructions, seconds
    if not recording.exists():
        return Outcome("not recorded", recording.with_suffix(".txt").read_text().strip(), *said)
    with np.load(recording) as file:
        after = read_bundle(bundle)[1] | {x: file[x] for x in file.files}
    counts = {name: int(np.count_nonzero(after[name] != x)) for name, x in arrays.items()}
    other = [f"{count} of {arrays[name].size} bytes of {name}" for name, count in counts.items() if count]
    return Outcome("differs" if other else "equal", "; ".join(other), *said)


def _row(cells: Any) -> str:
    return f"| {' | '.join(map(str, cells))} |"
