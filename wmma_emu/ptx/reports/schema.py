# SPDX-License-Identifier: MIT
"""The schema of reports in JSON."""

import json
from importlib.resources import files
from typing import Any

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
