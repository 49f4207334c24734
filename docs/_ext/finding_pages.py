# SPDX-License-Identifier: MIT
"""A page for each kind of finding: what it means, a bug, its report, how to fix it, and compute-sanitizer's report."""

import re
from functools import cache
from pathlib import Path

from wmma_emu.ptx.examples import FIRST_LINE, fix_of, launch_of, shown_source
from wmma_emu.ptx.findings import CHECKS, KINDS, SANITIZER, path_of, slug_of
from wmma_emu.ptx.launch.silencing_comments import comment_of

__all__ = ["finding_pages"]

_INDEX = "reference/findings/index"
_MEASURED = "evidence/planted-bugs-2026-11-23.md"
_EXPLAINED = "explanation/findings.md"
_ROW = re.compile(r"^\| ([a-z -]+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE)


def finding_pages() -> dict[str, str]:
    """Return every page as Markdown, by its name within the site."""
    return {_INDEX: _index(), **{path_of(kind): _page(kind) for kind in KINDS}}


def _index() -> str:
    tree = "\n".join(["```{toctree}", ":hidden:", "", *(slug_of(x) for x in KINDS), "```"])
    parts = [
        "(kinds-of-findings)=\n# Kinds of findings",
        "The findings that a launch of a compiled kernel can report. Each page has a kernel of a few lines with one "
        "bug, "
        "its report, and how to fix it; `wmma-emu finding race` prints the same in a terminal. For severities, "
        f"checks, silencing and limits see [findings](../../{_EXPLAINED}).",
        *(_kinds_of(check) for check in (*CHECKS, "")),
        tree,
    ]
    return "\n\n".join(parts) + "\n"


def _kinds_of(check: str) -> str:
    """List the kinds that a check finds; kinds that end a launch do not belong to a check."""
    heading = f"## The check `{check}`\n\n{_sentence(CHECKS[check])}" if check else "## Kinds that end a launch"
    rows = [(kind, x) for kind, x in KINDS.items() if x.check == check]
    return "\n".join([heading, "", *(f"- [{kind}]({slug_of(kind)}.md), {x.severity}: {x.says}." for kind, x in rows)])


def _page(kind: str) -> str:
    entry = KINDS[kind]
    check = f"The check `{entry.check}` finds it" if entry.check else "It ends the launch, and is always reported"
    parts = [
        f"(finding-{slug_of(kind)})=\n# {kind}",
        f"{_sentence(entry.says)} {check}. [How it is found, and the limits](../../{_EXPLAINED}#{slug_of(kind)}).",
        f"**{_sentence(entry.severity)[:-1]}**: {entry.reason}.",
        "## A bug",
        "\n".join(["```{code-block} cuda", f":lineno-start: {FIRST_LINE}", "", *shown_source(kind), "```"]),
        "## Its report",
        "\n".join(["```text", *(str(x) for x in launch_of(kind).findings), "```"]),
        f"## How to fix it\n\n{entry.fix}",
        "\n".join(["```diff", *(x.sign + x.text for x in fix_of(kind)), "```"]),
        f"## When it may be silenced\n\n{entry.silence}",
        *_how_to_silence(kind),
        f"## What compute-sanitizer says\n\n{entry.sanitizer}",
        _measured(kind),
    ]
    return "\n\n".join(parts) + "\n"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _how_to_silence(kind: str) -> list[str]:
    if not KINDS[kind].may_be_silenced:
        return []
    return [
        f"A comment in the line that the finding names, or in the line above it, with the reason "
        f"([other ways](../../{_EXPLAINED}#severities-checks-and-silences)):",
        f"```text\n{comment_of(kind, 'the reason')}\n```",
    ]


def _measured(kind: str) -> str:
    """Return a sentence on the sanitizer's version and the number of kernels."""
    seen = f"Seen with {SANITIZER}"
    if kind not in _counts():
        return f"{seen}."
    kernels, said, unended = _counts()[kind]
    hung = f"; {unended} did not end" if unended else ""
    return (
        f"{seen}: of {kernels} kernels with such a bug, at least one of its tools reports {said}{hung} "
        f"([all kinds](../../{_MEASURED}#comparison-with-compute-sanitizer))."
    )


@cache
def _counts() -> dict[str, tuple[int, int, int]]:
    """Read the numbers of kernels, reported and hanging ones of each kind from the page of the measurement."""
    page = (Path(__file__).parents[1] / _MEASURED).read_text(encoding="utf-8")
    rows = _ROW.findall(page.partition("## Comparison with compute-sanitizer")[2])
    return {kind: (int(kernels), int(said), int(unended)) for kind, kernels, said, unended, _ in rows}
