# SPDX-License-Identifier: MIT
"""The kinds of findings as rules of SARIF."""

from typing import Any

from wmma_emu.ptx.findings import KINDS, SANITIZER, Kind, address_of, page_of, slug_of

__all__ = ["NUMBERS", "rules"]

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
        "How to fix it": kind.mend,
        "When it may be silenced": kind.silence,
        f"What NVIDIA's compute-sanitizer says ({SANITIZER})": kind.sanitizer,
        "More": page_of(name),
    }
    return "\n\n".join(f"{bold}{head}:{bold} {text}" for head, text in parts.items())


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
