# SPDX-License-Identifier: MIT
"""The rules of ``findings=``: the action that a launch takes for each finding; the last applicable rule decides."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from wmma_emu.errors import OptionError, shorten
from wmma_emu.ptx.findings import KINDS, SEVERITIES
from wmma_emu.ptx.reports.finding import Finding
from wmma_emu.spellings import as_spelled
from wmma_emu.suggestions import did_you_mean, listed, question

ACTIONS = {
    "error": "the launch fails with KernelFindingsError, and the arrays are unchanged",
    "warn": "a KernelFindingsWarning",
    "off": "only an entry in the report",
}
"""The actions for a finding."""

FINDINGS = {
    "warn": "one KernelFindingsWarning for errors and warnings, and the arrays are updated",
    "raise": "KernelFindingsError for errors, and the arrays are unchanged; for warnings only, the same as 'warn'",
    "report": "only the report",
}
"""The settings of ``findings=`` without rules for single kinds."""

_MEANT = {
    **dict.fromkeys(("ignore", "off", "none", "silent", "quiet", "skip"), "report"),
    **dict.fromkeys(("error", "errors", "fail", "strict", "assert"), "raise"),
}
"""Words that users may try, and the settings that they mean."""


class Rule(NamedTuple):
    """The action for findings of a kind or a severity, or for all findings if ``of`` is "".

    A rule for all findings, other than "off", does not apply to notes, which are about correct kernels.
    """

    action: str
    of: str = ""

    def applies_to(self, finding: Finding) -> bool:
        """Return whether the rule applies to a finding."""
        if self.of:
            return self.of in (finding.kind, finding.severity)
        return self.action == "off" or finding.severity != "note"

    def __str__(self) -> str:
        return f"{self.action}:{self.of}" if self.of else self.action


_RAISE = (Rule("off", "note"), Rule("warn", "warning"), Rule("error", "error"))
_FIRST = {"raise": _RAISE, "warn": (*_RAISE, Rule("warn", "error")), "report": (Rule("off"),)}


class Actions:
    """The actions of a launch for its findings, as set by ``findings=`` of `LaunchOptions`.

    Examples
    --------
    >>> class Finding(NamedTuple):
    ...     kind: str
    ...     severity: str = "error"
    >>> actions = Actions(["warn", "error:race", "off:deadlock"])
    >>> [actions.of(Finding(x)) for x in ("race", "deadlock", "trap")]
    ['error', 'off', 'warn']
    """

    def __init__(self, given: "str | Mapping[str, str] | Iterable[str]") -> None:
        self._rules = _FIRST[given] if isinstance(given, str) else (*_RAISE, *rules_of(given))

    def of(self, finding: Finding) -> str:
        """Return the action for a finding: one of `ACTIONS`."""
        return next(x.action for x in reversed(self._rules) if x.applies_to(finding))

    def findings_with(self, action: str, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        """Return the findings with one action."""
        return tuple(x for x in findings if self.of(x) == action)


def rules_of(given: object) -> tuple[Rule, ...]:
    """Parse rules: ``["warn", "off:race"]`` or ``{"race": "off"}``.

    Examples
    --------
    >>> print(*rules_of(["warn", "off:race within a warp"]), *rules_of({"note": "warn"}))
    warn off:race within a warp warn:note
    """
    if isinstance(given, Mapping):
        return tuple(_rule(action, of, f"{shorten(of)}: {shorten(action)}") for of, action in given.items())
    if not isinstance(given, list | tuple):
        meant = _MEANT.get(given.casefold()) if isinstance(given, str) else None
        near = question([meant]) if meant else did_you_mean(given, FINDINGS)
        rules = "['warn:race', 'off:deadlock'] or {'race': 'warn'}"
        raise OptionError(
            f"findings={shorten(given)} is not {listed(map(repr, FINDINGS), 'or')}, nor rules, such as {rules}{near}"
        )
    return tuple(_rule(*_parts(x), shorten(x)) for x in given)


def _parts(text: object) -> tuple[object, object]:
    if not isinstance(text, str):
        return text, ""
    action, colon, of = (x.strip() for x in text.partition(":"))
    return action, of if colon else None


def _rule(action: object, of: object, said: str) -> Rule:
    if not isinstance(action, str) or action not in ACTIONS:
        raise OptionError(
            f"{said} is not a valid rule: unknown action {shorten(action)}"
            + did_you_mean(action, ACTIONS, f"actions are {', '.join(ACTIONS)}")
        )
    if of is None:
        return Rule(action)
    names = [*SEVERITIES, *KINDS]
    of = as_spelled(of, names) if isinstance(of, str) else of
    if not isinstance(of, str) or of not in names:
        raise OptionError(
            f"{said} is not a valid rule: unknown kind or severity {shorten(of)}"
            + did_you_mean(of, names, f"severities and kinds are {', '.join(names)}")
        )
    return Rule(action, of)
