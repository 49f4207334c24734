# SPDX-License-Identifier: MIT
"""What instructions are asked for, and what is said where there is none: which name is unknown, what to leave out."""

from functools import cache
from typing import Any

from wmma_emu.errors import UnknownNameError, shorten
from wmma_emu.formats import FORMATS
from wmma_emu.instructions import INSTRUCTIONS, Instruction, instructions_of
from wmma_emu.suggestions import nearest, question
from wmma_emu.testing.strategies.format_names import format_named

CRITERIA = ("arch", "family", "shape", "a", "b", "c", "d", "sparse")


def rows_with(asked: dict[str, Any]) -> tuple[Instruction, ...]:
    """List the instructions that have everything asked for."""
    sparse = asked.get("sparse")
    rows = instructions_of(**{name: value for name, value in asked.items() if name != "sparse"})
    return tuple(row for row in rows if sparse in (None, row.is_sparse))


def check_names(asked: dict[str, Any]) -> None:
    """Refuse families, shapes and formats that occur nowhere, with the nearest that do."""
    for name in ("family", "shape"):
        given = asked[name]
        if isinstance(given, str) and given not in _known(name):
            if near := nearest(given, _known(name), 3):
                raise UnknownNameError(f"there is no {name} {shorten(given)}{question(near)}")
    for name in "abcd":
        if isinstance(asked[name], str) and asked[name] not in FORMATS:
            format_named(asked[name], dtypes=False)


def no_match_text(asked: dict[str, Any]) -> str:
    """Say what was asked for, and which single one would leave instructions if it were left out."""
    given = {name: value for name, value in asked.items() if value is not None}
    text = "no instruction has " + ", ".join(f"{name}={shorten(value)}" for name, value in given.items())
    fixes = []
    for name in given:
        rows = rows_with({**asked, name: None})
        if rows:
            there = dict.fromkeys(_value(row, name) for row in rows)
            shown = ", ".join(list(there)[:6]) + (", ..." if len(there) > 6 else "")
            fixes.append(f"leave out {name} (there is {shown})")
    if not fixes:
        return f"{text}; whichever one is left out, none has the rest: leave out two"
    return f"{text}; {', or '.join(fixes)}"


def _value(row: Instruction, name: str) -> str:
    if name == "arch":
        return row.archs[0] + " and later" if len(row.archs) > 1 else row.archs[0]
    return repr(row.is_sparse if name == "sparse" else getattr(row, name))


@cache
def _known(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(getattr(row, name) for row in INSTRUCTIONS.values()))
