# SPDX-License-Identifier: MIT
"""What was run or read on which chip: names of instructions, from the list that campaigns and recordings left."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("runs.txt")

_WIDTHS = range(8, 257, 8)
"""The n of `wgmma`: where a shape has every one, the list has one line for all."""


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
        return instruction in names_of_runs().get((self.name, self.chip), ())


@cache
def names_of_runs() -> dict[tuple[str, str], set[str]]:
    """Read every run by its name and its chip."""
    runs: dict[tuple[str, str], set[str]] = {}
    here: list[set[str]] = []
    for line in _FILE.read_text(encoding="ascii").splitlines():
        if line.startswith("["):
            groups = [group.split("=") for group in line[1:-1].split("; ")]
            here = [runs.setdefault((name, chip), set()) for name, chips in groups for chip in chips.split(",")]
        elif not line.startswith("#"):
            names = [line.replace("n*", f"n{n}") for n in _WIDTHS] if "n*" in line else [line]
            for names_here in here:
                names_here.update(names)
    return runs
