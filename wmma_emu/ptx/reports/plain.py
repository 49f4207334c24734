# SPDX-License-Identifier: MIT
"""Lines and sightings of a finding as plain data, which JSON can hold, and the schema that says what stands in it."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from wmma_emu.ptx.findings import UNKNOWN, Place, Sighting
from wmma_emu.ptx.program.program import SourceLine
from wmma_emu.ptx.reports.frames import QuotedLine, frames_of

VERSION = 1
"""Of the format of reports: what reads them refuses others. It counts up when a field changes or goes."""


def report_schema() -> dict[str, Any]:
    """Give the JSON Schema (draft 2020-12) of what `Report.to_json` writes: a report, or a list of reports.

    Examples
    --------
    >>> schema = report_schema()
    >>> schema["$schema"], schema["$defs"]["report"]["properties"]["version"]["const"]
    ('https://json-schema.org/draft/2020-12/schema', 1)
    """
    text = files("wmma_emu.ptx.reports").joinpath("report.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def side_as_dict(side: QuotedLine, paths: Mapping[str, str]) -> dict[str, Any]:
    """Give a line of the source; ``paths`` are files that the compiler calls otherwise."""
    return {
        "role": side.role,
        "file": side.file,
        "path": paths.get(side.file, side.file),
        "line": side.number,
        "column": side.raw_column,
        "text": side.raw,
        "ptx_line": side.place.line,
    }


def sighting_as_dict(x: Sighting) -> dict[str, Any]:
    """Give a sighting; an address is a text, since many readers of JSON round integers beyond 2^53."""
    return {
        **_place(x.place),
        "instruction": x.text,
        "message": x.message,
        "block": None if x.block is None else list(x.block),
        "thread": None if x.thread is None else list(x.thread),
        "address": None if x.address is None else f"{x.address:#x}",
        "count": x.count,
        "others": [_place(other) for other in x.others if other != UNKNOWN],
        "may_have_more_others": UNKNOWN in x.others,
    }


def _place(place: Place) -> dict[str, Any]:
    return {"ptx_line": place.line, "source": _source(place.source)}


def _source(source: SourceLine | None) -> dict[str, Any] | None:
    """Give a line of the source with the lines at which its function was called, innermost first, where inlined."""
    found: dict[str, Any] | None = None
    for each in reversed(list(frames_of(source))):
        found = {"file": each.file, "line": each.line, "column": each.column, "inlined_at": found}
    return found
