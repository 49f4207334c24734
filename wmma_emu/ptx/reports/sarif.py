# SPDX-License-Identifier: MIT
"""Reports as SARIF 2.1.0, which code hosts and editors show at the lines that findings are about."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from wmma_emu.ptx.findings import KINDS, SANITIZER, Kind, address_of, page_of, slug_of
from wmma_emu.ptx.reports.sarif_locations import ROOT, logical_location, physical_location, root_address
from wmma_emu.version import __version__

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|])")


class Reported(Protocol):
    """What has all of a report as plain data."""

    def to_dict(self) -> dict[str, Any]:
        """Give it."""


class _Entry(NamedTuple):
    """A finding with the report that it is of, what silences it, and whether a baseline has it."""

    finding: Mapping[str, Any]
    report: Mapping[str, Any]
    silence: Mapping[str, Any] | None = None
    state: str | None = None


def plain(report: "Reported | Mapping[str, Any]") -> Mapping[str, Any]:
    """Give a report as plain data, which it may be already."""
    return report if isinstance(report, Mapping) else report.to_dict()


def sarif(
    reports: "Iterable[Reported | Mapping[str, Any]]", root: str | os.PathLike[str] | None = None
) -> dict[str, Any]:
    """Make one run of SARIF 2.1.0 of the reports of any number of launches.

    Parameters
    ----------
    reports : iterable of Report or mapping
        Or what `Report.to_dict` has made of them.
    root : path, optional
        The folder that paths are relative to, as a rule that of the repository; the current one by default.

    Returns
    -------
    dict
        For ``json.dump``. A finding that several launches have met is one result. Where neither the source nor a file
        of the PTX is known, a result has a kernel and no place in a file.

    Examples
    --------
    >>> log = sarif([])
    >>> log["version"], [x["id"] for x in log["runs"][0]["tool"]["driver"]["rules"]][:2]
    ('2.1.0', ['out-of-bounds', 'misaligned'])
    """
    place = Path.cwd() if root is None else Path(root)
    given = [plain(x) for x in reports]
    rows: dict[str, list[_Entry]] = {}
    for row in (row for report in given for row in _entries(report)):
        rows.setdefault(row.finding["id"], []).append(row)
    run = {
        "tool": {"driver": {"name": "wmma-emu", "semanticVersion": __version__, "rules": rules()}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"uri": root_address(place)}},
        "results": [_result(min(same, key=_order), len(same), place) for same in rows.values()],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _entries(report: Mapping[str, Any]) -> Iterator[_Entry]:
    has_baseline = report["baseline"] is not None
    for finding in report["findings"]:
        yield _Entry(finding, report, None, "new" if has_baseline else None)
    for finding in report["known"]:
        yield _Entry(finding, report, None, "unchanged")
    for each in report["silenced"]:
        yield _Entry(each["finding"], report, each["silence"])


def _order(row: _Entry) -> tuple[bool, bool]:
    """Of the same finding of several launches, that comes first which nobody silenced or knew."""
    return row.silence is not None, row.state == "unchanged"


def _result(row: _Entry, launches: int, root: Path) -> dict[str, Any]:
    finding = row.finding
    found = [physical_location(x, row.report, root) for x in finding["sides"]]
    places = [x for x in found if x is not None]
    others = [
        {"id": i, "physicalLocation": x, "message": {"text": _side_text(side)}}
        for i, (x, side) in enumerate(zip(places[1:], finding["sides"][1:], strict=False), 1)
        if x != places[0]
    ]
    location = {**({"physicalLocation": places[0]} if places else {}),
                "logicalLocations": [logical_location(finding["kernel"])]}  # fmt: skip
    digest = finding["id"].removeprefix(f"{slug_of(finding['kind'])}-")
    return {
        "ruleId": slug_of(finding["kind"]),
        "ruleIndex": NUMBERS[finding["kind"]],
        "level": finding["severity"],
        "message": {"text": _text(finding, others), "markdown": _markdown(finding)},
        "locations": [location],
        **({"relatedLocations": others} if others else {}),
        # GitHub compares the second alone, and makes it of the text of the line where it is not given.
        "partialFingerprints": {"wmmaEmuFinding/v1": finding["id"], "primaryLocationLineHash": f"{digest}:1"},
        "occurrenceCount": launches,
        **({} if row.state is None else {"baselineState": row.state}),
        "suppressions": [] if row.silence is None else [_suppression(row.silence)],
        "properties": {"arch": finding["arch"], "variables": finding["variables"], "element": finding["element"]},
    }


def _suppression(silence: Mapping[str, Any]) -> dict[str, str]:
    kind = "inSource" if silence["comment"] else "external"
    return {"kind": kind, "status": "accepted", "justification": silence["reason"]}


def _text(finding: Mapping[str, Any], others: list[dict[str, Any]]) -> str:
    text = f"{finding['title']}: {finding['message']}."
    if finding["mend"]:
        text += f" Possible fix: {finding['mend']}."
    if "](" in text:  # which would be a link
        text = re.sub(r"([\\\[\]])", r"\\\1", text)
    links = [f"[{x['message']['text']}]({x['id']})" for x in others if "]" not in x["message"]["text"]]
    return " ".join([text, *(f"See {x}." for x in links)])


def _side_text(side: Mapping[str, Any]) -> str:
    return f"{side['role'] or 'the other side'}, line {side['line']}"


def _markdown(finding: Mapping[str, Any]) -> str:
    quotes = [f"{x['line']}: {x['text']}" for x in finding["sides"] if x["text"]]
    longest = max((len(x) for line in quotes for x in re.findall("`+", line)), default=2)
    fence = "`" * max(longest + 1, 3)
    parts = [
        f"**{_escaped(finding['title'])}**",
        "\n".join([fence, *quotes, fence]) if quotes else "",
        _escaped(finding["message"]) + ".",
        f"**Possible fix:** {_escaped(finding['mend'])}." if finding["mend"] else "",
        f"`{finding['id']}`",
    ]
    return "\n\n".join(x for x in parts if x)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


NUMBERS = {kind: i for i, kind in enumerate(KINDS)}
"""The place of each kind's rule."""

