# SPDX-License-Identifier: MIT
"""Source lines and sightings as plain data for JSON, and the JSON Schema of reports."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from wmma_emu.ptx.findings import UNKNOWN, Place, Sighting
from wmma_emu.ptx.program.program import SourceLine
from wmma_emu.ptx.reports.frames import QuotedLine, frames_of

VERSION = 1
"""The version of the report format; readers reject others. It increases when a field changes or is removed."""


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the output of `Report.to_json`: a report, or a list of reports.

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
    """Convert a source line; ``paths`` are the paths of files that have other names in the PTX."""
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
    """Convert a sighting; addresses are strings, since many JSON readers round integers beyond 2^53."""
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
    """Convert a source line with the lines at which its function was called, innermost first, if it was inlined."""
    found: dict[str, Any] | None = None
    for each in reversed(list(frames_of(source))):
        found = {"file": each.file, "line": each.line, "column": each.column, "inlined_at": found}
    return found
