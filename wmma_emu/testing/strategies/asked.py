# SPDX-License-Identifier: MIT
"""The criteria for instructions, and the error message if no instruction meets them."""

from functools import cache
from typing import Any

from wmma_emu.errors import UnknownNameError, shorten
from wmma_emu.formats import FORMATS
from wmma_emu.instructions import INSTRUCTIONS, Instruction, instructions_of
from wmma_emu.suggestions import nearest, question
from wmma_emu.testing.strategies.format_names import format_named

CRITERIA = ("arch", "family", "shape", "a", "b", "c", "d", "sparse")


def entries_with(asked: dict[str, Any]) -> tuple[Instruction, ...]:
    """Return the instructions that meet all criteria."""
    sparse = asked.get("sparse")
    entries = instructions_of(**{name: value for name, value in asked.items() if name != "sparse"})
    return tuple(entry for entry in entries if sparse in (None, entry.is_sparse))


def check_names(asked: dict[str, Any]) -> None:
    """Reject families, shapes and formats that do not exist, with the nearest ones that do."""
    for name in ("family", "shape"):
        given = asked[name]
        if isinstance(given, str) and given not in _known(name):
            if near := nearest(given, _known(name), 3):
                raise UnknownNameError(f"the {name} {shorten(given)} does not exist{question(near)}")
    for name in "abcd":
        if isinstance(asked[name], str) and asked[name] not in FORMATS:
            format_named(asked[name], dtypes=False)


def no_match_text(asked: dict[str, Any]) -> str:
    """Describe the criteria, and name each single one without which instructions would match."""
    given = {name: value for name, value in asked.items() if value is not None}
    text = "no instruction has " + ", ".join(f"{name}={shorten(value)}" for name, value in given.items())
    fixes = []
    for name in given:
        entries = entries_with({**asked, name: None})
        if entries:
            there = dict.fromkeys(_value(entry, name) for entry in entries)
            shown = ", ".join(list(there)[:6]) + (", ..." if len(there) > 6 else "")
            fixes.append(f"leave out {name} (available: {shown})")
    if not fixes:
        return f"{text}; no instruction matches if one of them is left out: leave out two"
    return f"{text}; {', or '.join(fixes)}"


def _value(entry: Instruction, name: str) -> str:
    if name == "arch":
        return entry.archs[0] + " and later" if len(entry.archs) > 1 else entry.archs[0]
    return repr(entry.is_sparse if name == "sparse" else getattr(entry, name))


@cache
def _known(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(getattr(entry, name) for entry in INSTRUCTIONS.values()))