_PROBLEM = {"error": "error", "warning": "warning", "note": "recommendation"}
"""Severities, as GitHub calls them."""


def rules() -> list[dict[str, Any]]:
    """Make a rule of each kind.

    Examples
    --------
    >>> found = rules()[NUMBERS["race within a warp"]]
    >>> found["id"], found["defaultConfiguration"]
    ('race-within-a-warp', {'level': 'warning'})
    """
    return [_rule(name, kind) for name, kind in KINDS.items()]


def _rule(name: str, kind: Kind) -> dict[str, Any]:
    address = address_of(name)
    return {
        "id": slug_of(name),
        "name": "".join(x.capitalize() for x in slug_of(name).split("-")),
        "shortDescription": {"text": f"{name.capitalize()}: {kind.says}"},
        "fullDescription": {"text": f"{_sentence(kind.says)} {_sentence(kind.reason)}"},
        "help": {"text": _help(name, kind, ""), "markdown": _help(name, kind, "**")},
        "defaultConfiguration": {"level": kind.severity},
        **({"helpUri": address} if address else {}),
        "properties": {
            "tags": ["cuda", "correctness", *([kind.check] if kind.check else [])],
            "problem.severity": _PROBLEM[kind.severity],
        },
    }


def _help(name: str, kind: Kind, bold: str) -> str:
    parts = {
        "What it means": _sentence(kind.says) + " " + _sentence(kind.reason),
        "How to fix it": kind.fix,
        "When it may be silenced": kind.silence,
        f"What NVIDIA's compute-sanitizer says ({SANITIZER})": kind.sanitizer,
        "More": page_of(name),
    }
    return "\n\n".join(f"{bold}{head}:{bold} {text}" for head, text in parts.items())


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
