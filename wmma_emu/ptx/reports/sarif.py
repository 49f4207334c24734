# SPDX-License-Identifier: MIT
"""Reports as SARIF 2.1.0, which code hosts and editors show at the source lines of findings."""

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
    """An object that can return a report as plain data."""

    def to_dict(self) -> dict[str, Any]:
        """Return the plain data."""


class _Entry(NamedTuple):
    """A finding with its report, its silence if it has one, and its state relative to a baseline."""

    finding: Mapping[str, Any]
    report: Mapping[str, Any]
    silence: Mapping[str, Any] | None = None
    state: str | None = None


def plain(report: "Reported | Mapping[str, Any]") -> Mapping[str, Any]:
    """Return a report as plain data."""
    return report if isinstance(report, Mapping) else report.to_dict()


def sarif(
    reports: "Iterable[Reported | Mapping[str, Any]]", root: str | os.PathLike[str] | None = None
) -> dict[str, Any]:
    """Convert the reports of any number of launches to one run of SARIF 2.1.0.

    Parameters
    ----------
    reports : iterable of Report or mapping
        Reports, or the results of `Report.to_dict`.
    root : path, optional
        The folder that paths are relative to, usually the root of the repository; the current folder by default.

    Returns
    -------
    dict
        A log for ``json.dump``. A finding of several launches is one result. If neither the source nor a file of the
        PTX is known, a result has a kernel and no location in a file.

    Examples
    --------
    >>> log = sarif([])
    >>> log["version"], [x["id"] for x in log["runs"][0]["tool"]["driver"]["rules"]][:2]
    ('2.1.0', ['out-of-bounds', 'misaligned'])
    """
    place = Path.cwd() if root is None else Path(root)
    given = [plain(x) for x in reports]
    entries: dict[str, list[_Entry]] = {}
    for entry in (entry for report in given for entry in _entries(report)):
        entries.setdefault(entry.finding["id"], []).append(entry)
    run = {
        "tool": {"driver": {"name": "wmma-emu", "semanticVersion": __version__, "rules": rules()}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"uri": root_address(place)}},
        "results": [_result(min(same, key=_order), len(same), place) for same in entries.values()],
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


def _order(entry: _Entry) -> tuple[bool, bool]:
    """Return a sort key: of equal findings of several launches, unsilenced and unknown ones come first."""
    return entry.silence is not None, entry.state == "unchanged"


def _result(entry: _Entry, launches: int, root: Path) -> dict[str, Any]:
    finding = entry.finding
    found = [physical_location(x, entry.report, root) for x in finding["sides"]]
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
        # GitHub compares only the second, and derives it from the text of the line if it is missing.
        "partialFingerprints": {"wmmaEmuFinding/v1": finding["id"], "primaryLocationLineHash": f"{digest}:1"},
        "occurrenceCount": launches,
        **({} if entry.state is None else {"baselineState": entry.state}),
        "suppressions": [] if entry.silence is None else [_suppression(entry.silence)],
        "properties": {"arch": finding["arch"], "variables": finding["variables"], "element": finding["element"]},
    }


def _suppression(silence: Mapping[str, Any]) -> dict[str, str]:
    kind = "inSource" if silence["comment"] else "external"
    return {"kind": kind, "status": "accepted", "justification": silence["reason"]}


def _text(finding: Mapping[str, Any], others: list[dict[str, Any]]) -> str:
    text = f"{finding['title']}: {finding['message']}."
    if finding["mend"]:
        text += f" Possible fix: {finding['mend']}."
    if "](" in text:  # it would be a link
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
"""The index of each kind's rule."""

_PROBLEM = {"error": "error", "warning": "warning", "note": "recommendation"}
"""Severities in GitHub's terms."""


def rules() -> list[dict[str, Any]]:
    """Make a rule for each kind.

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
