# SPDX-License-Identifier: MIT
"""The instructions that were run or read on each chip, from the list that campaigns and recordings wrote."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("runs.txt")

_WIDTHS = range(8, 257, 8)
"""The n of `wgmma`; if a shape has all of them, the list has one line for all."""

_N = re.compile(r"n(\d+)")


@dataclass(frozen=True, slots=True)
class Run:
    """The names of the instructions in one campaign, recording or list of machine code for a chip.

    Examples
    --------
    >>> "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in Run("campaign", "sm_90")
    True
    >>> "mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32" in Run("campaign", "sm_90")
    False
    """

    name: str
    chip: str

    def __contains__(self, instruction: object) -> bool:
        names = _names_of(self)
        return instruction in names or (isinstance(instruction, str) and _with_any_n(instruction) in names)


def _with_any_n(instruction: str) -> str:
    return _N.sub(lambda n: "n*" if int(n[1]) in _WIDTHS else n[0], instruction, count=1)


@cache
def _sections() -> list[tuple[set[Run], str]]:
    """Read the list: names, and the runs that include all of them."""
    sections = []
    for section in _FILE.read_text(encoding="utf-8").split("\n[")[1:]:
        head, _, names = section.partition("]\n")
        groups = [group.split("=") for group in head.split("; ")]
        sections.append(({Run(name, chip) for name, chips in groups for chip in chips.split(",")}, names))
    return sections


@cache
def _names_of(run: Run) -> frozenset[str]:
    """Return the names in a run, as in the list: with `n*` if a shape has every n."""
    return frozenset(name for runs, names in _sections() if run in runs for name in names.splitlines())


def all_runs() -> set[Run]:
    """Return every run of the list."""
    return {run for runs, _ in _sections() for run in runs}
