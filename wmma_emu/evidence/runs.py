# SPDX-License-Identifier: MIT
"""What was run or read on which chip: names of instructions, from the list that campaigns and recordings left."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("runs.txt")

_WIDTHS = range(8, 257, 8)
"""The n of `wgmma`: where a shape has every one, the list has one line for all."""

_N = re.compile(r"n(\d+)")


@dataclass(frozen=True, slots=True)
class Run:
    """A set of instructions by name: those that one campaign, recording or list of machine code has of a chip.

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
        names = names_of_runs().get((self.name, self.chip), frozenset())
        return instruction in names or (isinstance(instruction, str) and _with_any_n(instruction) in names)


def _with_any_n(instruction: str) -> str:
    return _N.sub(lambda n: "n*" if int(n[1]) in _WIDTHS else n[0], instruction, count=1)


@cache
def names_of_runs() -> dict[tuple[str, str], frozenset[str]]:
    """Read every run by its name and its chip; names as the list has them, `n*` where a shape has every n."""
    runs: dict[tuple[str, str], frozenset[str]] = {}
    for section in _FILE.read_text(encoding="ascii").split("\n[")[1:]:
        head, _, names = section.partition("]\n")
        for name, chips in (group.split("=") for group in head.split("; ")):
            for chip in chips.split(","):
                runs[name, chip] = runs.get((name, chip), frozenset()).union(names.splitlines())
    return runs
